# Two commands do everything on a fresh machine with Python 3.11, pip and make:
#   make demo    sets up, then shows the product at work
#   make test    sets up, then runs the tests

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
COLD := .venv-cold/bin
# The tests of the cold zone run where TensorFlow is not installed. Those of the data run apart from the hot ones:
# in a process that has loaded TensorFlow, every worker that reads images starts a new interpreter instead of a fork.
COLD_TESTS := $(filter-out tests/test_contracts.py tests/test_zoo_quick.py,$(wildcard tests/test_*.py)) \
  $(addprefix tests/,board cli compatibility explain host journal notify printed report settings supervise)
DATA_TESTS := tests/test_contracts.py tests/data
HOT_TESTS := tests $(addprefix --ignore=,$(COLD_TESTS) $(DATA_TESTS))  # all others
# The tests of the cold zone mostly wait for processes that they started, the hot ones now and then. A file of hot
# tests stays in one worker, which builds its models once; files that are marked as long come first.
CORES := $(shell nproc 2>/dev/null || echo 2)
SPREAD_TESTS := --dist worksteal -n
SPREAD_FILES := --dist loadfile --no-loadscope-reorder -n

unexport PYTHONDONTWRITEBYTECODE  # hundreds of interpreters are started: each would compile the same files again
export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: setup demo test test-cold test-data test-hot test-jax browser docs lint bench proof proof-compatibility proof-generated \
  proof-object-detection-api proof-public-faults proof-public-programs proof-slurm proof-ray release clean

setup: .venv/ready .venv-cold/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps "tf_keras>=2.19"  # its own requirement is the large `tensorflow`
	jax=$$($(BIN)/python -c "import importlib.metadata as m; print(m.version('jax'))") && \
	  $(BIN)/python -m pip install --quiet --no-deps jax-cuda13-plugin==$$jax jax-cuda13-pjrt==$$jax  # to compile for a GPU
	touch $@

.venv-cold/ready: pyproject.toml
	$(PYTHON) -m venv .venv-cold
	$(COLD)/python -m pip install --quiet --upgrade pip
	$(COLD)/python -m pip install --quiet -e . pytest pytest-timeout pytest-xdist hypothesis playwright
	touch $@

demo: .venv/ready
	$(BIN)/holdfast demo

# The tests of the cold zone wait half of their time, which those of the data use; their lines are mixed.
test:
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line test-cold test-data
	@$(MAKE) --no-print-directory test-hot

test-cold: .venv-cold/ready browser
	$(COLD)/python -m pytest $(SPREAD_TESTS) $$(( 3 * $(CORES) )) -m "not proof and not hot" $(COLD_TESTS)

test-data: .venv/ready
	$(BIN)/python -m pytest $(SPREAD_TESTS) $(CORES) -m "not proof" $(DATA_TESTS)

test-hot: .venv/ready
	$(BIN)/python -m pytest $(SPREAD_FILES) $$(( $(CORES) + 1 )) -m "not proof" --durations=25 $(HOT_TESTS)

# JAX without TensorFlow, as `pip install "holdfast[jax]"` has it: the tests of the trainer run on JAX, and the
# commands as a user starts them. Compiled without optimisation, which takes a tenth of the time.
JAX := .venv-jax/bin
JAX_TESTS := tests/pipeline tests/step tests/settings tests/train
NOT_ON_JAX := tests/step/test_tensorflow_step.py tests/step/test_jax_step.py

.venv-jax/ready: pyproject.toml
	$(PYTHON) -m venv .venv-jax
	$(JAX)/python -m pip install --quiet --upgrade pip
	$(JAX)/python -m pip install --quiet -e ".[jax]" pytest pytest-timeout pytest-xdist hypothesis
	touch $@

test-jax: .venv-jax/ready
	! $(JAX)/python -c "import tensorflow" 2>/dev/null
	KERAS_BACKEND=jax JAX_PLATFORMS=cpu XLA_FLAGS=--xla_backend_optimization_level=0 $(JAX)/python -m pytest \
	  $(SPREAD_FILES) $(CORES) -m "not proof" $(JAX_TESTS) $(addprefix --ignore=,$(NOT_ON_JAX))
	$(JAX)/python -m pytest tests/train/test_on_jax_alone.py
	$(JAX)/python -m pytest "tests/train/checkpoint/test_resume_after_kill.py::test_killed_at_random_instants_it_ends_with_the_same_bits"

# The site in site/: Markdown by Sphinx and MyST, with a reference made from the code.
docs: .venv/docs-ready
	$(BIN)/sphinx-build --quiet --fresh-env -b html docs site
	@echo "site/index.html"

