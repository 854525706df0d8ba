# Everything runs in .venv, created here from any Python 3.11 or later: `make PYTHON=python3.13 test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
CONSTRAINTS ?= constraints.txt
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS)
ARGS ?=

.PHONY: demo docs examples-output test test-all test-lowest coverage mutation holds bench bench-quick lint clean

demo: $(VENV)/.installed-core
	$(BIN)/kwis demo --report report.html $(ARGS)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS)

# The site's notebooks are run too, which takes what builds the site.
test-all: $(VENV)/.installed-dev $(VENV)/.installed-docs
	$(BIN)/python -m pytest -n 2 $(ARGS)

# The same tests with the lowest versions that pyproject.toml allows. These are for Python 3.11, and what they
# say about later versions of their own dependencies is no fault of ours.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n 2 -m "not slow" -W default::DeprecationWarning $(ARGS)

# The site in docs/_build/html: examples are run, warnings are errors, links inside are checked, nothing is downloaded.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html $(ARGS)
	$(BIN)/python -m docs.links docs/_build/html

# Run every code block of README and the site again, and write what it prints beneath it.
examples-output: $(VENV)/.installed-docs $(VENV)/.installed-dev
	$(BIN)/python -m tests.docs $(ARGS)

coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov --cov-report term:skip-covered --cov-report html $(ARGS)

# Do the tests notice small faults in estimators, intervals and readers? An hour or so; it goes on where it was stopped.
mutation: $(VENV)/.installed-dev
	nice $(BIN)/python -m tests.mutation --out mutants.jsonl $(ARGS)

# How well does it hold? Hours; it goes on where it was stopped.
holds: $(VENV)/.installed-dev
	$(BIN)/python -m tests.statistical.holds run --set test --jobs 2 --out holds-test.jsonl $(ARGS)
	$(BIN)/python -m tests.statistical.holds page holds-test.jsonl

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks $(ARGS)

# What people wait for, in about five minutes.
bench-quick: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.quick $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) $(LOWEST) build dist htmlcov docs/_build docs/gallery docs/generated .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis

# A stamp per set of extras, older than pyproject.toml when the requirements have changed.
$(VENV)/.installed-core: pyproject.toml $(CONSTRAINTS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable .
	@touch $@

# The tests are of both packages, the library and the paper's experiments.
$(VENV)/.installed-dev: pyproject.toml paper/pyproject.toml $(CONSTRAINTS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable ".[dev]" --editable ./paper
	@touch $@

$(VENV)/.installed-%: pyproject.toml $(CONSTRAINTS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable ".[$*]"
	@touch $@

$(LOWEST)/.installed: pyproject.toml paper/pyproject.toml .ci/lowest.py
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(LOWEST)/constraints.txt --editable ".[test]" --editable ./paper
	@touch $@
