# `make demo` and `make test` need nothing but Python 3.11+ and make; both build their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TOOLS := .venv-tools
DOCS := .venv-docs
RELEASE := .venv-release

# Bytecode is kept: without it every process of the tests compiles the package, the tests and their plugins anew.
unexport PYTHONDONTWRITEBYTECODE

# Most of what is installed is never imported: the rest is compiled when it is.
INSTALL = $(BIN)/pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
define MAKE_VENV
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tripleshot needs Python 3.11 or newer")'
$(PYTHON) -m venv $(VENV)
endef

LINT = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo && $(BIN)/pyrefly check

.PHONY: demo test test-thorough test-cluster docs lint browser format container locks verify release-check sbom audit clean

demo: $(VENV)/.installed
	$(BIN)/tripleshot demo

# Two things at a time: chromium is installed beside the packages, and the checks of `lint` run beside the tests.
test:
	@$(MAKE) --no-print-directory browser & $(MAKE) --no-print-directory $(VENV)/.installed-for-tests; made=$$?; \
	wait; exit $$made
	@{ $(LINT); } >$(VENV)/lint.txt 2>&1 & lint=$$!; \
	$(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist worksteal; tests=$$?; \
	wait $$lint; lint=$$?; cat $(VENV)/lint.txt; exit $$((tests || lint))

# The tests that make up their inputs, with twenty times as many of them.
test-thorough: $(VENV)/.installed-for-tests
	$(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist worksteal --hypothesis-profile thorough

# Ray takes 240 MB and starts a dozen processes: a cluster of two nodes is tested apart.
test-cluster: $(VENV)/.installed-for-tests
	$(INSTALL) --editable '.[ray]'
	$(BIN)/pytest tests/workers/test_ray_cluster.py

# The documentation site, in site/; a link that leads nowhere is an error.
docs: $(DOCS)/.installed
	$(DOCS)/bin/python scripts/build_site.py

# The page is tested in a real browser; where none can be installed, those tests say that they were skipped.
browser:
	@command -v chromium >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; } || \
	echo "no chromium: the tests of the page will be skipped"

lint: $(VENV)/.installed-for-tests
	$(LINT)

format: $(VENV)/.installed-for-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The service as an image, by podman or docker; TORCH=yes adds the methods that need torch.
TORCH ?= no
VERSION ?= $(shell git describe --tags --exact-match --match 'v*' 2>/dev/null | cut -c 2-)
ARGUMENTS = --build-arg TORCH=$(TORCH) --build-arg VERSION=$(VERSION) --tag tripleshot
container:
	@if command -v podman >/dev/null; then podman build --format docker $(ARGUMENTS) .; \
	elif command -v docker >/dev/null; then docker build --file Containerfile $(ARGUMENTS) .; \
	else echo "building a container needs podman or docker" >&2; exit 1; fi

# Hashes of all packages, for the versions of constraints.txt; needs the network.
locks: $(TOOLS)/.installed
	$(TOOLS)/bin/python scripts/lock_packages.py

# The service from packages whose hashes are right, and nothing else; it has to answer a question.
verify:
	rm -rf .venv-verified
	$(PYTHON) -m venv .venv-verified
	.venv-verified/bin/pip install --quiet --require-hashes --only-binary :all: --requirement locks/serve.txt
	.venv-verified/bin/pip install --quiet --require-hashes --only-binary :all: --requirement locks/build.txt
	.venv-verified/bin/pip install --quiet --no-deps --no-build-isolation .
	.venv-verified/bin/tripleshot ask atlas --method evidence --top 1 \
	--example "Barcelona | Mediterranean Sea" --example "Odesa | Black Sea" --head "city/baku-az"

# Source distribution and wheel in dist/; docs/releasing.md says what is checked about them.
release-check: $(RELEASE)/.installed
	$(RELEASE)/bin/python scripts/check_release.py

# What is installed, with licenses and dependencies, as a CycloneDX document.
sbom: $(VENV)/.installed $(TOOLS)/.installed
	mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	--output-file dist/sbom.cdx.json $(BIN)/python
	@echo dist/sbom.cdx.json

audit: $(TOOLS)/.installed
	$(TOOLS)/bin/python scripts/audit_packages.py locks/serve.txt locks/torch.txt

$(TOOLS)/.installed: locks/tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --require-hashes --only-binary :all: --requirement locks/tools.txt
	touch $@

$(VENV)/.installed: pyproject.toml constraints.txt
	$(MAKE_VENV)
	$(INSTALL) --editable '.[serve]'
	touch $@

$(VENV)/.installed-for-tests: pyproject.toml constraints.txt
	$(MAKE_VENV)
	$(INSTALL) --editable '.[test]'
	touch $(VENV)/.installed $@

$(DOCS)/.installed: locks/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --require-hashes --only-binary :all: --requirement locks/docs.txt
	touch $@

$(RELEASE)/.installed: locks/release.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install --quiet --require-hashes --only-binary :all: --requirement locks/release.txt
	touch $@

clean:
	rm -rf $(VENV) $(TOOLS) $(DOCS) $(RELEASE) .venv-verified build dist site .pytest_cache .ruff_cache .hypothesis
