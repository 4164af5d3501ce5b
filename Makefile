# Everything a person or a machine does with this repository.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
PACKAGES := dataplane controlplane
# What is imported once more is compiled already: many tests start processes of their own.
unexport PYTHONDONTWRITEBYTECODE
CODE := $(wildcard dataplane controlplane tests tools manage.py)
PYTEST := $(BIN)/pytest -q
TEST_WORKERS ?= 2
# A worker that dies ends the run: what it had to do is given to nobody else for sure.
SPREAD := -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help install lock fmt check fmt-check lint types imports test test-fast test-core test-rest \
        test-postgres test-browser test-agents nightly crash-test soak docs docs-check prices run demo screenshots bench \
        bench-watching

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- Installing. A stamp is newer than the lock that it installed, so nothing is done twice.
# uv is fast; pip knows the mirrors and certificates that were set up for it, so it comes second.

install_with = $(BIN)/uv pip install -q --system-certs --python $(BIN)/python $(1) || $(BIN)/python -m pip install -q $(1)

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q uv==$(UV_VERSION)

$(RUN_STAMP): requirements.lock pyproject.toml | $(BIN)/uv
	@echo "Installing what the product runs on into $(VENV)"
	@$(call install_with,--require-hashes -r requirements.lock)
	@$(call install_with,--no-deps -e .)
	@touch $@

# The development lock holds the run-time one, version for version.
$(DEV_STAMP): requirements-dev.lock requirements.lock pyproject.toml | $(BIN)/uv
	@echo "Installing what the checks and tests need into $(VENV)"
	@$(call install_with,--require-hashes -r requirements-dev.lock)
	@$(call install_with,--no-deps -e .)
	@touch $(RUN_STAMP) $@

install: $(DEV_STAMP) ## Create .venv with everything that the checks need

lock: $(BIN)/uv ## Resolve requirements*.in again into the locks
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-annotate --no-header requirements.in -o requirements.lock
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-annotate --no-header requirements-dev.in -o requirements-dev.lock

# --- Checking.

# The types take as long as everything else that is not a test, so the tests begin beside them.
check: $(DEV_STAMP) ## Everything that needs no more than this machine
	@$(MAKE) --no-print-directory -j2 types fmt-check lint imports docs-check test

# What takes longer than anybody waits for, and more examples of what make check tries a few of.
nightly: test-agents crash-test soak ## Everything that takes long: an hour on an idle machine
	HYPOTHESIS_PROFILE=nightly $(PYTEST) tests/dataplane/core -p no:django

fmt: $(DEV_STAMP) ## Format the code and mend what the linter can
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check -q --fix $(CODE)

fmt-check: $(DEV_STAMP)
	$(BIN)/ruff format --check $(CODE)

lint: $(DEV_STAMP) ## Run the linter
	$(BIN)/ruff check $(CODE)

types: $(DEV_STAMP) ## Check the types, strictly
	$(BIN)/mypy

imports: $(DEV_STAMP) ## Check the import contracts
	$(BIN)/lint-imports

# Browser tests run in processes of their own: their event loop does not tolerate other tests' loops.
test: $(DEV_STAMP) ## Run every test
	@$(MAKE) --no-print-directory test-core
	@$(MAKE) --no-print-directory test-rest
	@$(MAKE) --no-print-directory test-postgres
	@$(MAKE) --no-print-directory test-browser

# Besides the core: every key, and requests through a whole gateway that keep bytes, sessions,
# originals and answers. Without Django, without a server of its own, with a fifth of the examples.
FAST := $(addprefix tests/dataplane/,core keys proxy_cases recovery_cases/test_expand_json.py \
  $(addprefix gateway_cases/test_,byte_fidelity.py responses.py sessions.py pristine_resend.py anthropic_package.py))

test-fast: $(DEV_STAMP) ## Run what says the most in half a minute, for between two edits
	HYPOTHESIS_PROFILE=fast $(PYTEST) $(FAST) -p no:django $(SPREAD)

