# `make demo` installs and runs the demo.
# `make test` installs, lints, type-checks and runs one test of each kind of the core.
# `make test-all` does the same with every test but those marked slow, the studies' too, and with
# all examples of property tests.
# `make check` lints, type-checks and runs the fastest tests.
# `make pages` writes docs/reference.md and docs/config.md after a change of names or keys.
# `make docs` builds the documentation site, site/index.html.
# `make test-lowest` runs the demo and a sample of the tests with the oldest libraries that setup.cfg
# allows, in an environment of its own.
# `make fuzz MINUTES=10` runs the property tests with other examples for that long.
# `make mutants` looks for changes of the code that no test notices (an hour or two).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Byte code is written for the modules that are imported, not for all that is installed.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile

MINUTES ?= 10

# Kernels of its own: another Numba would overwrite those of the environment in daily use.
LOWEST ?= $(CURDIR)/.venv-lowest
LOWEST_TESTS := $(addprefix tests/test_, $(addsuffix .py, lowest front_door start_up \
	packet_closed_forms patterns_programs alloc_policies workloads_swf csv_jobs import_acme \
	queue_easy queue_metrics run_parts report_exports experiments_store gym \
	run_page topology_conf)) \
	experiments/kit/tests/test_papers_drawings.py

# Byte code is kept, also where the environment says otherwise: tests start many processes, and
# pytest rewrites the assertions of all files anew without it.
unexport PYTHONDONTWRITEBYTECODE

TESTS = $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
# Tests that need no compiled kernel and no second process.
CHECK_TESTS := $(addprefix tests/test_, $(addsuffix .py, import_directions units \
	experiments_config experiments_expand topology_conf fabric_files docs_links)) \
	experiments/kit/tests/test_papers_claims.py

.PHONY: demo test test-all checked all-tests check check-tests kernels all-kernels test-lowest pages docs lint types fuzz mutants clean

demo: $(VENV)/.installed
	$(BIN)/netcosim demo

# The kernels are compiled once, by the first command, and loaded by all processes of the second.
test: lint
	$(MAKE) -j2 types kernels
	$(TESTS) tests

kernels: $(VENV)/.installed-test
	$(BIN)/python tests/warm_up.py

test-all: checked
	$(MAKE) all-tests

checked: lint
	$(MAKE) -j2 types all-kernels

all-tests: $(VENV)/.installed-test
	$(TESTS) -m "not slow" --hypothesis-profile=all tests experiments

all-kernels: $(VENV)/.installed-test
	$(BIN)/netcosim warmup --jobs 2

check: lint
	$(MAKE) -j2 types check-tests

check-tests: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(CHECK_TESTS)

test-lowest: $(LOWEST)/.installed
	NETCOSIM_CACHE_DIR=$(LOWEST)/cache $(LOWEST)/bin/netcosim demo --out $(LOWEST)/demo
	NETCOSIM_CACHE_DIR=$(LOWEST)/cache $(LOWEST)/bin/python -m pytest -m "not slow" $(LOWEST_TESTS)

# The pages of all names and of all config keys.
pages: $(VENV)/.installed
	$(BIN)/python -m netcosim.catalogue
	$(BIN)/netcosim describe --all > docs/reference.md
	$(BIN)/netcosim describe --config > docs/config.md

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
	$(INSTALL) -e ".[completion,mpi]"
	touch $@

$(LOWEST)/.installed: setup.cfg pyproject.toml tests/lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check -c tests/lowest.txt \
		-e ".[completion,mpi,parquet,rl,yaml]" pytest hypothesis mpich
	touch $@

$(VENV)/.installed-docs: $(VENV)/bin/python setup.cfg pyproject.toml
	$(INSTALL) -e ".[docs]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-test: $(VENV)/bin/python setup.cfg pyproject.toml
	$(INSTALL) -e ".[test]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) $(LOWEST) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache
