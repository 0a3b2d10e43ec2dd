#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prepares a machine and a checkout: system packages, .venv with pinned Python packages, and the library.
#
#   tools/bootstrap.sh tools    what lint needs: .venv with the development packages, no compiler
#   tools/bootstrap.sh system   system packages to compile the library, nothing else
#   tools/bootstrap.sh demo     what the demo needs: library and Python package, installed into .venv
#   tools/bootstrap.sh test     the same, plus test libraries, clang with its sanitizers, development packages
#   tools/bootstrap.sh docs     library and Python package, and Sphinx for the API reference
#   tools/bootstrap.sh cuda     library and Python package with the CUDA backend, in build/cuda, and libraries for tests
#                               and benchmarks
#
# The C++ library is compiled once, in build/cpu: the Python package is installed from that build tree (editable),
# and the tests are configured in it. PYTHON=/path/to/python3 chooses the interpreter of .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-demo}
python=${PYTHON:-python3}
case $mode in
  tools | system | demo | test | docs | cuda) ;;
  *) echo "bootstrap: unknown mode '$mode'; use tools, system, demo, test, docs or cuda" >&2 && exit 2 ;;
esac

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
fail() { printf 'bootstrap: %s\n' "$*" >&2 && exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
# True when a header is found by the C++ compiler.
header() { have g++ && echo "#include <$1>" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1; }
# True when clang links a program with the given sanitizers.
clang_links() {
  local out status=0
  out=$(mktemp)
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -x c++ - "$1" -o "$out" >/dev/null 2>&1 || status=1
  rm -f "$out"
  return $status
}

check_python() {
  have "$python" || fail "no '$python' on the PATH; Python 3.10 or newer is needed"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$("$python" --version 2>&1) is too old; Python 3.10 or newer is needed. Set PYTHON=/path/to/python3"
}

# Prints the names (Debian, Ubuntu) of the packages that this mode needs and this machine lacks.
missing_packages() {
  "$python" -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
  [ "$mode" != tools ] || return 0
  have cmake || echo cmake
  have ninja || echo ninja-build
  have g++ || echo g++
  have pkg-config || echo pkg-config
  "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' || echo python3-dev
  header hwy/highway.h || echo libhwy-dev
  header sodium.h || echo libsodium-dev
  header xxhash.h || echo libxxhash-dev
  header boost/multiprecision/cpp_int.hpp || echo libboost-dev
  [ "$mode" = test ] || [ "$mode" = cuda ] || return 0
  header gtest/gtest.h || echo libgtest-dev
  header gmock/gmock.h || echo libgmock-dev
  header benchmark/benchmark.h || echo libbenchmark-dev
  header CLI/CLI.hpp || echo libcli11-dev
  [ "$mode" = test ] || return 0
  have clang++ || echo clang
  have nginx || [ -x /usr/sbin/nginx ] || echo nginx-light
  clang_links -fsanitize=fuzzer,address,undefined || clang_runtime_package
}

# The sanitizer runtime's package carries clang's version in its name.
clang_runtime_package() {
  local version
  version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
  [ -z "$version" ] || echo "libclang-rt-$version-dev"
}

# Packages without which everything builds and works, only slower.
optional_packages() {
  [ "$mode" = tools ] || header liburing.h || echo liburing-dev # the file tier then uses threads
  [ "$mode" = tools ] || header curl/curl.h || echo libcurl4-openssl-dev # key stores are then folders only
  [ "$mode" = tools ] || header zlib.h || echo zlib1g-dev # files of SEAL are then read and written without zlib
  [ "$mode" = tools ] || header zstd.h || echo libzstd-dev # or without zstd
  [ "$mode" != test ] || have ccache || echo ccache # the builds of wheels and for GPUs then compile everything again
}

install_packages() {
  local missing optional sudo=""
  mapfile -t missing < <(missing_packages)
  mapfile -t optional < <(optional_packages)
  [ $((${#missing[@]} + ${#optional[@]})) -gt 0 ] || return 0
  have apt-get || [ ${#missing[@]} -eq 0 ] ||
    fail "missing: ${missing[*]} (Debian package names). Install them with your package manager."
  if [ "$(id -u)" -ne 0 ]; then
    if have sudo && sudo -n true 2>/dev/null; then
      sudo="sudo"
    elif [ ${#missing[@]} -gt 0 ]; then
      fail "missing system packages, and no right to install them. Run this, then try again:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]} ${optional[*]}"
    fi
  fi
  if ! have apt-get || { [ "$(id -u)" -ne 0 ] && [ -z "$sudo" ]; }; then
    say "Going on without ${optional[*]}, which would make it faster"
    return 0
  fi
  say "Installing system packages: ${missing[*]} ${optional[*]}"
  $sudo apt-get update -qq || [ ${#missing[@]} -eq 0 ]
  # The list is made again: names that depend on the package index are known only now.
  mapfile -t missing < <(missing_packages)
  apt_install "$sudo" "${missing[@]}"
  apt_install "$sudo" "${optional[@]}" || say "Going on without ${optional[*]}, which would make it faster"
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] || fail "still missing after apt-get install: ${missing[*]}"
}

# Installs the packages that follow the first argument: nothing, or "sudo".
apt_install() {
  local sudo=$1
  shift
  [ $# -eq 0 ] ||
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Makes .venv and installs a pinned list, unless this very list is already in it.
install_python_packages() {
  local list=tools/requirements/$1.txt stamp=.venv/.installed-$1
  if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    say "Creating .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv
  fi
  if ! cat tools/requirements/*.txt | cmp -s - "$stamp"; then
    say "Installing Python packages of $list"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$list"
    cat tools/requirements/*.txt >"$stamp"
  fi
}

# Compiles the library and the extension module in a build folder, then installs the package from there into .venv.
# The compilation is a step of its own because pip would hide its progress.
build_package() {
  local folder=$1
  say "Building in $folder"
  [ -f "$folder/build.ninja" ] ||
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHALOCLINE_PYTHON=ON \
      -DPython_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
  cmake --build "$folder" --target halocline_python
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --config-settings=build-dir="$folder" --editable .
}

# The same with the CUDA backend; the package in .venv then has both.
build_cuda_package() {
  cmake --preset cuda -DHALOCLINE_PYTHON=ON -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    -DCMAKE_CUDA_COMPILER="$nvcc" >/dev/null
  build_package build/cuda
}

check_python
[ "$mode" != cuda ] || nvcc=$(tools/find_nvcc.sh)
install_packages
case $mode in
  tools) install_python_packages dev ;;
  system) ;;
  demo) install_python_packages demo && build_package build/cpu ;;
  test) install_python_packages dev && build_package build/cpu ;;
  docs) install_python_packages docs && build_package build/cpu ;;
  cuda) install_python_packages dev && build_cuda_package ;;
esac
