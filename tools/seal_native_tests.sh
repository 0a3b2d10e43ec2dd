#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the tests and examples in a folder of Microsoft SEAL's sources, unchanged, against cpp/compat/seal,
# and runs them. SEAL's files are not part of this repository: bring your own.
#
#   tools/seal_native_tests.sh DIR [DEVICE]   DIR has native/tests/seal and native/examples; DEVICE: cuda:0
#
# Needs GoogleTest. Prints a table for C++17 and C++20, and fails where a file without headers of seal/util
# does not compile, or a test or example of CKKS fails. Builds and logs are in build/seal_native.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: tools/seal_native_tests.sh DIR [DEVICE]" >&2 && exit 2
fi
native=$(cd "$1" && pwd)
[ ! -d "$native/native" ] || native=$native/native
if [ ! -d "$native/tests/seal" ] || [ ! -d "$native/examples" ]; then
  echo "seal_native_tests: $1 has no native/tests/seal and native/examples" >&2 && exit 2
fi
export HALOCLINE_SEAL_DEVICE=${2:-cpu}
if ! [[ $HALOCLINE_SEAL_DEVICE =~ ^(cpu|cuda(:[0-9]+)?)$ ]]; then
  echo "seal_native_tests: device '$2'; expected cpu or cuda:0" >&2 && exit 2
fi
shopt -s nullglob
tests=("$native"/tests/seal/*.cpp) examples=("$native"/examples/*.cpp)
if [ ${#tests[@]} -eq 0 ] || [ ${#examples[@]} -eq 0 ]; then
  echo "seal_native_tests: native/tests/seal or native/examples of $1 has no .cpp files" >&2 && exit 2
fi
cd "$(dirname "$0")/.."

work=$PWD/build/seal_native/${HALOCLINE_SEAL_DEVICE%%:*}
mkdir -p "$work"
options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib -DHALOCLINE_SEAL=ON -DHALOCLINE_TESTS=OFF)
if [ "$HALOCLINE_SEAL_DEVICE" != cpu ]; then
  CUDACXX=$(tools/find_nvcc.sh)
  export CUDACXX
  options+=(-DHALOCLINE_CUDA=ON)
fi
echo "Building the library (log: $work/build.log)"
{
  cmake -S . -B "$work/library" -G Ninja "${options[@]}" &&
    cmake --build "$work/library" --target halocline HaloclineSeal &&
    cmake --install "$work/library" --component development --prefix "$work/installed"
} >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2 && exit 1; }
export PKG_CONFIG_PATH=$work/installed/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
read -ra others <<<"$(pkg-config --libs halocline)"
libraries=("-L$work/installed/lib" -lHaloclineSeal "${others[@]}" -lgtest -pthread)
export cxx=${CXX:-c++} includes=$work/installed/include/halocline_seal

# Some examples of CKKS stand behind those of BFV, which throw, so the menu of examples.cpp does not reach
# them.
cat >"$work/run_example.cpp" <<'DRIVER'
#include <exception>
#include <iostream>
#include <string>
void example_ckks_basics(), example_ckks_encoder(), example_rotation_ckks(), example_serialization();
void example_ckks_performance_default();
int main(int, char** argv) try {
  const std::string name = argv[1];
  if (name == "ckks_basics") return example_ckks_basics(), 0;
  if (name == "ckks_encoder") return example_ckks_encoder(), 0;
  if (name == "rotation_ckks") return example_rotation_ckks(), 0;
  if (name == "serialization") return example_serialization(), 0;
  if (name == "ckks_performance") return example_ckks_performance_default(), 0;
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
DRIVER

# compile FOLDER STANDARD SOURCE: an object and a log.
# shellcheck disable=SC2317  # called by xargs
compile() {
  local -r object=$1/$(basename "$3" .cpp).o
  "$cxx" "-std=c++$2" -O1 "-I$includes" -c "$3" -o "$object" 2>"$object.log" || rm -f "$object"
}
export -f compile

bad=0
row() { printf '%-8s %-26s %6s %6s %6s\n' "$@"; }

# compile_all NAME SOURCE...: objects in "$out/NAME".
compile_all() {
  local -r to=$out/$1
  local source compiled=0 notes=()
  shift
  mkdir -p "$to"
  # shellcheck disable=SC2016  # expanded by the shells that it starts
  printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$0" "$1" "$2"' "$to" "$standard"
  for source in "$@"; do
    if [ -e "$to/$(basename "$source" .cpp).o" ]; then
      compiled=$((compiled + 1))
    elif grep -q '#include "seal/util/' "$source"; then
      notes+=("  $(basename "$source") has headers of seal/util that are not here")
    else
      notes+=("  $(basename "$source") DOES NOT COMPILE: $to") && bad=1
    fi
  done
  row "C++$standard" "$(basename "$to"): files compiled" $# "$compiled" $(($# - compiled))
  [ ${#notes[@]} -eq 0 ] || printf '%s\n' "${notes[@]}"
}

# run_tests NAME FILTER: the exit status is that of the tests.
run_tests() {
  local -r log=$out/$1.log
  local status=0 passed failed
  "$out/run_tests" "--gtest_filter=$2" >"$log" 2>&1 || status=1
  passed=$(grep -c '^\[       OK' "$log" || true)
  failed=$(grep -c '^\[  FAILED  \].* ms)$' "$log" || true)
  row "C++$standard" "tests: $1" $((passed + failed)) "$passed" "$failed"
  [ $((passed + failed)) -gt 0 ] || { echo "  no test has a name like that" && status=1; }
  return $status
}

row standard what all good bad
for standard in 17 20; do
  out=$work/cxx$standard
  rm -rf "$out"
  compile_all tests "${tests[@]}"
  compile_all examples "${examples[@]}"
  "$cxx" "$out"/tests/*.o "${libraries[@]}" -o "$out/run_tests"
  run_tests CKKS '*CKKS*' || bad=1
  run_tests others '-*CKKS*' || true # most are of BFV and BGV, which are refused

  rm -f "$out/examples/examples.o" # has a main
  "$cxx" "-std=c++$standard" "$work/run_example.cpp" "$out"/examples/*.o "${libraries[@]}" \
    -o "$out/run_example"
  parts=(ckks_basics ckks_encoder rotation_ckks serialization ckks_performance) failed=0
  for example in "${parts[@]}"; do
    "$out/run_example" "$example" >"$out/$example.log" 2>&1 ||
      { failed=$((failed + 1)) bad=1 && echo "  example $example fails: $out/$example.log"; }
  done
  row "C++$standard" "examples: CKKS" ${#parts[@]} $((${#parts[@]} - failed)) $failed
done
exit $bad
