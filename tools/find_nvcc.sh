#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of an nvcc of CUDA 13 or newer: CUDACXX, the PATH, CUDA_HOME, /usr/local/cuda, or NVIDIA's wheels in
# .venv. Without one it says how to get it, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

# "13.0" of a compiler; empty when it does not run.
release() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p'; }

shopt -s nullglob
candidates=()
[ -z "${CUDACXX:-}" ] || candidates+=("$CUDACXX")
on_path=$(command -v nvcc || true)
[ -z "$on_path" ] || candidates+=("$on_path")
[ -z "${CUDA_HOME:-}" ] || candidates+=("$CUDA_HOME/bin/nvcc")
candidates+=(/usr/local/cuda/bin/nvcc "$PWD"/.venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)

old=""
for each in "${candidates[@]}"; do
  [ -x "$each" ] || continue
  found=$(release "$each")
  if [ -n "$found" ] && [ "${found%%.*}" -ge 13 ]; then
    echo "$each"
    exit 0
  fi
  old="$old
  $each is of release ${found:-unknown}; 13.0 or newer is needed"
done

cat >&2 <<END
make cuda: no CUDA compiler (nvcc) of release 13 or newer found.$old

NVIDIA's wheels are enough; no driver, GPU or root is needed to compile:

  make build
  .venv/bin/pip install -r tools/requirements/cuda.txt
  make cuda

Or install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads) and put nvcc on the PATH, or name it:
CUDACXX=/path/to/nvcc make cuda. Without CUDA, everything else works: make build.
END
exit 1
