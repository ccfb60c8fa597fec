PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest

.PHONY: demo test test-slow test-all test-oldest coverage lint docs bench clean

# Each stamp depends on pyproject.toml, so a changed dependency reinstalls.
$(VENV)/.cli: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e ".[desk]"
	@touch $@

$(VENV)/.dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@ $(VENV)/.cli

demo: $(VENV)/.cli
	$(BIN)/hesitant demo --force

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

# Damaged files, hard data, killed processes, browsers, coverage by simulation: what takes long.
test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

test-all: test test-slow

# Lines and branches that the tests run, and those that none does.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term-missing

# With the lowest versions that pyproject.toml declares, and no others of those packages.
$(OLDEST)/.done: pyproject.toml
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct -e ".[test]"
	@$(OLDEST)/bin/python .ci/floors.py
	@touch $@

test-oldest: $(OLDEST)/.done
	$(OLDEST)/bin/python -m pytest -n 2 --dist worksteal -m "not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(OLDEST) demo
