# Two commands need nothing but Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
FAST := -m "not slow and not network"
# Processes that share the tests: `make test WORKERS=1` runs them in one.
WORKERS ?= auto
# Neighbours stay in one process, where they share fitted models, until one is idle.
PYTEST := $(PY) -m pytest -n $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types layers test-slow test-python test-bounds bench \
	fuzz docs golden dist stamp clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

# Rebuilt when the dependencies change; everything stays inside the project folder.
$(READY): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \
	    'Python 3.11 or newer is needed: make ... PYTHON=python3.12, say')"
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	$(PY) -m pip install --quiet --editable ".[graphs,data,progress,distributed,plot,save,paper,cli]" --group dev
	touch $(READY)

demo: $(READY) stamp  ## the paper's experiment on its two generated data sets
	$(VENV)/bin/spanforest reproduce --datasets circle10,circle50 --trees 20 --folds 3 \
	    --jobs 2 --out demo

test: $(READY) stamp  ## tests and doctests, compiled
	$(PYTEST) $(FAST)

test-slow: $(READY) stamp  ## the slow tests, on real data too (they skip without SPANFOREST_DATA)
	$(PYTEST) -m "slow and not network"

check: lint types layers test test-slow  ## what CI runs on every push

lint: $(READY)  ## style and import order
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .

types: $(READY)  ## static types
	$(VENV)/bin/mypy

layers: $(READY)  ## which module may import which
	$(VENV)/bin/lint-imports

test-python: $(READY) stamp  ## same tests, routines run as plain Python, with coverage
	# without the examples in docstrings: they are the user's way, which is compiled
	NUMBA_DISABLE_JIT=1 $(PYTEST) tests $(FAST) --cov

test-bounds: $(READY) stamp  ## same tests, array bounds checked in compiled code
	# a fresh cache, or Numba ignores the flag
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$(mktemp -d) $(PYTEST) $(FAST)

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
	$(PY) -m build --outdir dist

bench: $(READY) stamp  ## the figures of benchmarks/README.md, under ten minutes
	$(PY) benchmarks/run_all.py

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) build dist demo fuzz-findings docs/_build docs/_generated docs/api docs/auto_examples .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
