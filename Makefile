# Everything sets itself up: a virtual environment here, Kubernetes in the user's cache.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup kubernetes demo check test lint bench crash e2e chart image clean

help:
	@echo "make demo    an upgrade from a policy to its report: a small shop moves in its order, on a real Kubernetes here"
	@echo "make setup   the virtual environment .venv with shiplift in it; the others do that themselves"
	@echo "make check   before each commit: lint, and all tests that start no cluster (a good minute);"
	@echo "             property tests try a ninth of their examples"
	@echo "make test    all tests, against real parts (WITHIN=seconds: what would take longer is not begun, and told)"
	@echo "make lint    format, style, types, layering"
	@echo "make bench   two of the benchmarks, short"
	@echo "make chart   what of charts/shiplift is made of the layers; make image: the operator's image, in the cache"
	@echo "make crash   every write of the operator interrupted, layer by layer (an hour each; LAYER=name for one);"
	@echo "             each ends with one line of JSON"
	@echo "make e2e     faults on real machines while a worker of a cluster is upgraded; needs root; one line of JSON"
	@echo "             ONLY=install: the operator runs on such machines, and is itself upgraded half-way"

setup: .venv/ready

.venv/ready: requirements/dev.txt requirements/build.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "error: Python 3.11 or newer is needed"; echo "hint: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "error: $(PYTHON) cannot make virtual environments"; echo "hint: install python3-venv"; exit 1; }
	@echo "setting up .venv (once, one to three minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt -r requirements/build.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

kubernetes: setup
	@$(BIN)/shiplift local programs >/dev/null

demo: kubernetes
	@$(BIN)/shiplift demo

# Side by side, for the time that it takes; what lint says comes in one piece, after the tests.
check: setup
	@said=$$(mktemp); $(MAKE) --no-print-directory lint >$$said 2>&1 & lint=$$!; \
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --no-clusters -q -n $(WORKERS) --dist worksteal; tests=$$?; \
	wait $$lint; lint=$$?; cat $$said; rm $$said; \
	if [ $$tests -ne 0 ]; then echo "error: tests failed"; fi; \
	if [ $$lint -ne 0 ]; then echo "error: lint failed"; fi; \
	[ $$tests -eq 0 ] && [ $$lint -eq 0 ]

test: kubernetes
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(addprefix --within ,$(WITHIN))

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --config pyproject.toml

bench: kubernetes
	@$(BIN)/python -m benchmarks graph
	@$(BIN)/python -m benchmarks sync --short

crash: kubernetes
	@$(BIN)/python -m tests.crash $(addprefix --layer ,$(LAYER))

e2e: setup
	@$(BIN)/python -m tests.e2e$(if $(filter install,$(ONLY)),.install)

chart: setup
	@$(BIN)/python -m shiplift.operator.chart charts/shiplift

image: setup
	@$(BIN)/python -m shiplift.local.operator_image

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache
