#!/bin/sh
# Builds the wheel and the source distribution into dist, and tries them without the repository:
# a new environment with nothing but the wheel, in which the tests of the source distribution run.
#
# PYTHON=... chooses the interpreter, WORKERS=... the number of test processes, TESTS=... which
# tests run (all ordinary ones by default).
set -eu

cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/environment"
python=$folder/environment/bin/python

"$python" -m pip install --quiet --disable-pip-version-check build
rm -rf dist
"$python" -m build --outdir dist .
"$python" -m pip install --quiet --disable-pip-version-check "$(echo dist/honestbayes-*.whl)[dev]"

mkdir "$folder/source"
tar -xzf dist/honestbayes-*.tar.gz -C "$folder/source" --strip-components 1
rm -r "$folder/source/src"  # what is tested is the wheel
cd "$folder/source"
"$python" -m mypy --strict --config-file= tests/typed_use.py
"$python" -m pytest -n "${WORKERS:-2}" ${TESTS:-tests}
