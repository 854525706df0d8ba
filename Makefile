# Everything runs in .venv, created here from any Python 3.11 or later: `make PYTHON=python3.13 test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: demo test test-all holds bench lint clean

demo: $(VENV)/.installed-core
	$(BIN)/kwis demo --report report.html $(ARGS)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS)

test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 $(ARGS)

# How well does it hold? Hours; it goes on where it was stopped.
holds: $(VENV)/.installed-dev
	$(BIN)/python -m tests.statistical.holds run --set test --jobs 2 --out holds-test.jsonl $(ARGS)
	$(BIN)/python -m tests.statistical.holds page holds-test.jsonl

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# A stamp per set of extras, older than pyproject.toml when the requirements have changed.
$(VENV)/.installed-core: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# The tests are of both packages, the library and the paper's experiments.
$(VENV)/.installed-dev: pyproject.toml paper/pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]" --editable ./paper
	@touch $@

$(VENV)/.installed-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
