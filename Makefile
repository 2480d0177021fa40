# `make demo` shows the product, `make test` tests it. Each target sets up what it needs, once.
.DEFAULT_GOAL := help
.PHONY: help demo test test-all agentdojo check docs clean
VENV ?= .venv
export VENV
PY := $(VENV)/bin/python
# The current folder must not make bare names such as `filters` importable.
export PYTHONSAFEPATH := 1
# Hundreds of tests start programs: without this each of them would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# `make test ALL=1` adds those over AgentDojo and with a local model, as CI runs them; `make test-all` the nightly ones too.
ifdef ALL
TEST_EXTRAS := test agentdojo classifier localmodel names
ifdef NIGHTLY
SELECT :=
else
SELECT := -m "not nightly"
endif
else
TEST_EXTRAS := test
SELECT := -m "not agentdojo and not localmodel and not nightly"
endif

help:
	@echo "make demo       a poisoned mailbox, without and with Checkvalve"
	@echo "make test       the tests"
	@echo "make test-all   the tests in their long forms too, and those over AgentDojo and with a local model"
	@echo "make agentdojo  the whole AgentDojo table with a hijacked model"
	@echo "make check      format, style, import contracts, types, generated pages, tests with coverage"
	@echo "make docs       write the generated pages"
	@echo "make clean      remove what these made"

demo:
	@scripts/setup langchain
	@$(PY) -m checkvalve.corpora.demo

test:
	@scripts/setup $(TEST_EXTRAS)
	@scripts/system-packages
	@echo "[checkvalve] running the tests"
	@$(PY) -m pytest -n auto --dist loadfile $(SELECT) $(ARGS)

test-all:
	@$(MAKE) --no-print-directory test ALL=1 NIGHTLY=1

agentdojo:
	@scripts/setup langchain agentdojo
	@$(VENV)/bin/checkvalve corpus run agentdojo --profile strict --guard all --mode both $(ARGS)

check:
	@scripts/setup dev agentdojo
	@scripts/system-packages
	@PYTHON=$(PY) scripts/check $(ARGS)

docs:
	@scripts/setup dev
	@$(PY) scripts/generate_docs.py

clean:
	rm -rf $(VENV) .dev build dist *.egg-info .coverage .coverage.* demo-data
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
