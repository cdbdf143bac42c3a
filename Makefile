# Two commands do everything: `make demo` and `make test`. Both create .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check
# Everything that a lock pins, by its hashes, and then takeup itself, which needs nothing more.
INSTALL = $(BIN)/python $(PIP) --require-hashes --requirement $(1) && \
	$(BIN)/python $(PIP) --no-deps --no-build-isolation --editable . && $(BIN)/python -m compileall -q src
TOOLS := build/tools
UPGRADE ?= --upgrade
# Tests start many processes: each would compile all of takeup where bytecode is not kept.
export PYTHONDONTWRITEBYTECODE :=
COMPILE = $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header

.PHONY: help demo test test-changed defects build lock sbom audit-dependencies validation browser screenshots long lint peers bench bench-service bench-ingest bench-pages gates fuzz dask-torture robust \
	choosing coverage-grid covariates stroke-covariates diagnostics promises docs clean

help:
	@echo "make demo    install takeup and run its demonstration"
	@echo "make test    install everything, check style, types and layers, run the whole test suite"
	@echo "make test AREA=analysis   the tests of one area alone, or of several, without lint: see tests/areas.py"
	@echo "make test-changed   the tests that a change touches by what they import, the nearest first; SINCE=COMMIT for more than is uncommitted"
	@echo "make defects   how many of the seeded defects of benchmarks/defects.toml the suite catches: an hour or more; ONLY=NAME one, NEAR=1 by the nearest tests alone, COMMIT=.."
	@echo "make browser   install Debian's chromium for the tests of the pages, as root"
	@echo "make screenshots   the pictures of the pages in docs/images"
	@echo "make long    the tests that take minutes each"
	@echo "make peers   the tests against other libraries of bandits, instrumental variables and posteriors"
	@echo "make lint    style, types and layers alone"
	@echo "make bench   the benchmarks whose figures are in docs/benchmarks.md"
	@echo "make bench-service   the service under load, on both databases: the figures in docs/reliability.md (half an hour)"
	@echo "make gates   all gates of this commit, and docs/gates.md from what they find: eight hours, so with &; ONLY=NAME one, LIST=1 their names and times, SCALE=0.01 a hundredth, which is not written down"
	@echo "make fuzz   200,000 specs, bodies and requests by chance against a service (an hour or more)"
	@echo "make dask-torture   a sweep of 1,000 cells on 20 Dask workers, one of which is killed"
	@echo "make bench-pages   what pages cost: the figures in docs/reliability.md (ten minutes)"
	@echo "make robust   the figures of docs/robust.md: half an hour on two cores"
	@echo "make covariates   regret with covariates, the table of docs/policies.md: a quarter of an hour on a core"
	@echo "make stroke-covariates FILE=IST_corrected.csv   proposals by covariates in the stroke trial, the tables of docs/datasets.md: half an hour on two cores"
	@echo "make coverage-grid   how often intervals hold the truth with several contexts, covariates and skewed numbers: docs/intervals.md (half an hour on a core)"
	@echo "make choosing   the tables of docs/choosing.md: half an hour on two cores"
	@echo "make diagnostics   false alarms and power of the diagnostics: docs/benchmarks.md"
	@echo "make promises   the picture of the README: size against what is promised of those who refuse"
	@echo "make build   wheel and source distribution in build/dist, the same whenever and wherever a commit is built"
	@echo "make lock   renew all pins and their hashes; with UPGRADE= add what is new and keep the others"
	@echo "make sbom   build/sbom.json: what .venv has, as CycloneDX"
	@echo "make audit-dependencies   known vulnerabilities of what trials run with, by pip-audit"
	@echo "make validation   the tables of docs/validation.md, from requirements and the markers of tests"
	@echo "make docs   the documentation as a site, build/site/index.html, and its tests"
	@echo "make clean   remove the virtual environment and caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "takeup needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "python could not create $(VENV); on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 2; }

$(VENV)/.core: $(BIN)/python pyproject.toml locks/core.lock
	$(call INSTALL,locks/core.lock)
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml locks/dev.lock
	$(call INSTALL,locks/dev.lock)
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/takeup demo

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

ifeq ($(origin AREA),command line)
test: $(VENV)/.dev browser
	@files=$$($(BIN)/python tests/areas.py $(AREA)) && $(BIN)/pytest $$files
else
test: lint browser
	$(BIN)/pytest
endif

test-changed: $(VENV)/.dev browser
	@files=$$($(BIN)/python tests/areas.py --changed --since "$(or $(SINCE),HEAD)") && \
		if [ -n "$$files" ]; then $(BIN)/pytest $$files; else echo "no test is touched"; fi

