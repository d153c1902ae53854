# Each target does its own set-up; on a fresh machine `make book` or `make test` is all there is to type.
#   PYTHON=python3.12   which Python to use (3.11 gets the locked versions, others the newest allowed)
#   VENV=.venv          where its packages go
#   JOBS=2              how many notebooks or test files run at once
#   TURN=0              a number that counts on: `make test` runs another third of the notebooks with inputs
#                       moved by 1e-13, and opens another ninth of the pages in the browser, each turn
#   SLOW=1              `make test` with the slow tests as well
#   WEEKLY=1            and with those that run page after page in the browser's own Python

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2

LOCK := .locks/py311.txt
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
PYTEST := $(PY) -m pytest
NBVAL := -p tools.nbval_plugin --nbval --nbval-current-env --nbval-sanitize-with=tools/nbval_sanitize.cfg \
	--nbval-cell-timeout=120
LIBRARY = $(wildcard ismlit/*.py ismlit/*/*.py ismlit/*/*/*.py)
LINT = $(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m mypy && \
	$(PY) -m numpydoc.cli lint $(LIBRARY)
QUICK := $(if $(SLOW),, and not slow)$(if $(WEEKLY),, and not weekly)
CELLS := $(if $(SLOW),,-m "not slow")
CORE := kernels pairs gamma plain frames second_order lbfgs starts bandwidth
SEED ?= 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book lab pdf offline test quick rounding anywhere notebooks experiments bench mutants sabotage lint format lock clean

# Several kernels share the cores, so each computes with one BLAS thread.
book lab test rounding notebooks: export OMP_NUM_THREADS ?= 1

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

book: $(STAMP) ## execute every notebook, build the book, say where to open it
	$(PY) -m tools.build_book --execute --jobs $(JOBS)

lab: $(STAMP) ## open the notebooks in JupyterLab
	$(PY) -m jupyterlab --ServerApp.contents_manager_class=tools.lab.Contents book/intro.ipynb

pdf: $(STAMP) ## print the built book as PDF, by pages and as one file (needs Chromium)
	$(PY) -m tools.print_book

offline: $(STAMP) ## pack the built book into a zip, to be read without a network
	$(PY) -m tools.offline

test: $(STAMP) ## lint, tests, notebooks against their stored outputs, book, browser
	$(LINT)
	$(PYTEST) -n $(JOBS) --dist loadscope -m "not browser$(QUICK)"
	@echo "the notebooks; beside them the book is built"
	$(PY) -m tools.build_book > $(VENV)/book.log 2>&1 & book=$$!; \
	$(PYTEST) -n $(JOBS) --dist loadscope $(if $(TURN),-p tools.rounding --third $$(($(TURN) % 3))) $(NBVAL) $(CELLS) book; \
	cells=$$?; wait $$book || { cat $(VENV)/book.log; exit 1; }; exit $$cells
	$(PYTEST) -n $(JOBS) --dist loadgroup -m "browser$(QUICK)" tests/browser

quick: $(STAMP) ## lint and the tests of the core, in under a minute: while you work
	$(LINT)
	$(PYTEST) -q -n $(JOBS) -m "not slow" $(addprefix tests/library/test_,$(addsuffix .py,$(CORE)))

rounding: $(STAMP) ## the notebooks with inputs moved by 1e-13: what changes hangs on rounding
	$(PYTEST) -n $(JOBS) --dist loadscope -p tools.rounding $(NBVAL) $(CELLS) book

anywhere: $(STAMP) ## tests and notebooks on every kind of processor (ARGS="--cores Haswell")
	$(PY) -m tools.anywhere --jobs $(JOBS) $(ARGS)

notebooks: $(STAMP) ## execute every notebook in place and store its outputs
	$(PY) -m tools.execute_notebooks --jobs $(JOBS) $(NB)

experiments: $(STAMP) ## recompute the tables of the thesis (ARGS="table-5.4 --quick")
	$(PY) -m ismlit_book.experiments $(ARGS)

bench: $(STAMP) ## time the library and compare (ARGS)
	$(PY) -m tools.bench $(ARGS)

mutants: $(STAMP) ## mutate the library with mutmut: do its tests notice? (MUTANTS="ismlit.gamma*")
	$(PIP) --no-build-isolation -e '.[mutants]'
	OMP_NUM_THREADS=1 $(PY) -m mutmut run --max-children $(JOBS) $(MUTANTS)
	$(PY) -m mutmut results

sabotage: $(STAMP) ## falsify the formulas behind each claim: do the checks notice? (SEED=1 ARGS)
	$(PY) -m tools.sabotage --seed $(SEED) --store $(ARGS)

lint: $(STAMP) ## only the linter, the formatter's check and the types
	$(LINT)

format: $(STAMP) ## let the formatter and the linter mend what they can
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lock: ## write the lock of Python 3.11 (UPGRADE=--upgrade for newer versions; needs uv)
	uv pip compile book/pyproject.toml --extra site --extra test --universal --python-version 3.11 \
		--no-emit-package ismlit --generate-hashes --no-header --no-annotate $(UPGRADE) --quiet --output-file $(LOCK)

clean: ## remove what was built; the environment, MathJax and the Python for browsers stay
	rm -rf _build dist mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find book ismlit tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml book/pyproject.toml $(LOCK)
	@command -v $(PYTHON) >/dev/null || \
		{ echo "error: no $(PYTHON) here; ismlit needs Python 3.11 or newer (make PYTHON=...)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: ismlit needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1); try make PYTHON=python3.11" >&2; exit 1; }
	@echo "setting up $(VENV) (a minute or two)"
	$(PYTHON) -m venv $(VENV)
	@if $(PY) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then set -ex; \
		$(PIP) --no-deps --require-hashes -r $(LOCK); \
		$(PIP) --no-deps --no-build-isolation -e . -e ./book; \
	else set -ex; \
		$(PIP) 'hatchling>=1.27'; \
		$(PIP) --no-build-isolation -e '.[test,lint]' -e './book[site,test]'; \
	fi
	@touch $@
