#!/usr/bin/env bash
# Installs the wheel in folder $1 and the packages of requirements-run.lock into the folder $2. A machine with a
# bare Python of the same version needs only this folder on its PYTHONPATH.
set -euo pipefail
wheels=$1 site=$2
python=${PYTHON:-python3}
cd "$(dirname "$0")/.."
pip() { "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
    --root-user-action ignore --target "$site" "$@"; }
pip --require-hashes --only-binary :all: -r requirements-run.lock
rm -rf "$site/bin" # scripts with the path of this machine's Python
pip --no-deps --no-index "$wheels"/kpolicy-*.whl
rm -rf "$site/bin"
# What kpolicy never imports, and what takes most of the room: it reads and writes objects of the API as bytes, so no
# generated client is called; zstandard has two backends, and uses the first.
rm -rf "$site"/kubernetes/{client,aio/client}/api "$site"/zstandard/_cffi*
# Its file system will be read-only. The classes of the API's kinds are rarely read, and never all of them.
"$python" -m compileall -q -x 'kubernetes/(aio/)?client/models/' "$site"
