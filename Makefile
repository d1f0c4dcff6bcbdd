# One virtual environment for every target; nothing needs root. `make PYTHON=python3.12 demo` chooses another Python.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OLDEST ?= .venv-oldest
NATIVE := $(wildcard native/*) CMakeLists.txt pyproject.toml

.PHONY: demo test test-oldest test-all test-browser coverage fuzz sanitize bench lint format clean help

help:  ## Show this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed-report  ## Simulate a table, then fit, predict, evaluate and report, into demo/.
	$(BIN)/extranets demo demo --force

test: $(VENV)/.installed-dev  ## Fast tests, doctests and the README's code.
	$(BIN)/python -m pytest -n auto -m "not slow and not browser"

test-oldest: $(OLDEST)/.installed  ## Fast tests with the oldest versions of other packages that we allow.
	$(OLDEST)/bin/python -m pytest -n auto -m "not slow and not browser"

test-all: $(VENV)/.installed-dev  ## All tests, the long statistical ones included.
	$(BIN)/python -m pytest -n auto -m "not browser"

test-browser: $(VENV)/.installed-browser  ## The report in a real Chromium; skipped where there is none.
	$(BIN)/python -m pytest -m browser tests/browser

coverage: $(VENV)/.installed-dev  ## Which lines and branches the fast tests run; less than 95 % is an error.
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto -m "not slow and not browser"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

FUZZ_SECONDS ?= 1800
fuzz: $(VENV)/.installed-dev  ## Coverage-guided fuzzing of model files and CSV, half an hour each; Python 3.11 to 3.13 on Linux.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	for kind in container codec csv; do \
	  mkdir -p build/fuzz/$$kind && cp tests/fuzz/corpus/$$kind/* build/fuzz/$$kind/ && \
	  $(BIN)/python tests/fuzz/fuzz.py $$kind build/fuzz/$$kind -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/ || exit 1; \
	done

sanitize: $(VENV)/.installed-dev  ## The engine under the compiler's sanitizers: bad addresses, races, overflow.
	$(BIN)/python -m pytest -m slow tests/engine/test_bindings_fuzz.py tests/engine/test_cuda_races.py

bench: $(VENV)/.installed-bench  ## Speed against scikit-learn, PyTorch and JAX, side by side.
	$(BIN)/python -m benchmarks

lint: $(VENV)/.installed-dev  ## ruff and mypy.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev  ## Let ruff format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the environments and all that was built.
	rm -rf $(VENV) $(OLDEST) build dist demo

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(OLDEST)/.installed: $(NATIVE) constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt --editable ".[dev]"
	@touch $@

# Editable: Python files are used as they are; the engine is compiled again when a native file changes.
$(VENV)/.installed-%: $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
