# `make help` lists the targets. Each creates .venv and installs what it needs first.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
PROFILE ?= quick
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# While one test waits, for processes that it began or for what another compiles, there is one more to compute.
TEST_WORKERS ?= $(shell expr $(JOBS) + 1)
VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
TYPING := build/typing/sparsync
# No command but `make record` and `make docs` writes a tracked file: paper/data is the record.
DATA := build/$(PROFILE)/data
RECORD := paper/data
GENERATED := paper/generated
STORE := build/store
# One arithmetic thread a process, so that results do not depend on the machine's core count.
export OMP_NUM_THREADS ?= 1
export MPLBACKEND := Agg
# Hundreds of short processes import the same modules: what one has compiled serves the others.
export PYTHONDONTWRITEBYTECODE :=
# sympy forgets after a thousand results of each function unless told not to; derivations ask for more, again and again.
export SYMPY_CACHE_SIZE ?= None
# What an unpacked archive is tried on: structure, provenance, kernels against their reference, training, and the papers' numbers.
ARTEFACT_TESTS ?= tests/test_house.py tests/verify/tools/test_provenance.py tests/kernels/test_native_cases.py \
    tests/kernels/test_selection.py tests/experiments/test_simulate.py tests/paper/test_numbers.py
# `make gpu` runs where nothing can be installed: a Python whose torch has CUDA, and a folder for all that it finds.
GPU_PYTHON ?= python3
OUT ?= build/gpu
ASKED_FRESH := $(if $(filter-out 0,$(FRESH)),--fresh)

.PHONY: help install demo check test test-all verify formal reproduce full show record paper site docs bench links real gpu wheel artefact artefact-check clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## create .venv and install sparsync with everything it uses

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:3]; v >= (3, 11) or sys.exit("sparsync needs Python 3.11 or later, $(PYTHON) is %d.%d.%d" % v)'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(RUN) -m sparsync.kernels.native_build
	touch $@

$(TYPING):
	mkdir -p $@
	for folder in theory verify kernels experiments; do ln -sfn ../../../$$folder $@/$$folder; done

demo: $(STAMP) ## the first two minutes: train, race, check a theorem, and two pictures in build/demo
	@$(RUN) -m sparsync.experiments.demo --output-folder build/demo

check: $(STAMP) $(TYPING) ## ruff, mypy --strict and pyright
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright & pyright=$$!; status=0; \
	    { $(VENV)/bin/mypy && $(VENV)/bin/mypy paper tests; } || status=$$?; \
	    wait $$pyright && exit $$status

test: $(STAMP) ## the tests, without the rare long ones
	$(RUN) -m pytest -n $(TEST_WORKERS) --dist worksteal -m "not slow"

test-all: $(STAMP) ## every test
	$(RUN) -m pytest -n $(TEST_WORKERS) --dist worksteal

verify: $(STAMP) ## check certificates and formal proofs, print the ledger (FRESH=1: take nothing over)
	mkdir -p $(DATA)
	$(RUN) -m sparsync.verify.ledger.command --profile $(PROFILE) --output $(DATA)/verify.json --store $(STORE) \
	    --formal build/formal --jobs $(JOBS) $(ASKED_FRESH)
	$(RUN) verify/check_certificates.py $(DATA)/certificates

formal: $(STAMP) ## compile the Coq proofs (needs coqc) and list what they rest on
	mkdir -p $(DATA)
	$(RUN) -m sparsync.verify.formal.coq --folder build/formal --output $(DATA)/formal.json --jobs $(JOBS)

# `exec`: make hands SIGTERM to the shell that it began, and the command ends what it began itself.
reproduce: $(STAMP) ## theorems, runs, figures, report; goes on where it was (PROFILE=smoke|quick|record|full; ONLY="races budgets")
	exec $(RUN) -m paper.reproduce --profile $(PROFILE) --jobs $(JOBS) $(ASKED_FRESH) $(if $(ONLY),--only $(ONLY))

# On several nodes each starts this, e.g. TORCHRUN="--nnodes 4 --rdzv-backend c10d --rdzv-id 7 --rdzv-endpoint node0:29400".
full: $(STAMP) ## on GPU nodes: kernels, training runs under torchrun with NCCL, then all studies of profile full; resumable (TORCHRUN=…)
	@if $(RUN) -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; \
	    then $(MAKE) gpu GPU_PYTHON=$(abspath $(RUN)) OUT=build/full/gpu; \
	    else echo "no GPU: kernels are not timed, and gloo stands for NCCL" >&2; fi
	$(RUN) -m sparsync.experiments.studies.training.distributed --output-folder build/full/distributed $(if $(TORCHRUN),--torchrun "$(TORCHRUN)")
	$(MAKE) reproduce PROFILE=full

show: $(STAMP) ## figures, numbers and report of what PROFILE has found so far, with the record for what it has not
	$(RUN) -m paper.reproduce --profile $(PROFILE) --jobs $(JOBS) --show

record: $(STAMP) ## of a clean tree: what the last whole `make reproduce PROFILE=…` found becomes paper/data
	$(RUN) -m paper.record --profile $(PROFILE)
	$(MAKE) docs

