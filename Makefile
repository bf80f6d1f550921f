# Every target prepares .venv by itself; nothing has to be installed by hand but Python 3.11 or newer.
# Another interpreter: make test PYTHON=/path/to/python3.12

PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
BIN := $(VENV)/bin

# Plots go to files: no window is ever opened.
export MPLBACKEND ?= Agg

.PHONY: help demo test test-slow browser lint docs bench reliability clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       train a small family of equations and show what came out"
	@echo "make test       lint, type check, the documents and the fast tests"
	@echo "make test-slow  the tests marked slow, pages in a browser among them"
	@echo "make lint       ruff and basedpyright"
	@echo "make docs       the documents as a site: open site/index.html"
	@echo "make bench      measure the time of a training step"
	@echo "make reliability  kills, damage, bad input: the figures of docs/reliability.md"
	@echo "make clean      remove .venv, caches and build products"

demo: $(INSTALLED)
	@$(BIN)/prism demo

# By file: tests of one file share runs, and xdist 3.8 ignores xdist_group under this pytest. In the order of
# tests/conftest.py, which begins with the longest file: else it comes last, with one core idle beside it.
test: lint docs
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Pages are tested in a real browser; where none can be installed, these tests are skipped and say so.
browser:
	@command -v chromedriver > /dev/null || \
	  { command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ] && \
	    apt-get update -qq && apt-get install -qq -y chromium chromium-driver > /dev/null; } || \
	  echo "no browser: install chromium and chromium-driver to test the pages" >&2

test-slow: $(INSTALLED) browser
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m slow

lint: $(INSTALLED)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright

docs: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(INSTALLED)
	@$(BIN)/python benchmarks/step_time.py

# What the guards cost is measured alone. The table is made of whatever was measured, also where a test failed.
reliability: $(INSTALLED)
	@status=0; \
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow -rP tests/reliability \
	  --ignore tests/reliability/test_guards.py || status=1; \
	$(BIN)/python -m pytest -m slow -rP tests/reliability/test_guards.py || status=1; \
	$(BIN)/python benchmarks/tables.py || status=1; exit $$status

clean:
	@rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" > /dev/null || { \
	  echo "PRISM needs Python 3.11 or newer, and '$(PYTHON)' is not a command here." >&2; \
	  echo "Name the interpreter: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "PRISM needs Python 3.11 or newer; '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1)." >&2; \
	  echo "Name a newer one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Preparing $(VENV) (once; a few minutes where packages have to be downloaded) ..."
	@"$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input \
	  --constraint constraints.txt --editable '.[dev]'
	@touch $@