defects: $(VENV)/.dev browser
	PYTHONPATH=tests $(BIN)/python benchmarks/defects.py $(foreach name,$(ONLY),--only $(name)) \
		--commit $(or $(COMMIT),HEAD) $(if $(NEAR),--near,--long)

browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; \
		else \
			echo "no chromium: the tests of the pages will be skipped; as root: apt-get install chromium"; \
		fi

screenshots: $(VENV)/.dev browser
	TAKEUP_IMAGES=docs/images $(BIN)/pytest --numprocesses=0 -m "long or not long" tests/test_pages_story.py \
		tests/test_pages_people_browser.py tests/test_pages_worklist_browser.py tests/test_pages_learnt.py

long: $(VENV)/.dev
	$(BIN)/pytest -m long

$(VENV)/.bench: $(VENV)/.dev locks/bench.lock
	$(call INSTALL,locks/bench.lock)
	@touch $@

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/importing.py
	$(BIN)/python benchmarks/meanfield.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/covariate_engines.py

peers: $(VENV)/.bench
	$(BIN)/pytest tests/test_peers*.py

bench-service: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python benchmarks/service.py
	PYTHONPATH=tests $(BIN)/python benchmarks/edge.py --only pace

bench-ingest: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python benchmarks/ingest.py

gates: $(VENV)/.dev
	@mkdir -p build && at=$$(mktemp -d $(CURDIR)/build/gates.XXXXXX) && git clone --quiet . $$at && trap "rm -rf $$at" EXIT && \
		cd $$at && PYTHONPATH=src:tests:benchmarks $(abspath $(BIN))/python -m gates $(foreach name,$(ONLY),--only $(name)) \
		$(if $(LIST),--list) --scale $(or $(SCALE),1) --results $(CURDIR)/$(if $(SCALE),build/gates-results,gates/results) \
		$(if $(SCALE),,--write $(CURDIR)/docs/gates.md) </dev/null

fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python benchmarks/fuzz.py

dask-torture: $(VENV)/.dev
	$(BIN)/python benchmarks/cluster.py

bench-pages: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python benchmarks/pages.py

robust: $(VENV)/.dev
	$(BIN)/python benchmarks/robust.py

covariates: $(VENV)/.dev
	$(BIN)/python benchmarks/covariates.py

stroke-covariates: $(VENV)/.dev
	$(BIN)/python benchmarks/stroke_covariates.py $(or $(FILE),../shared/data/ist.csv.gz)

coverage-grid: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python benchmarks/coverage_grid.py

choosing: $(VENV)/.dev
	$(BIN)/python benchmarks/choosing.py

diagnostics: $(VENV)/.dev
	$(BIN)/python benchmarks/diagnostics.py

promises: $(VENV)/.dev
	$(BIN)/python benchmarks/promises.py

$(VENV)/.docs: $(VENV)/.dev locks/docs.lock
	$(call INSTALL,locks/docs.lock)
	@touch $@

$(TOOLS)/.made: locks/tools.lock
	@rm -rf $(TOOLS) && $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python $(PIP) --require-hashes --requirement locks/tools.lock
	@touch $@

lock: $(TOOLS)/.made
	$(COMPILE) $(UPGRADE) pyproject.toml --all-extras --group build --output-file requirements.lock
	$(COMPILE) $(UPGRADE) --generate-hashes --group tools --output-file locks/tools.lock
	for each in "core --extra sim --extra server --extra postgres" "dev --extra dev" "docs --extra dev --extra docs" \
			"bench --extra dev --extra bench"; do \
		set -- $$each; name=$$1; shift; \
		$(COMPILE) $(UPGRADE) --generate-hashes pyproject.toml "$$@" --group build --constraint requirements.lock \
			--output-file locks/$$name.lock || exit 1; \
	done

# From the commit alone, whatever else lies in the folder, and however git is to write ends of lines here.
build: $(VENV)/.core
	@rm -rf build/dist build/tree && mkdir -p build/tree
	git -c core.autocrlf=false -c core.eol=lf archive HEAD | tar -x -C build/tree
	cd build/tree && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct HEAD) $(abspath $(BIN))/python -m hatchling build --directory ../dist
	@rm -rf build/tree
	@cd build/dist && sha256sum *

sbom: $(VENV)/.core $(TOOLS)/.made
	$(TOOLS)/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible \
		--output-format JSON --output-file build/sbom.json

audit-dependencies: $(TOOLS)/.made
	@$(PYTHON) tests/audited.py $(TOOLS)/bin/pip-audit locks/core.lock build/audit

validation: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python tests/traceability.py

docs: $(VENV)/.docs browser
	$(BIN)/mkdocs build
	TAKEUP_SITE=build/site $(BIN)/pytest --numprocesses=0 tests/test_site.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build
