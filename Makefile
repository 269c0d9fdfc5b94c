# make tables: install everything, then run the main job on the embedded dataset
# make test:   install everything, then run the tests
# make test-workflow: run the tests that drive whole workflows, with DVC, for some minutes
# make test-kubernetes: plan the workflow's jobs as pods
# make test-slurm: start a Slurm on this machine (root, Debian), run the workflow's jobs through it
# make lint:   formatters and linters, as CI runs them
# make lock:   pin the newest versions that pyproject.toml admits

PYTHON ?= python3
CORES ?= $(shell nproc)
VENV := .venv
# uv is several times faster than pip, but pip may know an index that uv does not
install = uv pip install --quiet $(1) || pip install --quiet $(1)
# as many tests as processors at a time
PYTEST := OMP_NUM_THREADS=1 pytest --numprocesses auto --dist loadfile
export PATH := $(abspath $(VENV))/bin:$(PATH)
export VIRTUAL_ENV := $(abspath $(VENV))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# compiled modules are kept, or each of the many processes compiles all that it imports again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: tables test test-workflow test-kubernetes test-slurm lint lock

tables: $(VENV)/installed
	snakemake --cores $(CORES) results/tables/all.md
	cat results/tables/all.md

test: $(VENV)/installed-dev
	$(PYTEST)

test-workflow: $(VENV)/installed-dev
	$(PYTEST) -m long

test-kubernetes: $(VENV)/installed-cluster
	pytest tests/cluster/test_kubernetes.py

test-slurm: $(VENV)/installed-cluster
	trap tests/cluster/stop_slurm.sh EXIT; tests/cluster/start_slurm.sh && pytest -m slurm

lint: $(VENV)/installed-dev
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile rules
	snakemake --lint

lock: $(VENV)/installed
	uv pip compile pyproject.toml --universal --python-version 3.11 \
	  --no-annotate --no-header --no-emit-index-url --upgrade -o requirements.lock
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --no-annotate --no-header --no-emit-index-url --constraint requirements.lock \
	  --upgrade -o requirements-dev.lock
	uv pip compile pyproject.toml --extra kubernetes --extra slurm --universal \
	  --python-version 3.11 --no-annotate --no-header --no-emit-index-url \
	  --constraint requirements.lock --upgrade -o requirements-cluster.lock

$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	pip install --quiet uv
	$(call install,-r requirements.lock)
	$(call install,--no-deps --editable .)
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	$(call install,-r requirements-dev.lock)
	touch $@

# apart from the tests' environment, since every Snakemake imports the executors that are there
$(VENV)/installed-cluster: $(VENV)/installed-dev requirements-cluster.lock
	$(call install,-r requirements-cluster.lock)
	touch $@
