# The two commands of the README. Each sets up all it needs in .venv; nothing outside it is touched, but that
# `make test` installs a browser, database servers and proxies where Debian's package manager can (as root) and there are none.

VENV := .venv
# The laboratory's tests have an environment of their own: PsychoPy brings libraries that others change their ways with,
# and nothing but the laboratory may need it.
LAB := .venv-lab
PYTHON ?= python3
WEB := $(filter-out experiment/web/node_modules/%,$(wildcard experiment/web/src/*.ts experiment/web/src/*/*.ts experiment/web/src/*.css experiment/web/src/*/*.css experiment/web/*.json experiment/web/*.mjs experiment/texts/en.json))
SOURCES := pyproject.toml hatch_build.py constraints.txt constraints-lab.txt $(WEB)

# Exact versions, of what builds need, too: pip before 25.3 holds builds to the first, later ones to the second alone.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt
# PsychoPy needs older libraries, which nothing but the laboratory may get.
$(LAB)/installed: export PIP_CONSTRAINT := $(CURDIR)/constraints-lab.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check

demo: $(VENV)/installed  ## Run a whole study on simulated participants; ARGS=--no-serve ends by itself.
	$(VENV)/bin/equipoise demo $(ARGS)

test: $(VENV)/installed-dev $(LAB)/installed check  ## Check style, types and imports, then run all tests.
	sh tests/prerequisites.sh
	$(VENV)/bin/python -m pytest --numprocesses 3 --dist worksteal -m "not lab" $(ARGS)
	$(LAB)/bin/python -m pytest -m lab tests/experiment/lab $(ARGS)

check: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Equipoise needs Python 3.11 or later; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(LAB)/installed: $(VENV)/bin/python $(SOURCES)
	$(PYTHON) -m venv $(LAB)
	$(LAB)/bin/pip install --quiet --editable '.[dev,lab]'
	touch $@

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	$(VENV)/bin/pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python $(SOURCES)
	$(VENV)/bin/pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/installed
