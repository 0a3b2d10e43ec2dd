#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the SYCL backend, on device sycl:0 (on machines without Intel GPUs: the CPU, through Intel's OpenCL runtime).
#
#   tools/test_sycl.sh all    installs Intel's runtime into .venv, builds the tests, runs everything
#   tools/test_sycl.sh part   a part, with what is built; says that it skips where the runtime is not installed
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-all}
case $mode in
  all | part) ;;
  *) echo "test_sycl: unknown mode '$mode'; use all or part" >&2 && exit 2 ;;
esac

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }

if [ "$mode" = all ] && ! cmp -s tools/requirements/sycl.txt .venv/.installed-sycl; then
  say "Installing Intel's SYCL runtime into .venv (480 MB to download, 1.5 GB on disk)"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tools/requirements/sycl.txt
  cp tools/requirements/sycl.txt .venv/.installed-sycl
fi
if [ ! -e .venv/lib/libsycl.so ]; then
  say "SYCL: skipped. Intel's runtime is not installed; \`make test-sycl\` installs it and runs these tests"
  exit 0
fi

export HALOCLINE_SYCL_ROOT=$PWD/.venv HALOCLINE_SYCL_CACHE=$PWD/build/sycl_cache HALOCLINE_TEST_DEVICE=sycl:0
if [ "$mode" = all ]; then
  cmake --preset cpu >/dev/null
  cmake --build --preset cpu --target halocline_unit_tests halocline_conformance_tests halocline_sycl_tests
fi

# Folder build/cpu is where C++ tests expect to run.
cpp() {
  say "$1"
  (cd build/cpu && "./$1" --gtest_brief=1 "--gtest_filter=$2")
}
python_tests() {
  HALOCLINE_GPU_TEST_DEVICE=sycl:0 .venv/bin/python -m pytest -q "$@"
}

if [ "$mode" = part ]; then
  cpp halocline_conformance_tests 'ElementwiseOps*:NttOps*.MatchDefinitionAndInvert:KeyOps*'
  python_tests python/tests/test_sycl.py python/tests/test_gpu_key_nodes.py -k 'test_sycl or benchmark'
  exit 0
fi
cpp halocline_conformance_tests '*Op*:JoinedConversion*:LargeBatches*:NegacyclicShift*:NttReduced*:TensorMatrix*:SupportTable*'
cpp halocline_sycl_tests '*'
cpp halocline_unit_tests 'Sycl*:*SealEvaluator*'
python_tests python/tests/test_sycl.py python/tests/test_gpu.py python/tests/test_gpu_client.py \
  python/tests/test_gpu_key_nodes.py \
  -k 'not timed_operations'
