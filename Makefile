# Every target sets itself up: a virtual environment in .venv with the locked packages, redone when the lock changes.
# PYTHON=/path/to/python3 chooses the interpreter (3.11 or newer); its environment is one of its own, .venv-3.13.0 say.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
unexport PYTHONDONTWRITEBYTECODE  # each of hundreds of processes would compile the package anew

PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VERSION = $(shell $(PYTHON) -c 'import platform; print(platform.python_version())')
VENV := .venv$(if $(filter-out file,$(origin PYTHON)),-$(VERSION))
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILED := $(VENV)/.compiled
LOCK := requirements-dev.txt
EXTRAS := acp chat coding dev mcp otel report server tiny  # all but ray and train
IMAGE_LOCK := requirements-image.txt
IMAGE_EXTRAS := chat server tiny  # what is in the container image
BUILD_LOCK := requirements-build.txt
TORTURE := .venv-torture
TORTURE_LOCK := requirements-torture.txt
TRAIN := .venv-train
LOCK_TOOLS := .venv-lock
# Python compiles what is imported: a tenth of it all.
PIP := python -m pip install --quiet --disable-pip-version-check --no-compile
# The lock has all of them: nothing is resolved, or pip 23 takes a newer `coverage[toml]` than the pinned `coverage`.
LOCKED := --no-deps --require-hashes -r

.PHONY: help ready demo test check coverage lint types fix torture bench docs train lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Play a scripted weak model and show the replay; then ask the tiny one and the mock, offline
	@$(BIN)/python -m micro_agent.testing.demo
	@printf '\n$$ TEMPERATURE=0 micro-agent ask --provider tiny "We need 14 notebook. Buy them."\n'
	@TEMPERATURE=0 $(BIN)/micro-agent ask --provider tiny "We need 14 notebook. Buy them."
	@printf '\n$$ micro-agent replay last\n'
	@$(BIN)/micro-agent replay last
	@printf '\n$$ micro-agent ask --provider mock "What is 2*(3+5)?"\n'
	@$(BIN)/micro-agent ask --provider mock "What is 2*(3+5)?"

ready: $(READY) # The environment alone

# A test that hangs is ended and named. On a busy machine the slowest quick ones take ten seconds.
PYTEST = $(BIN)/python -m pytest -n 4 --dist worksteal --timeout 180

test: $(COMPILED) ## Run the tests and the docs; TESTS="tests/cli tests/tools" runs these
	$(PYTEST) $(TESTS)

# What these run is covered by the tests of the rooms themselves, which is the point: they are left out.
UNMEASURED := docs scenarios finishing/test_endings.py test_layout.py test_patterns.py \
	evaluation/test_bench_policies.py

coverage: $(COMPILED) ## Run those of the rooms, half as fast; every branch must be covered
	$(PYTEST) --cov $(UNMEASURED:%=--ignore=tests/%)

check: lint types test coverage ## Run everything a change must pass

lint: $(READY) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## Check types, strictly
	$(BIN)/pyright --pythonpath $(BIN)/python

fix: $(READY) ## Format, and repair what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

torture: $(READY) $(TORTURE)/.ready ## Run the long tests: kills, fuzz, bombs
	$(BIN)/python -m pytest -n 3 -m torture --timeout 1200

bench: $(READY) ## Measure speed: each benchmarks/bench_*.py
	@for name in $(basename $(notdir $(sort $(wildcard benchmarks/bench_*.py)))); do \
		echo "benchmarks/$$name.py"; $(BIN)/python -m "benchmarks.$$name"; done

docs: $(READY) ## Build the site of the documentation: build/docs/index.html
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . build/docs

train: $(TRAIN)/.ready ## Make the tiny model that ships from scratch: an hour on 2 cores
	$(TRAIN)/bin/python -m training

lock: $(LOCK_TOOLS)/.ready ## Pin the packages again; UPGRADE=1 takes newer ones
	$(call PINNED,$(LOCK),The package with its extras and the tools,$(EXTRAS:%=--extra %) pyproject.toml)
	$(call PINNED,$(TORTURE_LOCK),What only `make torture` needs,--group torture)
	$(call PINNED,$(IMAGE_LOCK),What is in the container image,-c $(LOCK) $(IMAGE_EXTRAS:%=--extra %) pyproject.toml)
	$(call PINNED,$(BUILD_LOCK),What builds the wheel and installs packages in it,-c $(LOCK) --group build)

# One version of each package for every Python from 3.11 on and every platform. Pins that stand in the file stay.
define PINNED
$(LOCK_TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-header --no-annotate $(if $(UPGRADE),--upgrade) --output-file $(1) $(3)
{ echo '# $(2), pinned by hash. Made by `make lock`; not edited by hand.'; cat $(1); } > $(1).new && mv $(1).new $(1)
endef

clean: ## Remove the environment and everything that tests and builds leave
	rm -rf .venv .venv-3.* $(TORTURE) $(TRAIN) $(LOCK_TOOLS) build dist htmlcov .coverage .coverage.* .hypothesis .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define NEW_VENV
@test -n "$(PYTHON)" || { echo "micro-agent needs Python 3.11 or newer: install it, or name one with PYTHON=/path/to/python3" >&2; exit 1; }
@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"micro-agent needs Python 3.11 or newer; $(PYTHON) is {v[0]}.{v[1]}")'
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: on Debian, apt-get install python3-venv" >&2; exit 1; }
endef

$(READY): pyproject.toml $(LOCK)
	$(NEW_VENV)
	@echo 'Setting up $(VENV): once, about a minute' >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/$(PIP) $(LOCKED) $(LOCK)
	@$(BIN)/$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

# Once, before four workers do it all at the same time. What is wrong with a test is said when it runs.
$(COMPILED): $(READY)
	@ls -d tests/*/ | xargs -P 2 -n 20 $(BIN)/python -m pytest --collect-only -qq >/dev/null || true
	@touch $@

$(TORTURE)/.ready: $(TORTURE_LOCK)
	$(NEW_VENV)
	@echo 'Setting up $(TORTURE) with the servers that the long tests attack: once, 600 MB' >&2
	@$(PYTHON) -m venv $(TORTURE)
	@$(TORTURE)/bin/$(PIP) $(LOCKED) $(TORTURE_LOCK)
	@touch $@

$(TRAIN)/.ready: pyproject.toml $(LOCK)
	$(NEW_VENV)
	@echo 'Setting up $(TRAIN) with JAX: once, 1.6 GB' >&2
	@$(PYTHON) -m venv $(TRAIN)
	@$(TRAIN)/bin/$(PIP) $(LOCKED) $(LOCK)
	@$(TRAIN)/bin/$(PIP) --no-build-isolation -e '.[train]'
	@touch $@

$(LOCK_TOOLS)/.ready: Makefile
	$(NEW_VENV)
	@$(PYTHON) -m venv $(LOCK_TOOLS)
	@$(LOCK_TOOLS)/bin/$(PIP) uv==0.13.9
	@touch $@