paper: $(STAMP) ## figures and numbers from paper/data, then main.pdf and waiting.pdf in build/paper (needs latexmk)
	@command -v latexmk >/dev/null || { echo "make paper needs latexmk (Debian: latexmk texlive-latex-extra texlive-science)" >&2; exit 1; }
	$(RUN) -m paper.figures --data-folder $(RECORD) --output-folder $(GENERATED) --jobs $(JOBS)
	$(RUN) -m paper.numbers --data-folder $(RECORD) --output-folder $(GENERATED)
	$(RUN) -m paper.typeset --output-folder build/paper

site: $(STAMP) ## claims, statements, certificates, races as pages: paper/generated/site (claims judged on your run of PROFILE, if there is one)
	@$(RUN) -m paper.site --data-folder $(RECORD) --output-folder $(GENERATED)/site $(if $(wildcard $(DATA)),--run-folder $(DATA))

docs: $(STAMP) ## ledger, proofs, timings and README's figure from paper/data, and the map of the folders, into tracked pages
	$(RUN) -m paper.write_docs --data-folder paper/data --docs-folder paper/docs
	$(RUN) -m paper.folder_map --output paper/docs/map.svg
	$(RUN) -m paper.figures --data-folder paper/data --output-folder paper/generated --only overview
	cp paper/generated/overview.png paper/overview.png

bench: $(STAMP) ## time of every selector, of the fused kernel against what PyTorch offers, of messages, of every policy's simulation, of planners, of the hook, of a farm, streams and global Top-k
	mkdir -p $(DATA)
	$(RUN) -m sparsync.experiments.studies.selection.selection --profile $(PROFILE) --output build/$(PROFILE)/selection.json
	$(RUN) -m sparsync.experiments.studies.kernels.study --profile $(PROFILE) --output-folder $(DATA)
	$(RUN) -m sparsync.experiments.studies.synchronisation.engine_speed --output $(DATA)/engine_speed.json \
	    $(if $(filter smoke,$(PROFILE)),--workers 16 --steps 4)
	$(RUN) -m sparsync.experiments.studies.kernels.wire --output $(DATA)/wire.json
	$(RUN) -m sparsync.experiments.studies.planning.planning_seconds --output $(DATA)/planning_seconds.json
	$(RUN) -m sparsync.experiments.studies.hooks.cost --output $(DATA)/hook_cost.json \
	    $(if $(filter smoke,$(PROFILE)),--models resnet20 --ranks 2 --rounds 1,--link-mbit 100 --memory-steps 2000)
	$(RUN) -m sparsync.experiments.studies.planning.farms --profile $(PROFILE) --output $(DATA)/farms.json
	$(RUN) -m sparsync.experiments.studies.planning.streams --profile $(PROFILE) --output $(DATA)/streams.json
	$(RUN) -m sparsync.experiments.studies.planning.global_selection --profile $(PROFILE) --output $(DATA)/global_selection.json

links: $(STAMP) ## a run that loses nodes, workers that take turns, and a step over real links (these as root, on Linux)
	mkdir -p $(DATA)
	$(RUN) -m sparsync.experiments.studies.links.elastic --profile $(PROFILE) --output $(DATA)/elastic.json
	$(RUN) -m sparsync.experiments.studies.links.slices --output $(DATA)/slices.json $(if $(filter smoke,$(PROFILE)),--rounds 1 --steps 5)
	$(RUN) -m sparsync.experiments.studies.links.study --profile $(PROFILE) --output $(DATA)/links.json --store $(STORE)

real: $(STAMP) ## policies on real processes beside what the simulator foretells, and advice set against real runs
	mkdir -p $(DATA)
	$(RUN) -m sparsync.experiments.studies.synchronisation.real_races --profile $(PROFILE) --output $(DATA)/real_races.json --store $(STORE)
	$(RUN) -m sparsync.experiments.studies.synchronisation.advice --profile $(PROFILE) --output $(DATA)/advice.json --store $(STORE)

gpu: $(TYPING) ## on a machine with a CUDA GPU: build, test, time and sanitize the kernel (OUT=build/gpu ONLY="build bench")
	@PYTHONPATH=$(CURDIR)/build/typing$${PYTHONPATH:+:$$PYTHONPATH} $(GPU_PYTHON) -m sparsync.experiments.gpu --output-folder $(OUT) \
	    $(if $(ONLY),--only $(ONLY))

wheel: $(STAMP) ## one wheel for this platform, the CPU library compiled inside, into dist/
	@$(RUN) -m sparsync.kernels.wheel_build --output-folder dist

artefact: $(STAMP) ## of a clean tree: all that is tracked, with digests, as one file in dist/
	@$(RUN) -m paper.artefact --output-folder dist

artefact-check: artefact ## unpack it into an empty folder, install it there and run the tests of ARTEFACT_TESTS
	rm -rf build/artefact
	mkdir -p build/artefact
	tar -xzf dist/sparsync-*.tar.gz -C build/artefact --strip-components 1
	cd build/artefact && sha256sum --quiet -c SHA256SUMS && $(MAKE) install && .venv/bin/python -m pytest -q -m "not slow" $(ARTEFACT_TESTS)

clean: ## remove everything that make made, the environment too
	rm -rf $(VENV) build dist *.egg-info paper/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
