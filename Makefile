# `make demo` and `make test` need nothing but Python 3.11+ and make; both build their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint browser format clean

demo: $(VENV)/.installed
	$(BIN)/tripleshot demo

test: lint browser
	$(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist worksteal

# The page is tested in a real browser; where none can be installed, those tests say that they were skipped.
browser:
	@command -v chromium >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; } || \
	echo "no chromium: the tests of the page will be skipped"

lint: $(VENV)/.installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.installed-for-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tripleshot needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[serve]'
	touch $@

$(VENV)/.installed-for-tests: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
