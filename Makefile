# make quickstart: train, score and try a translator. make test: the test suite. make fast: the tests that take seconds.
# make long: thousands of trials of what must never fail, which take hours.
# make lint: ruff, mypy, import rules, codespell. make docs: the documentation site. make compat: oldest and newest transformers.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: quickstart test examples fast coverage long lint docs notebook compat common clean

quickstart: $(VENV)/.package
	rm -rf runs/quickstart
	$(RUN)/glossa train quickstart

# Without Chromium, the tests of pages are skipped and say so.
test: $(VENV)/.installed lint
	$(RUN)/pytest -n 2 --dist worksteal -m "not examples"

# The commands and programs of the pages in docs, each as a reader runs it.
examples: $(VENV)/.installed
	$(RUN)/pytest -n 2 --dist worksteal -m examples

fast: $(VENV)/.installed
	$(RUN)/pytest -n 2 --dist worksteal

# The share of the statements of each room that the tests of `make fast` run.
coverage: $(VENV)/.installed
	$(RUN)/pytest -n 2 --dist worksteal --cov=glossa --cov-report=json:build/coverage.json --cov-report=
	$(RUN)/python tests/coverage_by_room.py build/coverage.json

lint: $(VENV)/.installed
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports --no-cache
	$(RUN)/codespell
	$(RUN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(RUN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec configuration/launch/serve.compose.yaml
	$(RUN)/hadolint configuration/launch/*Dockerfile model_card/space/Dockerfile

# The documentation site in site/, with settings and API reference; any warning is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet

# docs/notebook.ipynb, with outputs, from docs/notebook.py, which is the file to edit. Trains for a minute.
notebook: $(VENV)/.docs
	rm -rf build/notebook && mkdir -p build/notebook
	$(RUN)/jupytext --quiet --to ipynb --execute --run-path $(CURDIR)/build/notebook docs/notebook.py
	$(RUN)/python docs/tidy_notebook.py

# Temporary environments with the oldest and the newest transformers; takes minutes, and downloads.
compat: $(VENV)/.installed
	$(RUN)/python tests/compatibility.py

# transformers' own tests of models and generation; TRANSFORMERS is a folder that contains its folder `tests`.
common: $(VENV)/.installed
	$(RUN)/pip install --quiet parameterized
	mkdir -p $(TRANSFORMERS)/tests/models/glossa
	touch $(TRANSFORMERS)/tests/models/glossa/__init__.py
	cp tests/transformers_common.py $(TRANSFORMERS)/tests/models/glossa/test_modeling_glossa.py
	cd $(TRANSFORMERS) && $(CURDIR)/$(RUN)/pytest -c /dev/null --rootdir . -p no:randomly -q -W ignore tests/models/glossa

# Thousands of damaged files and hostile requests, a hundred killed runs. `make long PARTS=readers` runs one part.
long: $(VENV)/.installed
	PYTHONPATH=tests $(RUN)/python -m torture $(PARTS)

$(VENV)/.package: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN)/pip install --quiet --no-compile -c constraints.txt -e .
	touch $@

$(VENV)/.installed: $(VENV)/.package
	$(RUN)/pip install --quiet --no-compile -c constraints.txt -e ".[dev]"
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(RUN)/pip install --quiet --no-compile -c constraints.txt -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) runs build dist site