.venv/docs-ready: .venv/ready
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	touch $@

# The pages are tested in Debian's Chromium, which pip cannot bring. Where it may not be installed, those tests are
# skipped, and this says so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium for the tests of the pages"; \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium) \
	    >/dev/null 2>&1 || echo "chromium could not be installed: the tests of the pages are skipped"; \
	else echo "there is no chromium, and it cannot be installed here: the tests of the pages are skipped"; fi

lint: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Those that need a card, or a dataset that is not ours to ship, are started by hand: each says how in its first lines.
BENCHMARKS := $(filter-out benchmarks/h200% benchmarks/memory_h200.py benchmarks/bccd_by_colour.py,$(wildcard benchmarks/*.py))

bench: .venv/ready
	for file in $(BENCHMARKS); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

proof: .venv/ready
	$(BIN)/python -m pytest -m proof
	$(BIN)/python -m tests.zoo --all

# Builds some fifteen environments, 1 GB each, in build/compatibility (HOLDFAST_COMPATIBILITY_DIR puts them elsewhere).
proof-compatibility: .venv/ready
	$(BIN)/python -m tests.compatibility --page

# Programs that nobody has seen before, drawn from a new seed each time: how often the first verdict is right.
GENERATED_SEED ?= $(shell date +9%j%H%M)

proof-generated: .venv/ready
	$(BIN)/python -m tests.generated --seed $(GENERATED_SEED) --count 40 --kind faulty
	$(BIN)/python -m tests.generated --seed $(GENERATED_SEED) --count 20 --kind healthy

# Public faulty programs, fetched and never copied. The score half is for the end: it says how well Holdfast does on
# programs that nobody looked at.
PUBLIC_FAULTS ?= build/public-faults
proof-public-faults: .venv/ready
	@test -d $(PUBLIC_FAULTS)/packages || { \
	  echo "clone these into $(PUBLIC_FAULTS), or name another folder with PUBLIC_FAULTS=DIR:"; \
	  $(BIN)/python -c "from tests.public_faults.programs import *; print(*REPOSITORIES, sep='\n')" \
	    | sed 's#^#  git clone --depth 1 https://github.com/#'; \
	  echo "  pip install --target $(PUBLIC_FAULTS)/packages scikit-learn 'pandas<3' matplotlib seaborn"; exit 1; }
	$(BIN)/python -m tests.public_faults --sources $(PUBLIC_FAULTS) --half development
	$(BIN)/python -m tests.public_faults --sources $(PUBLIC_FAULTS) --half score

# SOURCES is a checkout of keras-team/keras-io. The scripts also need matplotlib, pandas, scikit-learn, imageio, gymnasium and
# keras-tuner; those whose packages are missing are listed as not counted.
proof-public-programs: .venv/ready
	$(BIN)/python -m tests.public_programs --sources $(SOURCES) --page docs/public-programs.md

# A real SLURM of four namespaces on this machine, set up and taken down again: what is said of a lost node, a time
# limit, a preemption and others, and whether the weights at the end are those of an undisturbed job. Root only.
proof-slurm: .venv/ready
	@command -v slurmctld >/dev/null || { apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends slurmctld slurmd slurm-client munge; }
	$(BIN)/python -m tests.slurm

# Data jobs and a training on two Ray nodes of this machine, with workers, nodes and commands killed.
proof-ray: .venv/ready
	$(BIN)/python -m pip install --quiet -e ".[ray]"
	$(BIN)/python -m tests.ray_cluster

# All of a release but the upload: wheel and sdist in dist/, checked, installed into empty environments of every Python
# from 3.11 on that is here, each extra resolved in the oldest and the newest, and the site without warnings.
# Upload: twine upload dist/*, to an index of your own: PyPI has another project of this name.
release: .venv/docs-ready
	$(BIN)/python -m pip install --quiet -e ".[release]"
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tests.release dist
	$(BIN)/sphinx-build --quiet --fresh-env --fail-on-warning --keep-going -b html docs site
	@echo "dist/ is ready to upload"

# MODELS is a checkout of tensorflow/models with its protocol buffers compiled, IMAGES a folder of images, API_PYTHON an
# interpreter with TensorFlow 2.15 and the API's packages. Nothing of the checkout is copied.
proof-object-detection-api: .venv/ready
	$(BIN)/python -m tests.object_detection_api.families --models $(MODELS)
	$(BIN)/python -m tests.object_detection_api.parity --models $(MODELS) --images $(IMAGES) --python $(API_PYTHON)

clean:
	rm -rf site dist docs/reference .venv .venv-cold .mypy_cache .ruff_cache .pytest_cache .hypothesis
