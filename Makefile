# make demo | test | lint | bench | wheel        (Python 3.11+; everything else is set up here)
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := .build
SOURCE := $(shell find src -type f -not -name '*.py[co]' -not -path '*/__pycache__/*') pyproject.toml README.md
# .ci/run gives arguments of its own, and with them runs the long tests too
PYTEST_ARGS ?= -m "not long"
PIP    := $(BIN)/python -m pip --disable-pip-version-check
EXTRAS_TEST := dev,plot,web,cluster,spacy,parquet

.PHONY: demo test lint bench wheel clean

demo: $(VENV)/.installed
	$(BIN)/eigentext demo -o demo-report

test: $(VENV)/.installed-dev
	EIGENTEXT_TEST_WHEEL=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/run_all.py

wheel: $(BUILD)/.wheel

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

clean:
	rm -rf $(VENV) $(BUILD) dist demo-report .pytest_cache .mypy_cache .ruff_cache .coverage
