# `make demo` and `make test` are the two commands of the README. Each command installs what it needs in .venv. Only
# `make test` also installs outside .venv: as root on Debian, it installs browsers, database servers and proxies if they
# are missing.

VENV := .venv
# The laboratory's tests have a separate environment: PsychoPy installs libraries that change how other libraries behave,
# and only the laboratory may need PsychoPy.
LAB := .venv-lab
PYTHON ?= python3
WEB := $(filter-out experiment/web/node_modules/%,$(wildcard experiment/web/src/*.ts experiment/web/src/*/*.ts experiment/web/src/*.css experiment/web/src/*/*.css experiment/web/*.json experiment/web/*.mjs experiment/texts/en.json))
SOURCES := pyproject.toml hatch_build.py constraints.txt constraints-lab.txt $(WEB)

# Exact versions, also of build requirements. For builds, pip before 25.3 reads the first variable, and later versions of
# pip read the second variable.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt
# PsychoPy needs older libraries. Only the laboratory's environment gets these libraries.
$(LAB)/installed: export PIP_CONSTRAINT := $(CURDIR)/constraints-lab.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Some images forbid Python to keep compiled modules. Then each of the tests' many processes compiles them again.
unexport PYTHONDONTWRITEBYTECODE

# At most two jobs at a time, such as a check during an installation.
MAKEFLAGS += --jobs=2

.PHONY: demo test docs prerequisites check style types imports quick

demo: $(VENV)/installed  ## Run two studies with simulated participants. With ARGS=--no-serve, exit after the reports.
	$(VENV)/bin/equipoise demo $(ARGS)

# The laboratory's tests wait for the screen most of the time, so they run while the processor runs the other tests. The
# tests in MEASURED measure times to the millisecond, so they run alone. NEW_GROUP gives the laboratory's tests
# and their programs a process group, so Ctrl-C can end all of them. (macOS does not have the command setsid.)
MEASURED := tests/experiment/lab/test_presentation.py
NEW_GROUP := -c 'import os, sys; os.setsid(); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])'
test: $(VENV)/installed-dev prerequisites $(LAB)/installed check  ## Check style, types and imports, then run all tests.
	@echo "The tests of the laboratory run at the same time as the other tests. Their results are printed at the end."
	@lab_results=$$(mktemp); trap 'kill -- -$$lab; exit 130' INT TERM; \
	$(LAB)/bin/python $(NEW_GROUP) -m pytest --quiet -m lab tests/experiment/lab --ignore $(MEASURED) $(ARGS) > $$lab_results 2>&1 & lab=$$!; \
	$(VENV)/bin/python -m pytest --numprocesses 4 --dist worksteal -m "not lab" $(ARGS); other=$$?; \
	wait $$lab; lab=$$?; cat $$lab_results; rm $$lab_results; test $$other = 0 -a $$lab = 0
	$(LAB)/bin/python -m pytest -m lab $(MEASURED) $(ARGS)

docs: $(VENV)/installed-dev  ## Build the documentation site in build/site. A broken link or anchor is an error.
	$(VENV)/bin/python -m sphinx -q -W --keep-going -b html docs build/site

quick: check  ## Check style, types and imports, then run the quick tests of the changed files.
	$(VENV)/bin/python tests/quick.py

prerequisites:
	sh tests/prerequisites.sh

check: style types imports

style: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/python tests/check_prose.py

types: $(VENV)/installed-dev
	$(VENV)/bin/mypy

imports: $(VENV)/installed-dev
	$(VENV)/bin/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Equipoise needs Python 3.11 or later. Fix: name a newer Python, such as: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

# After the other environment: both installations build the browser's bundle if it is missing.
$(LAB)/installed: $(VENV)/bin/python $(SOURCES) | $(VENV)/installed-dev
	$(PYTHON) -m venv $(LAB)
	$(LAB)/bin/pip install --quiet --editable '.[dev,lab]'
	touch $@

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	$(VENV)/bin/pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python $(SOURCES)
	$(VENV)/bin/pip install --quiet --editable '.[dev,docs,export,models]'
	touch $@ $(VENV)/installed
