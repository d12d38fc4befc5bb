# Two commands do all: `make demo` installs and runs the demo, `make test` installs and tests.
# `make docs` makes the documentation site, site/index.html.
# For those who change the code: `make fuzz MINUTES=10` runs the property tests with other examples
# for so long, `make mutants` looks for changes of the code that no test notices (an hour or two).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

MINUTES ?= 10

.PHONY: demo test docs lint types fuzz mutants clean

demo: $(VENV)/.installed
	$(BIN)/netcosim demo

test: $(VENV)/.installed-test lint types
	$(BIN)/python -m pytest

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -c docs/sphinx -d build/doctrees . site

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

fuzz: $(VENV)/.installed-test
	$(BIN)/python tests/fuzz.py --minutes $(MINUTES)

mutants: $(VENV)/.installed-test
	$(BIN)/python tests/mutation/run.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python setup.cfg pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-docs: $(VENV)/bin/python setup.cfg pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-test: $(VENV)/bin/python setup.cfg pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[test]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache
