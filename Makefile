# Two commands do everything on a fresh machine with Python 3.11, pip and make:
#   make demo    sets up, then shows the product at work
#   make test    sets up, then runs the tests

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
COLD := .venv-cold/bin
# The tests of the cold zone run where TensorFlow is not installed; the contracts in both places.
COLD_TESTS := tests/test_errors.py tests/test_contracts.py tests/cli tests/explain tests/journal tests/report tests/settings tests/supervise
HOT_TESTS := tests/test_contracts.py tests/data tests/detectors tests/evaluate tests/pipeline tests/probe tests/train tests/test_zoo_quick.py

export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: setup demo test test-cold test-hot lint bench proof clean

setup: .venv/ready .venv-cold/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps "tf_keras>=2.19"  # its own requirement is the large `tensorflow`
	touch $@

.venv-cold/ready: pyproject.toml
	$(PYTHON) -m venv .venv-cold
	$(COLD)/python -m pip install --quiet --upgrade pip
	$(COLD)/python -m pip install --quiet -e . pytest pytest-timeout hypothesis
	touch $@

demo: .venv/ready
	$(BIN)/holdfast demo

test: test-cold test-hot

test-cold: .venv-cold/ready
	$(COLD)/python -m pytest -m "not proof and not hot" $(COLD_TESTS)

test-hot: .venv/ready
	$(BIN)/python -m pytest -m "not proof" --durations=25 $(HOT_TESTS)

lint: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

proof: .venv/ready
	$(BIN)/python -m pytest -m proof
	$(BIN)/python -m tests.zoo --all

clean:
	rm -rf .venv .venv-cold .mypy_cache .ruff_cache .pytest_cache .hypothesis
