# Every target works alone on a fresh machine with Python 3.11 to 3.13: the first one makes .venv.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
VENV := .venv/.made
PROJECTS := $(wildcard pyproject.toml plugins/*/pyproject.toml)
# Extensions in C: changed, they are built again.
NATIVE := $(wildcard plugins/*/setup.py plugins/*/src/*.[ch])
PACKAGES := rivet_core $(wildcard plugins/*/rivet_*)
JOBS ?= 2
TESTS ?=
SOAK ?=

.PHONY: help demo test check format docs bench bench-peers soak bench-schedule dist lock clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

demo: $(VENV) ## Plan and run a small campaign on a sample database, no server needed
	@$(BIN)/rivet demo

test: $(VENV) ## Run every test; private servers are prepared, started and stopped
	@$(BIN)/python -m rivet_core.testing.servers
	@$(BIN)/pytest -n $(JOBS) --dist loadfile $(TESTS)

check: $(VENV) ## Lint, format, types, layers, generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES)
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

format: $(VENV) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV) ## Write the generated pages again and build the site into site/, every link checked
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/build.py

LIVE ?=
bench: $(VENV) ## Measure start-up, planning 10,000 tables, and live campaigns; hold the laws of scoring on 10^5 cases
	@$(BIN)/python -m benchmarks.startup
	@$(BIN)/python -m benchmarks.catalog
	@$(BIN)/python -m benchmarks.live $(LIVE)
	@RIVET_LAWS=18 $(BIN)/pytest -n $(JOBS) tests/planning/test_laws.py

soak: $(VENV) ## Kill exports 200 times while their table changes, the suite of stores over one without conditional writes, 1000 changing tables, and a minute of fuzzing
	@RIVET_TEST_STORES=rclone $(BIN)/pytest -q tests/system/test_destinations.py
	@RIVET_TABLES=1000 $(BIN)/pytest -q tests/system/test_generated_tables.py
	@$(BIN)/python -m benchmarks.soak $(SOAK)
	@$(BIN)/python -m benchmarks.fuzz

PEERS ?=
bench-peers: $(VENV) ## Measure reading against other programs (PEERS="--tool PROGRAM ...", see docs/benchmarks.md)
	@$(BIN)/python -m benchmarks.peers $(PEERS)

SCHEDULE ?=
bench-schedule: $(VENV) ## Measure the scheduler on seeded campaigns, a few minutes; SCHEDULE=--full for all 365
	@$(BIN)/python -m benchmarks.schedule $(SCHEDULE)

dist: $(VENV) ## Build wheels and source archives of the core and of every plugin into dist/
	@rm -rf dist
	@for project in $(dir $(PROJECTS)); do \
	    $(BIN)/python scripts/build-dist $$project dist || exit 1; \
	done

lock: ## Write requirements.lock again (needs uv)
	uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-annotate --no-emit-index-url --quiet -o requirements.lock

clean: ## Remove what the targets made
	rm -rf .venv dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis rivet-demo

$(VENV): requirements.lock $(PROJECTS) $(NATIVE) scripts/make-venv
	@echo "making .venv"
	@scripts/make-venv
	@touch $@
