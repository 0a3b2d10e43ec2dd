#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the wheel of dist/ into a clean virtual environment, outside of the checkout, and uses it there: the
# library alone, with numpy as its only dependency, then the command line with its extra.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python
tag=$($python -c 'import sys; print(f"cp{sys.version_info.major}{sys.version_info.minor}")')
shopt -s nullglob
wheels=("$PWD"/dist/halocline-*-"$tag"-*.whl)
[ ${#wheels[@]} -eq 1 ] || { echo "test_wheel: ${#wheels[@]} wheels for $tag in dist; run make wheel" >&2 && exit 1; }
sources=("$PWD"/dist/halocline-*.tar.gz)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"$python" -m venv clean
clean/bin/python -m pip install --quiet --disable-pip-version-check "${wheels[0]}"
clean/bin/python - <<'END'
import importlib.metadata
import sys

import halocline as hc

for heavy in ("typer", "rich", "matplotlib", "sklearn", "safetensors", "PIL", "torch", "onnx"):
    assert heavy not in sys.modules, f"import halocline imports {heavy}"
installed = {each.metadata["Name"].lower() for each in importlib.metadata.distributions()} - {"pip", "setuptools"}
assert installed == {"halocline", "numpy"}, f"installed: {sorted(installed)}"

params = hc.Params.preset("n13-d3")
client = hc.Client(params)
engine = hc.Engine(params, client.evaluation_keys([1]), memory="200MiB", policy="planned")
y = engine.run(lambda x: (x * x).rotate(1), client.encrypt([0.5, -0.25, 1.0, 0.0]))
assert max(abs(client.decrypt(y) - [0.0625, 1.0, 0.0, 0.25])) < 1e-4
END
if clean/bin/halocline --version >/dev/null 2>message; then
  echo "test_wheel: the command line ran without its extra" >&2 && exit 1
fi
grep -q "halocline\[cli\]" message || { cat message >&2 && exit 1; }
clean/bin/python -m pip install --quiet --disable-pip-version-check "halocline[cli] @ file://${wheels[0]}"
clean/bin/halocline --version
clean/bin/halocline params show n14-d7 >/dev/null

# The source archive has what a build needs and no results or tests of this checkout.
tar -tzf "${sources[0]}" >listing
for needed in CMakeLists.txt pyproject.toml cmake/python_exports.map cpp/src/ring/sampler.cpp python/bindings/module.cpp \
  python/halocline/data/digits_cnn.safetensors LICENSE; do
  grep -q "/$needed\$" listing || { echo "test_wheel: the source archive lacks $needed" >&2 && exit 1; }
done
echo "test_wheel: ${wheels[0]##*/} works in a clean environment"
