# make demo | test | test-core | test-lab | test-studio | coverage | lint | lint-js | bench | bench-quick | site | dist | wheel   (Python 3.11+; the rest is set up here)
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := .build
SOURCE := $(shell find src -type f -not -name '*.py[co]' -not -path '*/__pycache__/*') pyproject.toml README.md
# .ci/run gives arguments of its own, and with them runs the long tests too
PYTEST_ARGS ?= -m "not long"
PIP    := $(BIN)/python -m pip --disable-pip-version-check
EXTRAS_TEST := dev,docs,plot,web,postgres,cluster,spacy,parquet

.PHONY: demo test test-core test-lab test-studio coverage lint lint-js bench bench-quick site dist licences wheel clean

demo: $(VENV)/.installed
	$(BIN)/eigentext demo -o demo-report

# Files in their order: by the number of their tests, a file with one long test would come last and
# leave the other worker with nothing to do.
test: $(VENV)/.compiled
	EIGENTEXT_TEST_WHEEL=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(TESTS) $(PYTEST_ARGS)

# one wing; the tests of the whole (tests/test_*.py) go with the core
test-core: TESTS = tests/core tests/exact $(wildcard tests/test_*.py)
test-lab: TESTS = tests/lab
test-studio: TESTS = tests/studio
test-core test-lab test-studio: test

# which lines no test reaches; a third slower than the tests alone
coverage: $(VENV)/.compiled
	EIGENTEXT_TEST_WHEEL=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory lint-js; else echo "no node and npm here: the pages' JavaScript is not linted" >&2; fi

# the JavaScript of the pages: eslint, and types by the JSDoc comments
lint-js: node_modules/.installed
	node_modules/.bin/eslint src/eigentext/studio/pages/static
	node_modules/.bin/tsc -p jsconfig.json

node_modules/.installed: package.json
	npm install --no-package-lock --no-audit --no-fund --silent
	touch $@

# Every script, many hours; goes on where it was stopped.  Results: .bench/results/*.json
bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/run_all.py $(BENCH_ARGS)

# Minutes: one part for each model, held against benchmarks/last.json (BENCH_ARGS=--keep writes it)
bench-quick: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/quick.py $(BENCH_ARGS)

# The documentation, as plain files: .build/site/index.html
site: $(VENV)/.installed-dev
	$(BIN)/python docs/site/build.py $(BUILD)/site

wheel: $(BUILD)/.wheel

# sdist and wheel in dist/, checked, and tried in fresh environments on every Python that is here
dist:
	PYTHON=$(PYTHON) .ci/dist

# what we need of others, and under which licences: docs/reference/licences.md, from what is installed
licences: $(VENV)/.installed-dev
	$(BIN)/python docs/licences.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "eigentext needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(BUILD)/.wheel: $(VENV)/bin/python $(SOURCE)
	rm -rf $(BUILD) && mkdir -p $(BUILD)
	$(PIP) wheel -q --no-deps -w $(BUILD) .
	touch $@

# The wheel is what gets tested, never the source tree: dependencies first, then our own wheel by force,
# since pip would otherwise keep an older build of the same version.
$(VENV)/.installed: $(BUILD)/.wheel
	$(PIP) install -q "$$(ls $(BUILD)/*.whl)[plot]"
	$(PIP) install -q --no-deps --force-reinstall $(BUILD)/*.whl
	touch $@

$(VENV)/.installed-dev: $(BUILD)/.wheel
	$(PIP) install -q "$$(ls $(BUILD)/*.whl)[$(EXTRAS_TEST)]"
	$(PIP) install -q --no-deps --force-reinstall $(BUILD)/*.whl
	touch $@ $(VENV)/.installed

# The kernels, once and by all cores: two tests would compile the same one side by side.
$(VENV)/.compiled: $(VENV)/.installed-dev
	$(BIN)/eigentext warm
	touch $@

clean:
	rm -rf $(VENV) $(BUILD) node_modules dist demo-report .pytest_cache .mypy_cache .ruff_cache .coverage
