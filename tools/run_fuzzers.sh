#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of build/asan for an equal share of the given seconds, starting from the committed corpus
# cpp/tests/fuzz/corpus/<name>. What a run finds goes to a temporary folder; a crashing input is kept in
# build/asan/fuzz/artifacts and fails the run.
#
#   tools/run_fuzzers.sh [seconds in total, 60 by default]
set -euo pipefail
cd "$(dirname "$0")/.."

total=${1:-60}
folder=build/asan/fuzz
targets=()
for source in cpp/tests/fuzz/fuzz_*.cpp; do
  [ -e "$source" ] || continue
  target=$(basename "$source" .cpp)
  [ -x "$folder/$target" ] || { echo "run_fuzzers: $folder/$target is not built; run make test-asan" >&2 && exit 1; }
  targets+=("$target")
done
[ ${#targets[@]} -gt 0 ] || { echo "run_fuzzers: no fuzz targets in cpp/tests/fuzz" && exit 0; }

share=$((total / ${#targets[@]}))
[ "$share" -ge 1 ] || share=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$folder/artifacts"

for target in "${targets[@]}"; do
  corpus=cpp/tests/fuzz/corpus/${target#fuzz_}
  [ -d "$corpus" ] || { echo "run_fuzzers: $target has no committed corpus $corpus" >&2 && exit 1; }
  mkdir -p "$scratch/$target"
  echo "==> $target: $share s on $(find "$corpus" -type f | wc -l) committed inputs"
  # One input may neither take 10 s nor allocate 512 MiB at once: loaders must not trust a length field.
  if ! "$folder/$target" -max_total_time="$share" -timeout=10 -malloc_limit_mb=512 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$folder/artifacts/$target-" \
    "$scratch/$target" "$corpus" >"$scratch/log" 2>&1; then
    tail -n 60 "$scratch/log"
    echo "run_fuzzers: $target failed; the input is in $folder/artifacts" >&2
    exit 1
  fi
  grep -E 'number_of_executed_units|average_exec_per_sec|peak_rss_mb' "$scratch/log" || true
done
