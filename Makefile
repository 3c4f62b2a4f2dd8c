# Two commands: `make demo` shows the main job, `make test` runs every test. `make help` lists the rest.
SHELL := /bin/bash
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
# For the image: Python 3.11 on Linux, any processor.
LOCK := $(VENV)/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 --python-platform linux \
  --only-binary :all: --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast check docs audit sbom fmt generate \
  bench bench-codec bench-faults bench-ingest bench-judge bench-kafka bench-line bench-memory bench-page bench-scale \
  bench-start bench-state bench-stats soak soak-kills soak-memory judge-train judge-report services fuzz lock clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(STAMP)-demo: pyproject.toml constraints.txt scripts/venv.sh
	@scripts/venv.sh $(VENV)
	@touch $@

$(STAMP)-dev: pyproject.toml constraints.txt scripts/venv.sh
	@scripts/venv.sh $(VENV) test check
	@touch $@ $(STAMP)-demo

$(STAMP)-judge: pyproject.toml constraints.txt scripts/venv.sh
	@scripts/venv.sh $(VENV) test check judge
	@touch $@ $(STAMP)-dev $(STAMP)-demo

demo: $(STAMP)-demo ## Traces in, scores out, a retrieval regression seen and alarmed
	@$(VENV)/bin/otel-ctxscore demo $(ARGS)

test: check services ## Every check and every test, with real servers
	$(PY) -m pytest

test-fast: $(STAMP)-dev ## The tests that need no server
	$(PY) -m pytest -n auto --dist worksteal --hypothesis-profile=fast -m "not services and not slow"

check: $(STAMP)-dev ## Format, lint, types, import floors, generated files, licences, documentation
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m tools.generate --check
	$(PY) -m tools.supply check
	@$(MAKE) --no-print-directory docs
	@$(PY) -m tools.supply audit --if-reachable

docs: $(STAMP)-dev ## The documentation as a site: build/docs/index.html (a lost link or heading is an error)
	$(PY) -m sphinx --quiet --fresh-env --nitpicky --fail-on-warning -c tools/docs docs build/docs

audit: $(STAMP)-dev ## Known vulnerabilities of what is pinned; fails where nobody can be asked
	$(PY) -m tools.supply audit

sbom: $(STAMP)-dev ## What the image is made of, as CycloneDX: build/sbom.cdx.json
	$(PY) -m tools.supply sbom

fmt: $(STAMP)-dev ## Format and mend what a linter can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

generate: $(STAMP)-dev ## Write the generated files: schema, reference, documentation pages
	$(PY) -m tools.generate

bench: bench-codec bench-ingest bench-line bench-memory bench-judge bench-kafka bench-scale bench-faults bench-start bench-state ## Every benchmark, with short runs of the statistics
	$(PY) -m tests.bench.stats --quick

bench-codec: $(STAMP)-dev ## Spans a second, from bytes to kept spans
	$(PY) -m tests.bench.codec

bench-ingest: $(STAMP)-dev ## Spans a CPU-second of the receivers, Kafka and files, beside parse-and-walk, the Collector and rotel
	$(PY) -m tests.bench.ingest $(ARGS)

bench-page: $(STAMP)-dev ## How long each view takes over a million traces and 100,000 runs
	$(PY) -m tests.bench.page $(ARGS)

bench-judge: $(STAMP)-dev ## What judging by an LLM costs beside litellm, over real HTTP
	$(PY) -m tests.bench.judge $(ARGS)

bench-faults: $(STAMP)-judge ## Which judge sees which of six retrieval faults, and how soon
	$(PY) -m tests.bench.faults $(ARGS)

bench-state: $(STAMP)-dev ## What the state file costs the event loop and the start
	$(PY) -m tests.bench.state $(ARGS)

bench-start: $(STAMP)-dev ## Seconds from the start of the service to ready
	$(PY) -m tests.bench.start

bench-stats: $(STAMP)-dev ## The statistics against their promises (writes tests/bench/RESULTS-stats.md)
	$(PY) -m tests.bench.stats --write

bench-kafka: $(STAMP)-dev ## Spans a CPU-second from Kafka beside a bare consumer, commit lag
	$(PY) -m tests.bench.kafka

bench-memory: $(STAMP)-dev ## Memory against open traces
	$(PY) -m tests.bench.memory

bench-line: $(STAMP)-dev ## CPU of a span and of a run, from OTLP bytes to the emitted evaluation
	$(PY) -m tests.bench.line

bench-scale: $(STAMP)-dev ## The same work by 1, 2 and 4 replicas, on Kafka and on OTLP behind a splitter
	$(PY) -m tests.bench.scale

soak: soak-kills soak-memory ## Kills on Kafka, then half an hour under load

soak-kills: $(STAMP)-dev ## 50 kills and 10,000 runs on Kafka (writes tests/bench/RESULTS-kafka-soak.md)
	$(PY) -m tests.bench.soak_kafka --kills 50 --runs 10000 --replicas 3 --seed 1 --write

soak-memory: $(STAMP)-dev ## Memory and latency over 30 minutes of load (writes tests/bench/RESULTS-soak.md)
	$(PY) -m tests.bench.soak_memory --minutes 30 --write

judge-train: $(STAMP)-judge ## Train the local judge anew, to the same bytes
	$(PY) -m tools.judge.train

judge-report: $(STAMP)-judge ## Measure the local judge and the cross-encoder on labelled data
	$(PY) -m tools.judge.report
	$(PY) -m tools.judge.cross_encoder $$($(PY) -m tests.services.reranker)

services: $(STAMP)-dev ## Install the servers that tests start (cached outside the repository)
	$(PY) -m tests.services install

fuzz: $(STAMP)-dev ## A minute of coverage-guided fuzzing of decode and extraction
	@scripts/venv.sh $(VENV) fuzz
	$(PY) -m tests.fuzz.corpus .fuzz-corpus
	$(PY) -m tests.fuzz.fuzz_extract .fuzz-corpus -max_total_time=60 -max_len=20000

lock: $(STAMP)-judge ## Write constraints.txt from what is installed, and the hashes of what is shipped
	$(VENV)/bin/pip freeze --exclude-editable > constraints.txt
	$(LOCK) --constraints constraints.txt pyproject.toml --output-file deploy/requirements.txt
	echo hatchling | $(LOCK) - --output-file deploy/requirements-build.txt

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
