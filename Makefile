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
# as many tests as processors at a time
PYTEST := OMP_NUM_THREADS=1 pytest --numprocesses auto --dist loadfile
export PATH := $(abspath $(VENV))/bin:$(PATH)

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

lock:
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/pip install --quiet uv
	$(VENV)/lock/bin/uv pip compile pyproject.toml --universal --python-version 3.11 \
	  --no-annotate --no-header --no-emit-index-url --upgrade -o requirements.lock
	$(VENV)/lock/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --no-annotate --no-header --no-emit-index-url --constraint requirements.lock \
	  --upgrade -o requirements-dev.lock
	$(VENV)/lock/bin/uv pip compile pyproject.toml --extra kubernetes --extra slurm --universal \
	  --python-version 3.11 --no-annotate --no-header --no-emit-index-url \
	  --constraint requirements.lock --upgrade -o requirements-cluster.lock

$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	pip install --quiet --disable-pip-version-check -r requirements.lock
	pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	touch $@

# apart from the tests' environment, since every Snakemake imports the executors that are there
$(VENV)/installed-cluster: $(VENV)/installed-dev requirements-cluster.lock
	pip install --quiet --disable-pip-version-check -r requirements-cluster.lock
	touch $@
