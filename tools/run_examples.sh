#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every numbered Python example in a scratch folder and stops at the first that fails. (The C++ examples are
# built and run by CTest.)
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for example in "$root"/examples/[0-9]*.py; do
  [ -e "$example" ] || continue
  echo "==> $(basename "$example")"
  (cd "$scratch" && timeout 300 "$root/.venv/bin/python" "$example")
done
