# The commands for people who work on kpolicy. `make` alone prints them.
# A target installs what it needs: .venv from requirements.lock, crates from Cargo.lock, Go modules from go.sum.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SITE := $(VENV)/site
STAMPS := $(VENV)/stamps
# The sources of the engine. A changed test or bench rebuilds nothing.
ENGINE_SOURCES := $(shell find rust/*/src -name '*.rs' 2>/dev/null) $(wildcard rust/*/Cargo.toml) Cargo.toml Cargo.lock

# `cargo fmt` does not find modules that a macro declares, such as the decoders of API kinds.
RUSTFMT := git ls-files -z -- 'rust/*.rs' | xargs -0 rustfmt --edition 2024

# Extras stay in the names: pip 23 checks hashes of `coverage[toml]` only where the file pins `coverage[toml]`, and
# fails as soon as a newer release of such a package is out.
LOCK = $(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-strip-extras --no-header

.PHONY: help
help: ## Print this help
	@echo "kpolicy: make <target>"; echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMPS)/python: requirements.lock build/venv.sh
	@PYTHON=$(PYTHON) build/venv.sh $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# Written again only if the parts of pyproject.toml that the build reads have changed.
$(STAMPS)/packaging: pyproject.toml build/packaging.py
	@$(PYTHON) build/packaging.py $@

# `dev` accepts either profile. The stamp says which one is installed.
$(STAMPS)/engine: $(STAMPS)/python $(STAMPS)/packaging $(ENGINE_SOURCES) build/engine.sh
	@build/engine.sh development $(CURDIR)/$(VENV) $@

.PHONY: dev
dev: $(STAMPS)/engine ## Build everything into .venv (then .venv/bin/kpolicy works); seconds after a change in Rust

.PHONY: release
release: dev ## Build everything with the optimised engine, for benchmarks and end-to-end tests
	@[ "$$(cat $(STAMPS)/engine)" = release ] || build/engine.sh release $(CURDIR)/$(VENV) $(STAMPS)/engine

# The inner loop. CONTRIBUTING.md has a table "you changed X, run Y".
.PHONY: quick
quick: dev ## Lint and test what changed since the last commit (or since BASE=main), in seconds
	@$(BIN)/python -m build.quick $(if $(BASE),--base $(BASE))

T ?=
NO_CLUSTER := not cluster and not peer and not full
WITHOUT_CLUSTER := -m "$(NO_CLUSTER)"
# A real control plane takes minutes to build: only tests/e2e or a marker in T asks for it.
.PHONY: py
py: dev ## Run Python tests: make py T=tests/unit/policy, or T='tests/unit -k hash'
	$(BIN)/pytest -q $(if $(findstring tests/e2e,$(T))$(findstring -m ,$(T)),,$(WITHOUT_CLUSTER)) $(T)

.PHONY: rs
rs: ## Run Rust tests: make rs T='-p kpolicy-cel', or T='-p kpolicy-engine --test worlds'
	cargo test --locked $(T)

.PHONY: demo
demo: dev ## Run the scheduler on an embedded control plane; needs no cluster, ends by itself
	@$(BIN)/kpolicy demo

.PHONY: test test-rust test-python
test: dev ## Run the tests (Rust and Python; no real cluster) but for those of `make slow`
	cargo test --workspace --locked --quiet --no-run
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-rust test-python

# Side by side: most Rust tests use one core, and most Python tests wait for something now and then.
test-rust:
	MAKEFLAGS= cargo test --workspace --locked --quiet

test-python:
	$(BIN)/pytest -q -m "$(NO_CLUSTER) and not slow" -n 2 --dist worksteal --durations=15 tests

.PHONY: slow
slow: dev ## Run the Python tests that take many seconds each (random expressions, guides, planted mistakes)
	$(BIN)/pytest -q -m "$(NO_CLUSTER) and slow" -n 2 --dist worksteal --durations=15 tests

