# Two commands need nothing but Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
TOOLS ?= dev
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
READY := $(VENV)/.ready
FAST := -m "not slow and not network"
# Processes that share the tests: `make test WORKERS=1` runs them in one.
WORKERS ?= auto
# Neighbours stay in one process, where they share fitted models, until one is idle.
PYTEST := $(PY) -m pytest -n $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types layers workflows test-slow test-python test-bounds \
	test-oldest test-prerelease test-integrations test-wheel test-sdist fuzz stamp docs golden dist metadata \
	release-check bench clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

# Rebuilt when the dependencies change; everything stays inside the project folder.
$(READY): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \
	    'Python 3.11 or newer is needed: make ... PYTHON=python3.12, say')"
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	$(PY) -m pip install --quiet --editable ".[all]" --group $(TOOLS)
	touch $(READY)

demo: $(READY) stamp  ## the paper's experiment on its two generated data sets
	$(BIN)/spanforest reproduce --datasets circle10,circle50 --trees 20 --folds 3 \
	    --jobs 2 --out demo

test: $(READY) stamp  ## tests and doctests, compiled
	$(PYTEST) $(FAST)

test-slow: $(READY) stamp  ## the slow tests, on real data too (they skip without SPANFOREST_DATA)
	$(PYTEST) -m "slow and not network"

check: lint types layers test test-slow  ## what CI runs on every push

lint: $(READY)  ## style and import order
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(READY)  ## static types
	$(BIN)/mypy

layers: $(READY)  ## which module may import which
	$(BIN)/lint-imports

workflows: $(READY)  ## the workflows of GitHub
	$(PY) -m pip install --quiet --group workflows
	$(BIN)/actionlint

test-python: $(READY) stamp  ## same tests, routines run as plain Python, with coverage
	# without the examples in docstrings: they are the user's way, which is compiled; and
	# without long fits, searches and browsers (needs_compiled): every routine has tests left
	NUMBA_DISABLE_JIT=1 $(PYTEST) tests $(FAST) --cov

test-bounds: $(READY) stamp  ## same tests, array bounds checked in compiled code
	# a fresh cache, or Numba ignores the flag
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$(mktemp -d) $(PYTEST) $(FAST)

test-oldest:  ## same tests, with the oldest dependencies that are allowed, in .venv-oldest
	$(PYTHON) tools/oldest_versions.py > .oldest.txt
	# other libraries may have deprecated what these old versions call
	PIP_CONSTRAINT=$(CURDIR)/.oldest.txt PYTEST_ADDOPTS="-W ignore::DeprecationWarning" \
	    $(MAKE) test VENV=.venv-oldest TOOLS=test

test-prerelease:  ## same tests, with pre-releases of all dependencies, in .venv-prerelease
	PIP_PRE=1 $(MAKE) test VENV=.venv-prerelease TOOLS=test

test-integrations:  ## the tests with SHAP and MLflow, in .venv-integrations
	$(MAKE) .venv-integrations/.ready VENV=.venv-integrations TOOLS=integrations
	.venv-integrations/$(notdir $(BIN))/python -m pytest -n 0 tests/test_scikit_learn.py

test-wheel: $(READY) stamp  ## the wheel alone, in new environments, oldest and newest
	$(PY) -m pytest tests/test_wheel.py -m "slow or network"

fuzz: $(READY) stamp  ## odd inputs for readers, model files, decoders, training and estimators
	# bounds are checked, or a read outside of an array may go unnoticed
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$(mktemp -d) OMP_NUM_THREADS=1 $(PY) tools/fuzz

stamp: $(READY)  ## tell Numba's cache what changed in the compiled routines
	$(PY) tools/stamp_compiled.py

docs: $(READY)  ## the documentation, in docs/_build/html
	$(PY) -m pip install --quiet --group docs
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

golden: $(READY) stamp  ## rewrite the golden files of the tests; review them as a diff
	SPANFOREST_GOLDEN=1 $(PY) -m pytest -q tests/test_paper_table_formats.py tests/test_paper_report_page.py

dist: $(READY) stamp  ## wheel and source distribution, in dist
	rm -rf dist
	$(PY) -m build --outdir dist

metadata: dist  ## what package indexes and pip read
	$(PY) -m pip install --quiet --group release
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/pyroma --min=10 dist/*.tar.gz
	$(PY) tools/check_release.py

test-sdist: dist  ## the tests of the source distribution, unpacked elsewhere
	$(PY) tools/unpacked_sdist.py -n $(WORKERS) --dist worksteal

release-check: lint types layers metadata test-wheel test-sdist  ## all that a release must pass

bench: $(READY) stamp  ## the figures of benchmarks/README.md, about an hour
	$(PY) benchmarks/run_all.py

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) .venv-oldest .venv-prerelease .venv-integrations .oldest.txt build dist demo fuzz-findings docs/_build docs/_generated docs/api docs/auto_examples .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
