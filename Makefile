# make tables: install everything, then run the main job on the embedded dataset
# make test:   install everything, then run the tests
# make coverage: run the tests, and measure the share of statements that they execute
# make test-workflow: run the tests that drive whole workflows, with DVC, for some minutes
# make test-pythons: run the tests on every Python from 3.11 to 3.14 that is on this machine
# make test-lowest: run the tests at the lowest versions that pyproject.toml admits
# make test-newest: run the tests at the newest versions that pyproject.toml admits
# make test-browser: run the tests of pages in Chromium, which is there or which Playwright fetches
# make test-clouds: plan the workflow's jobs as pods and in clouds; with `pytest -m long tests/cluster`,
#   keep outputs in an object store through kills
# make test-encoders: run the tests of sentence encoders and of dual encoders
# make test-mteb: compare mteb's numbers with ours
# make test-slurm: start a Slurm on this machine (root, Debian), run the workflow's jobs through it
# make benchmarks: measure beside others' programs, for half an hour, and write docs/benchmarks.md;
#   CMOLRS=FOLDER has the code of CMOLRS's authors, which Octave runs
# make docs:   run the tour and build the documentation's site, site/index.html
# make lint:   formatters and linters, as CI runs them
# make quote:  quote the tables and figures of runs, here and kept, in README and docs
# make pictures: take the pictures of pages that the documentation shows, in Chromium
# make lock:   pin the newest versions that pyproject.toml admits
# make lock-check: resolve the locks for each Python and platform that they are for

# a command, instead of python3 or the newest that fits
PYTHON ?=
# which build of PyTorch: auto looks for an NVIDIA driver, cpu does without CUDA
TORCH ?= auto
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
VENV := .venv
# uv is several times faster than pip, but pip may know an index that uv does not
install = uv pip install $(verified) $(1) || pip install $(verified) $(1)
verified := --quiet --no-deps --require-hashes
# threads of two processes would wait for each other, many times as long as they compute
PYTEST := OMP_NUM_THREADS=1 pytest
# files of tests at a time, in the order of tests/conftest.py: one more than processors, since tests
# wait for files and for other processes
PARALLEL := $(PYTEST) --dist loadfile --no-loadscope-reorder --numprocesses $$(($(CORES) + 1))
# skipped where the packages of pretrained encoders are absent
ENCODERS := tests/features/test_new_items.py tests/*/test_clip.py tests/*/test_dual_encoder.py
ENCODERS += tests/*/test_sentence_*.py tests/*/test_init_encoder.py
ENCODERS += tests/*/test_speech_encoder.py tests/*/test_frame_encoder.py
# files with tests marked `long`: no worker imports all the others
LONG = tests/workflow/long $(shell grep --recursive --files-with-matches --include '*.py' mark.long tests)
VERSIONS := 3.11 3.12 3.13 3.14
export PATH := $(abspath $(VENV))/bin:$(PATH)
export VIRTUAL_ENV := $(abspath $(VENV))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# compiled modules are kept, or each of the many processes compiles all that it imports again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: tables test coverage test-workflow test-pythons test-browser test-encoders test-lowest test-newest mirror test-clouds
.PHONY: test-mteb test-slurm benchmarks docs lint quote pictures lock lock-check

tables: $(VENV)/installed
	@echo "fitting all methods on rendered scenes: twelve to eighteen minutes on two cores"
	snakemake --cores $(CORES) results/tables/all.md results/tables/claims.md
	cat results/tables/all.md

test: $(VENV)/installed-dev
	$(PARALLEL)

coverage: $(VENV)/installed-dev
	$(PARALLEL) --cov=crossmodal --cov-report=term:skip-covered --cov-fail-under=94

test-workflow: $(VENV)/installed-dev
	$(PARALLEL) -m long $(LONG)

# each in an environment of its own, .venv-3.11 for example
test-pythons:
	@set -e; for version in $(VERSIONS); do \
	  if envs/find_python python$$version; then \
	    $(MAKE) test PYTHON=python$$version VENV=$(VENV)-$$version; \
	  fi; \
	done

# in environments of their own; what pyproject.toml states no lower bound of, and what others need in
# turn, is the newest that goes with the rest
test-lowest: RESOLUTION := lowest-direct
test-newest: RESOLUTION := highest
test-lowest test-newest: $(VENV)/installed-dev
	uv venv --clear --seed $(VENV)-$(RESOLUTION)
	uv pip compile --quiet --annotation-style line --resolution $(RESOLUTION) --extra workflow \
	  --python $(VENV)-$(RESOLUTION) pyproject.toml | grep crossmodal-retrieval \
	  > $(VENV)-$(RESOLUTION)/versions.txt
	uv pip install --python $(VENV)-$(RESOLUTION) --editable '.[dev]' \
	  --constraint $(VENV)-$(RESOLUTION)/versions.txt
	PATH="$(abspath $(VENV)-$(RESOLUTION))/bin:$$PATH" $(PARALLEL)

# the features that tests marked `real` need, as their publisher has them
mirror: $(VENV)/installed-dev
	test -n "$$CROSSMODAL_MIRROR"
	mkdir -p $$CROSSMODAL_MIRROR/wikipedia
	for file in raw_features.mat trainset_txt_img_cat.list testset_txt_img_cat.list; do \
	  path=$$CROSSMODAL_MIRROR/wikipedia/$$file; \
	  test -e $$path || env -u CROSSMODAL_MIRROR crossmodal download wikipedia $$path || exit 1; \
	done

test-browser: $(VENV)/installed-dev
	command -v chromium || command -v google-chrome || playwright install chromium
	$(PYTEST) -m browser

test-clouds: $(VENV)/installed-cluster
	$(PYTEST) tests/cluster/test_kubernetes.py tests/cluster/test_s3.py

test-encoders: $(VENV)/installed-encoders
	$(PARALLEL) $(wildcard $(ENCODERS))

test-mteb: $(VENV)/installed-mteb
	$(PYTEST) tests/integrations

test-slurm: $(VENV)/installed-cluster
	trap tests/cluster/stop_slurm.sh EXIT; tests/cluster/start_slurm.sh && $(PYTEST) -m slurm

benchmarks: $(VENV)/installed-benchmarks
	PYTHONPATH=. python benchmarks/all.py

docs: $(VENV)/installed-docs
	DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=1 mkdocs build --quiet

lint: $(VENV)/installed-dev
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile rules
	snakemake --lint

quote: $(VENV)/installed
	python tools/quote.py README.md docs/results.md docs/figures.md docs/parameters.md

pictures: $(VENV)/installed-dev
	snakemake --cores $(CORES) results/tables/all.md results/site/index.html
	python tools/take_pictures.py

lock: $(VENV)/installed-dev
	python envs/lock.py --upgrade

lock-check: $(VENV)/installed-dev
	python envs/lock.py --check

$(VENV)/installed: requirements.lock requirements-cuda.lock pyproject.toml
	@python=$$(envs/find_python $(PYTHON)) && "$$python" envs/install.py $(VENV) $(TORCH)
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	$(call install,-r requirements-dev.lock)
	touch $@

# apart from the tests' environment, since every Snakemake imports the executors that are there
$(VENV)/installed-cluster: $(VENV)/installed-dev requirements-cluster.lock
	$(call install,-r requirements-cluster.lock)
	touch $@

$(VENV)/installed-encoders: $(VENV)/installed-dev requirements-encoders.lock
	$(call install,-r requirements-encoders.lock)
	touch $@

# apart from the tests' environment, since mteb brings large libraries that others import if present
$(VENV)/installed-mteb: $(VENV)/installed-dev requirements-mteb.lock
	$(call install,-r requirements-mteb.lock)
	touch $@

# apart from the tests' environment, since it has what those of encoders and of mteb have
$(VENV)/installed-benchmarks: $(VENV)/installed-dev requirements-benchmarks.lock
	$(call install,-r requirements-benchmarks.lock)
	touch $@

$(VENV)/installed-docs: $(VENV)/installed requirements-docs.lock
	$(call install,-r requirements-docs.lock)
	touch $@
