# What a person types. `make help` lists it; everything sets itself up, and a second run does only what is left to do.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GPU ?= AUTO
PYTHON ?= python3
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)
export PATH := $(CURDIR)/.venv/bin:$(PATH)
unexport PYTHONPATH

# ON or OFF, decided once, when a build is made.
gpu = $(eval gpu := $(or $(filter ON OFF,$(GPU)),$(shell scripts/gpu-choice $(GPU))))$(gpu)
sources := $(shell find CMakeLists.txt cmake include src python bench examples tests pyproject.toml -type f \
  \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.py' -o -name '*.cmake*' \
  -o -name '*.toml' -o -name 'CMakeLists.txt' -o -name 'py.typed' \) -not -path 'bench/*.py' 2>/dev/null)
cxx := $(shell git ls-files -co --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' 2>/dev/null)
pip_install = python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps .

.PHONY: help setup build demo test check bench kill-test stress hostile proof bars docs format lint clean
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "GPU=ON|OFF|AUTO chooses CUDA; AUTO takes it where nvcc and an NVIDIA GPU are."

setup: .cache/setup-done ## system packages (as root, with apt) and .venv
.cache/setup-done: requirements.txt scripts/setup
	@PYTHON=$(PYTHON) scripts/setup

# The package in .venv with the benchmarks' module beside it, and build/$(flavour) with the rest. One flavour is installed at a time; each keeps its build.
define install
	@[[ $(gpu) == OFF ]] || scripts/cuda-toolkit
	@echo "building ($(1), GPU=$(gpu))"
	@$(pip_install) -Cbuild-dir=build/$(1) -Ccmake.build-type=$(2) -Ccmake.define.HOLDFAST_TESTS=$(3) \
	  -Ccmake.define.HOLDFAST_EXAMPLES=$(3) -Ccmake.define.CMAKE_UNITY_BUILD=ON -Ccmake.define.HOLDFAST_BENCH=ON -Ccmake.define.GPU=$(gpu)
	@cmake --install build/$(1) --component bench --prefix $$(python -c 'import sysconfig; print(sysconfig.get_path("platlib"))') >/dev/null
	@rm -f .cache/installed-* && touch $@
endef
.cache/installed-shipped-$(GPU): .cache/setup-done $(sources)
	$(call install,shipped,Release,OFF)
.cache/installed-checked-$(GPU): .cache/setup-done $(sources)
	$(call install,checked,RelWithDebInfo,ON)

build: .cache/installed-shipped-$(GPU) ## the package, optimized and without assertions, into .venv
demo: .cache/installed-shipped-$(GPU) ## two tables made, loaded, killed in mid-write, reopened and verified
	@holdfast demo

# A pool of threads for linear algebra in each process that tests start would take a sixth of their time.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
test: .cache/installed-checked-$(GPU) ## every test, bounded; built once, with assertions
	ctest --test-dir build/checked --output-on-failure -j $(CMAKE_BUILD_PARALLEL_LEVEL) --no-tests=error
	python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --durations 0 --durations-min 10 -m 'not alone' tests/python
	[[ $(gpu) == OFF ]] || python -m pytest -q -m alone tests/python

check: .cache/setup-done ## DIR=src/pool: builds and runs the tests of that folder, in build/dev
	@scripts/check $(DIR)

bench: .cache/installed-shipped-$(GPU) ## every CPU benchmark; writes bench/results, docs/img and the documents' figures
	@python -m bench all
	@python -m bench report

# `holdfast-kill-test --list` names the subjects. KILLS= and RESULTS= change the number of kills and where the result file goes.
KILLS ?= 1000
RESULTS ?= build/results
kill-test: .cache/installed-checked-$(GPU) ## up to 1,000 SIGKILLs of a real process for each subject, verified by another
	@mkdir -p $(RESULTS)
	build/checked/holdfast-kill-test --kills $(KILLS) --json $(RESULTS)

stress: .cache/installed-checked-$(GPU) ## a minute of ten threads that call everything, and signals whose handlers do
	HOLDFAST_STRESS_S=60 python -m pytest -q -s tests/python/test_everything_at_once.py

hostile: .cache/installed-checked-$(GPU) ## hostile values for every parameter of every public call and command
	scripts/hostile

proof: .cache/setup-done ## the long proofs that are left to do; LAYER= some of them, MINUTES= as far as they get
	@scripts/proof $(LAYER) $(if $(MINUTES),--minutes $(MINUTES))

bars: .cache/setup-done ## every target with the measured value that answers it
	@python -m bench bars $(BARS)

docs: .cache/docs-venv/made .cache/docs-setup-done ## build/site: the documents and both interfaces, checked for dead links
	@.cache/docs-venv/bin/python scripts/doc-site
.cache/docs-setup-done: scripts/setup
	@scripts/setup docs && mkdir -p .cache && touch $@
.cache/docs-venv/made: requirements-docs.txt
	@$(PYTHON) -m venv .cache/docs-venv
	@.cache/docs-venv/bin/python -m pip install -q --disable-pip-version-check -r requirements-docs.txt
	@touch $@

format: .cache/setup-done ## lay out C++ and Python as CI wants them
	@clang-format -i $(cxx)
	@ruff format -q . && ruff check -q --fix .

lint: .cache/setup-done ## layout, ruff, the order of layers, dead links, words of our own, no system call beside its layer, planted errors that apply, clang-tidy on the library
	@clang-format --dry-run -Werror $(cxx)
	@ruff format --check . && ruff check .
	@scripts/layers
	@scripts/check --list >/dev/null
	@scripts/raw-calls
	@scripts/doc-links
	@scripts/words
	@scripts/words --names
	@scripts/lint/assertions
	@scripts/lint/length-branches
	@scripts/plant --check
	@scripts/tidy

clean: ## everything that was built; .venv stays
	rm -rf build .cache/installed-*