test-core: $(DEV_STAMP) ## Run the tests of the pure core, without Django
	$(PYTEST) tests/dataplane/core -p no:django $(SPREAD)

# A Redis or PostgreSQL of the tests' own is started here, once a test asks for one.
test-rest: $(DEV_STAMP)
	$(PYTEST) tests --ignore=tests/dataplane/core -m "not browser and not agents" $(SPREAD)

# What locks, constraints and the order of commits decide, once more on a server's database.
ON_POSTGRES ?= $(addprefix tests/controlplane/,test_races.py audit jobs prices \
  configs/test_save_version.py configs/test_plans.py fleet/test_publishing.py telemetry/test_ingest.py \
  telemetry/test_captured.py telemetry/test_refusing.py)

test-postgres: $(DEV_STAMP) ## Run the tests of the control plane that a PostgreSQL may fail
	$(BIN)/python -m tests.on_postgres -q $(SPREAD) $(ON_POSTGRES)

test-browser: $(DEV_STAMP)
	DJANGO_ALLOW_ASYNC_UNSAFE=1 $(PYTEST) tests/journeys/pages -m browser $(SPREAD)

# Their own installers are run by hand: some versions of npm do not. What Node the agents themselves
# want does not matter: all three are programs of their own.
AGENTS := $(VENV)/agents
AGENTS_STAMP := $(AGENTS)/.installed

$(AGENTS_STAMP): tests/agents/package.json tests/agents/package-lock.json
	@command -v npm >/dev/null || { echo "make test-agents needs Node 18 or newer with npm" >&2; exit 1; }
	@echo "Installing the agents into $(AGENTS)"
	@mkdir -p $(AGENTS) && cp tests/agents/package.json tests/agents/package-lock.json $(AGENTS)
	@cd $(AGENTS) && npm install --ignore-scripts --no-audit --no-fund --loglevel=error
	@cd $(AGENTS)/node_modules/@anthropic-ai/claude-code && node install.cjs
	@cd $(AGENTS)/node_modules/opencode-ai && node postinstall.mjs
	@touch $@

test-agents: $(DEV_STAMP) $(AGENTS_STAMP) ## Run Claude Code, Codex and opencode through a gateway
	$(PYTEST) tests/agents -m agents

# A short form of it is among the tests. The full disk needs the right to mount one.
crash-test: $(DEV_STAMP) ## Kill nodes at every point for a quarter of an hour; lose nothing
	$(BIN)/python -m tests.dataplane.recovery_cases.crash_plan

soak: $(DEV_STAMP) ## Hold half of the maximum rate for 20 minutes; nothing may leak
	@$(BIN)/python -m tools.soak

docs: $(DEV_STAMP) ## Write the generated reference pages
	$(BIN)/python manage.py render_docs

prices: $(DEV_STAMP) ## Take prices and context windows from the named release of genai-prices
	$(BIN)/python -m tools.prices

docs-check: $(DEV_STAMP)
	$(BIN)/python manage.py render_docs --check

# --- Running.

run: $(RUN_STAMP) ## Serve everything on HEADRACE_BIND (default 127.0.0.1:8000)
	@exec $(BIN)/python manage.py serve

demo: $(RUN_STAMP) ## Give every page life: simulated provider and the repository's own sessions
	@exec $(BIN)/python -m tools.demo

# All of them are more megabytes than a clone should carry: the gallery is what is kept.
SCREENSHOTS ?= build/screenshots

screenshots: $(DEV_STAMP) ## Picture every page and state; docs/screenshots keeps one a page
	@$(BIN)/python -m tools.screenshots --folder $(SCREENSHOTS)

# Ten minutes, most of them for making a million request rows.
bench-watching: $(DEV_STAMP) ## Measure reports, pages and streams at the size of a busy fleet
	@$(BIN)/python -m tools.watching

bench: $(DEV_STAMP) ## Print the table of speed and size figures
	@$(BIN)/python -m tools.bench