.PHONY: coverage
coverage: dev ## Report the lines and branches of Python that tests without a cluster reach, in coverage/
	$(BIN)/pytest -q $(WITHOUT_CLUSTER) -n 2 --dist worksteal --cov --cov-branch --cov-report=term:skip-covered \
		--cov-report=html:coverage tests/unit tests/spec tests/docs

.PHONY: e2e
e2e: release control-plane ## Run tests on a real kube-apiserver and etcd (of another release: KUBERNETES=1.37)
	$(BIN)/pytest -q -m "(cluster or peer) and not full" --durations=15 tests

.PHONY: e2e-full
e2e-full: release control-plane ## Run the tests of e2e, all tests that take minutes, a Ray cluster, and e2e on Kubernetes 1.37
	$(BIN)/pytest -q -m "cluster or peer or full" tests
	$(MAKE) ray
	$(MAKE) e2e KUBERNETES=1.37

.PHONY: control-plane
control-plane: ## Build etcd, kube-apiserver, kube-scheduler (Go; takes minutes the first time, then cached)
	@$(PYTHON) -m tests.cluster build

.PHONY: cluster
cluster: control-plane ## Run a real control plane until ctrl-C
	@$(PYTHON) -m tests.cluster run --nodes 20

WORLDS ?= 10000
.PHONY: worlds
worlds: ## Compare every decision in 10,000 random clusters (WORLDS=n) with a decision from scratch
	KPOLICY_WORLDS=$(WORLDS) cargo test --locked -p kpolicy-engine --test worlds \
		-- every_decision the_number_of_threads --nocapture
	KPOLICY_WORLDS=$(WORLDS) KPOLICY_WORLD_FIRST=20001 cargo test --locked --profile development -p kpolicy-engine \
		--test worlds --test memo -- every_decision the_number_of_threads what_is_known --nocapture

SEEDS ?= 500
.PHONY: simulate
simulate: dev ## Run the whole scheduler in SEEDS simulated clusters with faults, on virtual time
	$(BIN)/python -m tests.simulation --seeds 1..$(SEEDS) --jobs 2
	$(BIN)/python -m tests.simulation --kills 1 --jobs 2

.PHONY: bench
bench: release ## Measure the engine and its boundary with Python
	$(BIN)/python -m benches

ATTACKS ?= 200
ATTACK_SEED ?= 1
HOSTILE_PODS ?= 100000
.PHONY: attack
attack: attack-engine attack-process ## Run every attack and print its figures: those of attack-engine and of attack-process

.PHONY: attack-process
attack-process: release control-plane ## Attack a running scheduler on a real API server (python -m tests.attack NAME runs one attack)
	$(BIN)/python -m tests.attack

.PHONY: attack-engine
attack-engine: $(STAMPS)/python ## Search for dear pods and policies at 5,000 nodes (ATTACKS=n each), then feed HOSTILE_PODS: units, time, memory
	$(BIN)/python -m tests.hostile --tries $(ATTACKS) --search $(ATTACK_SEED) --out target/hostile/policies.json
	KPOLICY_ATTACKS=$(ATTACKS) KPOLICY_ATTACK_SEED=$(ATTACK_SEED) KPOLICY_HOSTILE_PODS=$(HOSTILE_PODS) KPOLICY_HOSTILE_PLACED=20 \
		KPOLICY_HOSTILE_POLICIES=$(CURDIR)/target/hostile/policies.json \
		cargo test --release --locked -p kpolicy-engine --test hostile --test hostile_by_hand --test preemption_work \
		-- --nocapture --test-threads 1

.PHONY: costs
costs: ## Print how many nodes each built-in and shipped policy reads in a first decision, and where nodes lack labels
	cargo test --locked -p kpolicy-engine --test costs -- --nocapture

SECONDS_OF_FUZZING ?= 60
.PHONY: fuzz
fuzz: ## Give the engine mutated files, watch lines, clusters and programs for SECONDS_OF_FUZZING
	cargo run --release --locked --quiet -p kpolicy-codec --example mutate -- --seconds $(SECONDS_OF_FUZZING)

.PHONY: bench-peer
bench-peer: release ## Compare with kube-scheduler's own cycle, in one run (Go; about ten minutes)
	$(BIN)/python -m benches peer

