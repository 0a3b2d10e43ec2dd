# SPDX-License-Identifier: Apache-2.0
# The commands of this repository. Each one prepares what it needs (tools/bootstrap.sh) and reuses build/cpu.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

bin := .venv/bin
cxx_files = git ls-files -z '*.h' '*.hpp' '*.cpp' '*.cu' '*.cuh'

.PHONY: help demo build test test-cpp test-python test-examples test-wheel test-attack test-asan test-fuzz
.PHONY: test-sycl test-sycl-part
.PHONY: wheel bench cuda cuda-check test-gpu docs lint format stubs tidy clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

demo: build ## Build, then classify encrypted handwritten digits
	$(bin)/halocline run digits

build: ## Install system packages, make .venv, compile and install the package into it
	tools/bootstrap.sh demo

# The parts run in this order, one after the other, also under make -j.
test: ## Run everything: C++, Python, examples, attacks, sanitizers, fuzz targets
	tools/bootstrap.sh test
	$(MAKE) test-cpp
	$(MAKE) test-python
	$(MAKE) test-examples
	$(MAKE) test-wheel
	$(MAKE) test-attack
	$(MAKE) test-asan
	$(MAKE) test-fuzz
	$(MAKE) test-sycl-part

test-cpp: ## C++ unit, conformance and property tests, C++ examples (after `make test` once)
	cmake --preset cpu >/dev/null
	cmake --build --preset cpu
	ctest --preset cpu

test-python: ## Python tests, in two processes
	$(bin)/python -m pytest -n 2 --dist loadfile

test-examples: ## Numbered Python examples
	tools/run_examples.sh

wheel: build ## Wheel and source archive in dist/ (GPU wheel: make cuda, then tools/build_wheel.sh cuda)
	tools/build_wheel.sh cpu

test-wheel: ## The wheel in a clean environment, with numpy alone and with the command line (after `make test` once)
	tools/build_wheel.sh cpu
	tools/test_wheel.sh

test-attack: ## Two minutes of attacks on the whole product: forged files and plans, threads, forks, kills
	$(bin)/python tools/attack.py --seconds 120

test-asan: ## Unit and conformance tests built by clang with address and undefined-behaviour sanitizers
	cmake --preset asan >/dev/null
	cmake --build --preset asan
	UBSAN_OPTIONS=print_stacktrace=1 ctest --preset asan

test-fuzz: ## Fuzz targets, one minute in total (after test-asan)
	tools/run_fuzzers.sh 60

test-sycl: ## SYCL backend on the CPU device of Intel's OpenCL runtime: installs both (1.5 GB), runs everything
	tools/bootstrap.sh test
	tools/test_sycl.sh all

test-sycl-part: ## A part of it, where the runtime is installed (after `make test-sycl` once)
	tools/test_sycl.sh part

bench: ## Micro benchmarks
	tools/bootstrap.sh test
	cmake --preset cpu >/dev/null
	cmake --build --preset cpu --target halocline_bench
	build/cpu/halocline_bench

cuda: ## Build library, tests and package for GPUs too, in build/cuda (needs nvcc, no GPU)
	tools/bootstrap.sh cuda
	cmake --build --preset cuda

cuda-check: ## The part of `make cuda` that has CUDA code: library, package, GPU tests, device benchmarks
	tools/bootstrap.sh cuda
	cmake --build --preset cuda --target halocline halocline_cuda_tests halocline_gpu_tests halocline_kernel_bench \
	  halocline_bench_ratio halocline_ntt_bench

test-gpu: ## GPU tests (after `make cuda`; they skip themselves where there is no GPU)
	build/cuda/halocline_gpu_tests
	build/cuda/halocline_conformance_tests
	$(bin)/python -m pytest -m gpu

docs: ## Check doc comments, folder READMEs and links; build the API reference in build/docs/html
	python3 tools/check_docs.py
	tools/bootstrap.sh docs
	$(bin)/python tools/api_reference/build.py

lint: ## Layers, sizes, docs, language, formatting, Python types, spelling
	tools/bootstrap.sh tools
	$(bin)/python tools/check_layers.py
	$(bin)/python tools/check_sizes.py
	$(bin)/python tools/check_docs.py
	$(bin)/python tools/check_language.py
	$(bin)/python tools/update_results.py --check
	$(cxx_files) | xargs -0 $(bin)/clang-format --dry-run -Werror
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	git ls-files -z | xargs -0 $(bin)/codespell

format: ## Apply the C++ and Python formatters
	tools/bootstrap.sh tools
	$(cxx_files) | xargs -0 $(bin)/clang-format -i
	$(bin)/python tools/check_language.py --fix
	$(bin)/ruff check --fix-only
	$(bin)/ruff format

stubs: build ## Update the type stub of the extension module after a change of the bindings
	cp build/cpu/python/_core.pyi python/halocline/_core.pyi

tidy: ## clang-tidy over the library (minutes; not part of lint)
	tools/bootstrap.sh test
	$(bin)/python -m pip install --quiet --disable-pip-version-check -r tools/requirements/tidy.txt
	cmake --preset asan >/dev/null
	git ls-files -z 'cpp/src/*.cpp' | xargs -0 -n 1 -P "$$(nproc)" $(bin)/clang-tidy -p build/asan --quiet

clean: ## Remove builds and .venv
	rm -rf build .venv
