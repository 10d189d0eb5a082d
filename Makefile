# Two commands do everything on a fresh machine with Python 3.11 or 3.12 (newer with a redis-server) and make:
#   make demo    installs what it needs and runs the main job twice, on a sound and on a broken memory
#   make test    installs what it needs and passes the tests
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
# The first Python that fits: 3.11 and 3.12 have a bundled Redis, newer ones use the one on PATH.
PYTHON ?= $(shell for p in python3 python3.12 python3.11 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && exit; done; \
	for p in python3 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done)
UV := $(BIN)/uv
WORKERS ?= 4
MINUTES ?= 30
TARGETS ?=
export UV_LINK_MODE = copy
# What is imported often is compiled once, at installation; a setting around us must not undo that.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install install-dev demo test evidence mutants test-all lint format bench products soak lock clean

help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

install: $(VENV)/.installed ## .venv with .venv/bin/goldfish and the embedded servers
install-dev: $(VENV)/.installed-dev ## the same, with what tests and lint need

$(UV):
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer found: install one, or say make PYTHON=/path/to/python" >&2; exit 2; }
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/bootstrap.lock

$(VENV)/.installed: requirements/run.lock pyproject.toml | $(UV)
	@echo "installing what a run needs"
	@$(UV) pip install -q --python $(BIN)/python --compile-bytecode -r requirements/run.lock
	@$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q goldfish stress analysis locustfiles
	@touch $@

$(VENV)/.installed-dev: requirements/dev.lock $(VENV)/.installed
	@echo "installing what the tests need"
	@$(UV) pip install -q --python $(BIN)/python --compile-bytecode -r requirements/dev.lock
	@touch $@

demo: install ## the main job on a sound and on a broken memory: two tables, two reports
	@$(BIN)/goldfish demo

test: install-dev ## the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

evidence: install-dev ## all of the evidence for the rule of loss, with its counts; EVIDENCE_SCALE=20 for more
	EVIDENCE_SCALE=$${EVIDENCE_SCALE:-1} $(BIN)/python -m pytest tests/evidence -q -s -p no:xdist --timeout 14400

mutants: install-dev ## wrong versions of the rule, one change each, and who notices them
	$(BIN)/python -m tests.mutants

test-all: install-dev lint ## lint, and the tests with all of the evidence, ten times that of make test
	EVIDENCE_SCALE=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --timeout 3600

lint: install-dev ## style, types, and which package may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install-dev ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install-dev ## measurements, written to benchmarks/results
	$(BIN)/python -m benchmarks.analyzer
	$(BIN)/python -m benchmarks.turn_cost
	$(BIN)/python -m benchmarks.users
	$(BIN)/python -m benchmarks.intervals
	$(BIN)/python -m benchmarks.early_stop

products: install-dev ## the shipped products under load, written to docs/shipped-products.md; TARGETS=NAME for one
	$(BIN)/python -m benchmarks.products $(TARGETS)

soak: install-dev ## half an hour of load, MINUTES=30; fails if a process keeps growing
	$(BIN)/python -m benchmarks.soak $(MINUTES)

LOCK := pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --upgrade
lock: $(UV) ## resolve the dependencies anew
	$(UV) $(LOCK) --group installer -o requirements/bootstrap.lock
	$(UV) $(LOCK) pyproject.toml --extra embedded --group build -o requirements/run.lock
	$(UV) $(LOCK) pyproject.toml --extra embedded --extra targets --group build --group dev -c requirements/run.lock -o requirements/dev.lock

clean: ## remove what was installed and made
	rm -rf $(VENV) runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