.PHONY: bench-cluster
bench-cluster: release control-plane ## Compare with kube-scheduler on a real API server, in one run (minutes)
	$(BIN)/python -m benches cluster --expect
	$(BIN)/python -m benches cluster --requests --expect

.PHONY: bench-endurance
bench-endurance: release control-plane ## Measure memory over 50 rounds of churn, and failover, reload and stop, on a real API server
	$(BIN)/python -m benches churn
	$(BIN)/python -m benches failover

.PHONY: lint
lint: dev ## Check formatting, clippy, rustdoc, ruff, mypy, import contracts, stubs, the source tree
	$(RUSTFMT) --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest kpolicy._engine
	$(BIN)/pytest -q tests/tree

.PHONY: fmt
fmt: $(STAMPS)/python ## Format Rust, Python and Go
	$(RUSTFMT)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@if command -v gofmt >/dev/null; then gofmt -l -w tests/cluster/controlplane tests/cluster/karpenter benches/peer tests/kubernetes_cel/evaluator; fi

.PHONY: generated
generated: dev ## Write the files that follow from others: tables of the engine, the README of the chart
	@$(BIN)/python -m build.engine_tables
	@$(BIN)/python -m build.chart_readme

.PHONY: lock
lock: $(STAMPS)/python ## Write the lock files again from pyproject.toml, and the bill of materials
	$(BIN)/pip install --quiet uv
	$(LOCK) --extra dev --output-file requirements.lock pyproject.toml
	$(LOCK) --constraints requirements.lock --output-file requirements-run.lock pyproject.toml
	$(LOCK) --group site --output-file requirements-site.lock
	$(LOCK) --group wheel --output-file requirements-wheel.lock
	$(LOCK) --extra ray --constraints requirements.lock --output-file requirements-ray.lock pyproject.toml
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m build.bill_of_materials

$(STAMPS)/site: requirements-site.lock
	@$(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-site.lock
	@mkdir -p $(STAMPS) && touch $@

.PHONY: site
site: $(STAMPS)/site ## Build the documentation site in build/site; fails at a link that leads nowhere
	@$(SITE)/bin/python -m build.documentation $(SITE)/bin/mkdocs build/site

$(STAMPS)/wheel: requirements-wheel.lock
	@$(PYTHON) -m venv $(VENV)/wheel
	@$(VENV)/wheel/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-wheel.lock
	@mkdir -p $(STAMPS) && touch $@

.PHONY: wheel
wheel: $(STAMPS)/wheel ## Build a wheel for every Linux with glibc 2.28 or newer in dist/ (minutes)
	@PATH=$(CURDIR)/$(VENV)/wheel/bin:$$PATH build/wheel.sh dist portable
	@ls dist/kpolicy-*.whl

$(STAMPS)/ray: requirements-ray.lock
	@$(PYTHON) -m venv $(VENV)/ray
	@$(VENV)/ray/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-ray.lock
	@mkdir -p $(STAMPS) && touch $@

.PHONY: ray
ray: dev $(STAMPS)/ray ## Run `kpolicy sweep --engine ray` on a local Ray cluster of two nodes, one of which is killed
	@PYTHONPATH=$(CURDIR)/python:$(CURDIR) $(VENV)/ray/bin/python -m tests.ray_cluster

.PHONY: screenshots
screenshots: dev ## Draw the pictures of the documentation again (needs Debian's package chromium)
	@$(BIN)/python -m build.screenshots

.PHONY: pages-library
pages-library: $(STAMPS)/python ## Build the charting library of the pages again from its lock file (needs npm)
	@$(BIN)/python -m build.pages_library

.PHONY: hooks
hooks: $(STAMPS)/python ## Install hooks that run the fast checks before each commit
	$(BIN)/pip install --quiet pre-commit
	$(BIN)/pre-commit install

.PHONY: ci
ci: lint test slow worlds simulate e2e ## Run all checks

.PHONY: clean
clean: ## Remove all built files
	rm -rf $(VENV) target coverage dist build/site .coverage python/kpolicy/_engine*.so
