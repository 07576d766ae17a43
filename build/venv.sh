#!/usr/bin/env bash
# Makes the virtual environment $1 with exactly the packages of requirements.lock.
set -euo pipefail
venv=$1
python=${PYTHON:-python3}

"$python" - <<'PY' || { echo "kpolicy needs Python 3.11 or newer; set PYTHON=/path/to/python3" >&2; exit 2; }
import sys
sys.exit(0 if sys.version_info >= (3, 11) else 1)
PY
command -v cargo >/dev/null || { echo "kpolicy needs a Rust toolchain (cargo): https://rustup.rs" >&2; exit 2; }
command -v cc >/dev/null || { echo "kpolicy needs a C compiler (cc), for linking" >&2; exit 2; }

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "installing Python packages into $venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
    -r requirements.lock
