#!/usr/bin/env bash
# Builds kpolicy's wheel into the folder $1. Needs maturin and cargo on PATH.
set -euo pipefail
out=$1
cd "$(dirname "$0")/.."
# The same source tree gives the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-315532800}
maturin build --release --locked --quiet --out "$out"
