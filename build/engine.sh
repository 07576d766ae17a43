#!/usr/bin/env bash
# Builds the engine with the cargo profile $1 (development or release) and installs kpolicy, editable, into the
# virtual environment $2. Writes the profile to the file $3, so that make knows which engine is installed.
set -euo pipefail
profile=$1 venv=$2 stamp=$3
cd "$(dirname "$0")/.."
if [ "$profile" = release ]; then
    echo "building the optimised engine (a minute or two when cold)"
else
    echo "building the engine (seconds after a change; a minute or two when cold)"
fi
PIP_QUIET=1 VIRTUAL_ENV=$venv "$venv/bin/maturin" develop --profile "$profile" --locked --quiet
mkdir -p "$(dirname "$stamp")"
echo "$profile" >"$stamp"
