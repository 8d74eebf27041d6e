# `make help` lists the targets. Each creates .venv and installs what it needs first.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
PROFILE ?= quick
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
TYPING := build/typing/sparsync
# The smoke profile proves that the road is open; its numbers never replace the tracked ones.
DATA := $(if $(filter smoke,$(PROFILE)),build/smoke/data,paper/data)
GENERATED := $(if $(filter smoke,$(PROFILE)),build/smoke/generated,paper/generated)
# One arithmetic thread a process, so that results do not depend on the machine's core count.
export OMP_NUM_THREADS ?= 1
export MPLBACKEND := Agg
# Hundreds of short processes import the same modules: what one has compiled serves the others.
export PYTHONDONTWRITEBYTECODE :=
# sympy forgets after a thousand results of each function unless told not to; derivations ask for more, again and again.
export SYMPY_CACHE_SIZE ?= None
# PyTorch's code for AVX-512 rounds otherwise than that for AVX2, and not every processor has it.
AVX2 := $(if $(shell grep -om1 avx2 /proc/cpuinfo 2>/dev/null),ATEN_CPU_CAPABILITY=avx2)
# `make gpu` runs where nothing can be installed: a Python whose torch has CUDA, and a folder for all that it finds.
GPU_PYTHON ?= python3
OUT ?= build/gpu
GPU_TESTS = $(filter-out tests/kernels/test_native_build.py,$(wildcard tests/kernels/test_native*.py)) tests/kernels/cuda/test_native.py tests/experiments/studies/kernels/test_replay.py tests/experiments/test_simulate_cuda.py
GPU_PYTEST = -m pytest -q -n 4 -m "not slow" --timeout 30 --timeout-method thread
PRETEND = build/pretend-gpu
PRETEND_RUN = PYTHONPATH=build/typing $(PRETEND)/venv/bin/python -m
PRETEND_NEEDS = hypothesis mpmath numpy pooch psutil pytest pytest-timeout pytest-xdist rich sympy tyro
SANITIZED = sparsync.experiments.studies.kernels.checks --device cuda

.PHONY: help install demo check test test-all verify formal reproduce paper docs bench gpu pretend-gpu clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## create .venv and install sparsync with everything it uses

demo: $(STAMP) ## the first two minutes: train, race, check a theorem, and two pictures in build/demo
	@$(RUN) -m sparsync.experiments.demo --output-folder build/demo

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

check: $(STAMP) $(TYPING) ## ruff, mypy --strict and pyright
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy paper/figures.py paper/numbers.py tests
	$(VENV)/bin/pyright

test: $(STAMP) ## the tests, without the rare long ones
	$(RUN) -m pytest -n $(JOBS) --dist worksteal -m "not slow"

test-all: $(STAMP) ## every test
	$(RUN) -m pytest -n $(JOBS) --dist worksteal

verify: $(STAMP) ## check certificates and formal proofs, print the ledger (FRESH=1 or changed sources: run everything)
	mkdir -p $(DATA)
	$(RUN) -m sparsync.verify.ledger.command --profile $(PROFILE) --output $(DATA)/verify.json --formal build/formal --jobs $(JOBS) $(if $(filter-out 0,$(FRESH)),--fresh)
	$(RUN) verify/check_certificates.py $(DATA)/certificates

formal: $(STAMP) ## compile the Coq proofs (needs coqc) and list what they rest on
	mkdir -p $(DATA)
	$(RUN) -m sparsync.verify.formal.coq --output $(DATA)/formal.json --jobs $(JOBS)

# Nothing that an earlier run found is taken over, unless some of the studies alone are asked for.
reproduce: FRESH ?= $(if $(ONLY),0,1)
reproduce: $(STAMP) verify ## theorems, runs and figures (PROFILE=smoke|quick|full; ONLY="races budgets": these studies)
	$(if $(shell command -v coqc),$(RUN) -m sparsync.verify.formal.coq --folder build/formal --output $(DATA)/formal.json)
	$(if $(filter smoke,$(PROFILE)),test -e $(DATA)/formal.json || cp paper/data/formal.json $(DATA))
	$(AVX2) $(RUN) -m sparsync.experiments.reproduce --profile $(PROFILE) --data-folder $(DATA) --jobs $(JOBS) $(if $(ONLY),--only $(ONLY))
	$(if $(filter smoke,$(PROFILE)),$(RUN) -m sparsync.experiments.studies.kernels.study --profile smoke --output-folder $(DATA))
	$(if $(filter smoke,$(PROFILE)),$(RUN) -m sparsync.experiments.studies.synchronisation.engine_speed --output $(DATA)/engine_speed.json --workers 16 --steps 4)
	$(RUN) -m paper.figures --data-folder $(DATA) --output-folder $(GENERATED)
	$(RUN) -m paper.numbers --data-folder $(DATA) --output-folder $(GENERATED)

