# make quickstart: train, score and try a translator. make test: the whole suite. make fast: the tests of seconds.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: quickstart test fast lint compat clean

quickstart: $(VENV)/.installed
	rm -rf runs/quickstart
	$(RUN)/accelerate launch --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no \
		scripts/train.py configuration/quickstart.yaml

# The Space's tests use Debian's Chromium; where it cannot be installed they are skipped and say so.
test: $(VENV)/.installed lint
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 || true
	$(RUN)/pytest -m "slow or not slow"

fast: $(VENV)/.installed
	$(RUN)/pytest

lint: $(VENV)/.installed
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

# Throw-away environments with the oldest and the newest transformers; minutes, and downloads.
compat: $(VENV)/.installed
	$(RUN)/python tests/compatibility.py

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) runs build dist
