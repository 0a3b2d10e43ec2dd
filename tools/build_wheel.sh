#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes dist/: a source archive and a wheel that carries the libraries it needs and is tagged for the oldest glibc that
# it runs with (auditwheel). The wheel is built from what `make build` or `make cuda` has compiled.
#
#   tools/build_wheel.sh cpu     halocline-VERSION-cpXY-cpXY-manylinux_*.whl and halocline-VERSION.tar.gz
#   tools/build_wheel.sh cuda    halocline_cu13-VERSION-*.whl: the same package with the CUDA backend, runtime included
#
# A wheel runs with the glibc of the machine that built it and newer ones: build on the oldest distribution to serve.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-cpu}
case $mode in
  cpu) folder=build/cpu ;;
  cuda) folder=build/cuda ;;
  *) echo "build_wheel: unknown mode '$mode'; use cpu or cuda" >&2 && exit 2 ;;
esac
[ -f "$folder/build.ninja" ] ||
  { echo "build_wheel: $folder is not built; run make $([ "$mode" = cpu ] && echo build || echo cuda)" >&2 && exit 1; }

python=.venv/bin/python
scratch=build/wheel/$mode
rm -rf "$scratch"
mkdir -p "$scratch" dist
$python -m pip install --quiet --disable-pip-version-check -r tools/requirements/wheel.txt

# Licences of the libraries that auditwheel copies into the wheel travel with them.
add_licences() {
  local tree=$1 library file
  for library in libhwy libsodium liburing libcurl; do
    for file in /usr/share/doc/"$library"*/copyright; do
      [ ! -f "$file" ] || install -D -m 644 "$file" "$(echo "$tree"/*.dist-info)/licenses/$library.txt"
    done
  done
}

# The CUDA wheel has a name of its own, because both hold the package `halocline`: one of them is installed.
rename_distribution() {
  local tree=$1 info
  info=$(echo "$tree"/halocline-*.dist-info)
  sed -i 's/^Name: halocline$/Name: halocline-cu13/' "$info/METADATA"
  mv "$info" "${info/halocline-/halocline_cu13-}"
}

$python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --config-settings=build-dir="$folder" -w "$scratch/raw" .
$python -m wheel unpack --dest "$scratch/tree" "$scratch"/raw/*.whl >/dev/null
tree=$(echo "$scratch"/tree/*)
add_licences "$tree"
[ "$mode" = cpu ] || rename_distribution "$tree"
$python -m wheel pack --dest-dir "$scratch" "$tree" >/dev/null
# The driver belongs to the machine and is loaded at run time.
PATH="$PWD/.venv/bin:$PATH" $python -m auditwheel repair --exclude 'libcuda.so.*' -w "$scratch/repaired" \
  "$scratch"/*.whl 2>"$scratch/auditwheel.log" || { cat "$scratch/auditwheel.log" >&2 && exit 1; }
cp "$scratch"/repaired/*.whl dist/
if [ "$mode" = cpu ]; then
  $python -m build --sdist --no-isolation --outdir dist . >"$scratch/sdist.log" 2>&1 ||
    { cat "$scratch/sdist.log" >&2 && exit 1; }
fi
ls -1 dist