paper: $(STAMP) ## figures and numbers from paper/data, then build/paper/main.pdf (needs latexmk)
	@command -v latexmk >/dev/null || { echo "make paper needs latexmk (Debian: latexmk texlive-latex-extra texlive-science)" >&2; exit 1; }
	$(RUN) -m paper.figures --data-folder paper/data --output-folder paper/generated
	$(RUN) -m paper.numbers --data-folder paper/data --output-folder paper/generated
	cd paper && latexmk -pdf -interaction=nonstopmode -halt-on-error -outdir=../build/paper main.tex

docs: $(STAMP) ## ledger, proofs, timings and README's figure from paper/data, and the map of the folders, into tracked pages
	$(RUN) -m paper.write_docs --data-folder paper/data --docs-folder paper/docs
	$(RUN) -m paper.folder_map --output paper/docs/map.svg
	$(RUN) -m paper.figures --data-folder paper/data --output-folder paper/generated --only overview
	cp paper/generated/overview.png paper/overview.png

bench: $(STAMP) ## time of every selector, of the fused kernel against what PyTorch offers, of every policy's simulation
	mkdir -p $(DATA)
	$(RUN) -m sparsync.experiments.studies.selection.selection --profile $(PROFILE) --output $(DATA)/selection.json
	$(RUN) -m sparsync.experiments.studies.kernels.study --profile $(PROFILE) --output-folder $(DATA)
	$(RUN) -m sparsync.experiments.studies.synchronisation.engine_speed --output $(DATA)/engine_speed.json $(if $(filter smoke,$(PROFILE)),--workers 16 --steps 4)

# Every step runs, whatever became of the one before, and ends: a kernel that waits for ever costs its own test and no other.
# Interrupted, pytest still says what failed. Tests that need the GPU come first, and all of them have cuda in their names.
# compute-sanitizer sees allocations only if torch does not pool them, and would count entry points that torch asks for in
# vain as errors; a launch that fails ends the checks anyway. An interrupt ends it at once and leaves what it watches behind,
# so it is killed with all that it began; should anything outlive that, nobody waits for its output, and nothing more is timed.
gpu: $(TYPING) ## on a machine with a CUDA GPU: build, test, time and sanitize the kernel (OUT=build/gpu)
	@$(GPU_PYTHON) -c 'import sys, torch; torch.cuda.is_available() or sys.exit("make gpu needs a CUDA GPU: torch.cuda.is_available() is False")'
	@mkdir -p $(OUT)
	@failed=; ending="-s INT -k 15"; \
	attempt() { name=$$1; shift; echo "== $$name"; timeout $$ending "$$@" >"$(OUT)/$$name.log" 2>&1 </dev/null || failed="$$failed $$name"; cat "$(OUT)/$$name.log"; }; \
	export PYTHONPATH=$(CURDIR)/build/typing$${PYTHONPATH:+:$$PYTHONPATH} PYTHONUNBUFFERED=1; \
	attempt build 70 $(GPU_PYTHON) -m sparsync.kernels.native_build; \
	attempt cuda-tests 60 $(GPU_PYTHON) $(GPU_PYTEST) -k cuda $(GPU_TESTS); \
	attempt other-tests 50 $(GPU_PYTHON) $(GPU_PYTEST) -k "not cuda" $(GPU_TESTS); \
	attempt checks 40 $(GPU_PYTHON) -m $(SANITIZED); \
	attempt bench 140 $(GPU_PYTHON) -m sparsync.experiments.studies.kernels.study --profile full --device cuda --output-folder $(OUT); \
	ending="-s KILL"; \
	if command -v compute-sanitizer >/dev/null; then \
	  for tool in memcheck racecheck; do \
	    attempt $$tool 60 env PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool $$tool --kernel-name kns=sparsync --report-api-errors no --error-exitcode 1 $(GPU_PYTHON) -m $(SANITIZED) --few; \
	  done; \
	else echo "compute-sanitizer was not found" | tee $(OUT)/memcheck.log; fi; \
	test -z "$$failed" || { echo "make gpu: failed:$$failed" >&2; exit 1; }

# The oldest torch that sparsync serves, as built for CUDA: several gigabytes, so neither CI nor `make test` does this.
$(PRETEND)/venv/.installed: Makefile
	$(PYTHON) -m venv $(PRETEND)/venv
	$(PRETEND)/venv/bin/python -m pip install --quiet --disable-pip-version-check torch==2.11.0 $(PRETEND_NEEDS)
	touch $@

pretend-gpu: $(TYPING) $(PRETEND)/venv/.installed ## rehearse what gpu does, on a GPU that is not there (needs nvcc; installs 5 GB)
	$(PRETEND_RUN) pytest -q -n $(JOBS) -m "not slow" -p tests.pretend_gpu -k cuda $(GPU_TESTS) tests/test_pretend_operators.py
	$(PRETEND_RUN) tests.pretend_gpu $(SANITIZED)
	$(PRETEND_RUN) tests.pretend_gpu sparsync.experiments.studies.kernels.study --profile smoke --device cuda --output-folder $(PRETEND)

clean: ## remove everything that make made, the environment too
	rm -rf $(VENV) build dist *.egg-info paper/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
