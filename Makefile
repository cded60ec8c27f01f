# Two commands matter: `make demo` and `make test`. Both set up what they need on their first run.
# Needed beforehand: Python 3.11 or newer, make, git. Everything goes into .venv, except a Java runtime.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage soak kubernetes lint check bench site site-version clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WITH_JAVA := scripts/with-java
# Two test processes where there are two processors: each waits for its servers and clusters half of the time. A third
# (WORKERS=3, tests/schedule.py) is for a machine with more: on two, tests of browsers and clusters came too late.
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 1); [ $$n -ge 4 ] && echo 3 || { [ $$n -ge 2 ] && echo 2 || echo 0; })
RUNS ?= 25
# Tests start many processes: they must not compile all modules again, even where the shell says so.
unexport PYTHONDONTWRITEBYTECODE

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## create .venv, install the dependencies, find or install a Java runtime
	@$(WITH_JAVA) true

$(READY): pyproject.toml scripts/setup-venv
	@scripts/setup-venv $(VENV)
	@touch $@

demo: $(READY) ## run the main job on the 336,776 flights that left New York in 2013
	@$(WITH_JAVA) $(BIN)/python examples/flights.py $(ARGS)

test: $(READY) ## run all tests (ARGS="-m 'not spark'" for those that start no Spark; WORKERS=0: in one process)
	@scripts/test-servers packages
	@$(WITH_JAVA) scripts/spark-archive $(VENV)
	@scripts/test-servers jars & export FIRESTEEL_TEST_FETCHER=$$!; \
		$(WITH_JAVA) $(BIN)/python -m pytest -n $(WORKERS) $(ARGS); status=$$?; wait; exit $$status

# Servers and browsers are of no help here: what they reach, tests without them reach too. Programs that must end
# at once, or may write little, fail when they are measured: UNMEASURED begins the names of their tests.
UNMEASURED := tests/odd/test_odd_inputs.py::test_what_comes_of_it[processes:
coverage: $(READY) ## run the tests that start no Spark, print which share of each package they run, fail below its bar
	@rm -rf build/coverage && mkdir -p build/coverage
	@$(WITH_JAVA) $(BIN)/coverage run -m pytest -q -n $(WORKERS) -m 'not spark' \
		--ignore=tests/servers --ignore=tests/rest/dashboard --ignore=tests/kills \
		--deselect "$(UNMEASURED)" $(ARGS); failed=$$?; \
		$(BIN)/coverage combine --quiet && $(BIN)/python scripts/coverage-report && exit $$failed

soak: $(READY) ## for hours: RUNS runs of each kind of kill test (docs/design/kills.md; goes on where it stopped), Kafka for half an hour in epochs and an hour in real time, RUNS times as many examples of model tests
	@$(WITH_JAVA) $(BIN)/python -m tests.kills.soak --runs $(RUNS) $(ARGS)
	@$(WITH_JAVA) $(BIN)/python -m tests.servers.kafka.soak --report kafka-soak-report.md
	@$(WITH_JAVA) $(BIN)/python -m tests.servers.kafka.soak --mode real-time --minutes 60 \
		--report kafka-soak-real-time-report.md
	@$(BIN)/python -m tests.cluster.kills --runs $(RUNS)
	@FIRESTEEL_SOAK=$(RUNS) $(BIN)/python -m pytest -m 'not spark' --timeout 0 \
		tests/runtime tests/state tests/jobmanager tests/cep
	@FIRESTEEL_SOAK=$(RUNS) $(WITH_JAVA) $(BIN)/python -m pytest tests/test_flights.py

kubernetes: $(READY) ## build a Kubernetes (as root, with Go, in a quarter of an hour) and run the chart on it while pods are struck
	@scripts/fetch-kubernetes && $(WITH_JAVA) $(BIN)/python -m tests.servers.kubernetes.soak $(ARGS)

lint: $(READY) ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## what CI runs: lint and all tests

bench: $(READY) ## measure against PyFlink, Bytewax, PySpark and a hand-written job (see benchmarks/README.md)
	@$(WITH_JAVA) $(BIN)/python -m benchmarks $(ARGS)

site: $(READY) ## make the site of the documentation in build/site (ARGS=serve: show it at 127.0.0.1:8000)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(or $(ARGS),build) --quiet

site-version: $(READY) ## commit the site of VERSION (ALIAS: latest) to the branch gh-pages, beside the other versions
	@PATH=$(abspath $(BIN)):$$PATH NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy --update-aliases $(VERSION) $(or $(ALIAS),latest)
	@PATH=$(abspath $(BIN)):$$PATH $(BIN)/mike set-default $(or $(ALIAS),latest)

clean: ## remove .venv, caches, benchmark environments and events (results stay)
	rm -rf $(VENV) benchmarks/.envs benchmarks/.events build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
