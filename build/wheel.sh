#!/usr/bin/env bash
# Builds kpolicy's wheel into the folder $1. Needs maturin and cargo on PATH.
# With `portable` as $2 it runs on every Linux with glibc 2.28 or newer (Debian 10, RHEL 8), whatever this machine has:
# zig links it, which has to be installed beside maturin.
set -euo pipefail
out=$1 reach=${2:-here}
cd "$(dirname "$0")/.."
# The same source tree gives the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-315532800}
flags=()
if [ "$reach" = portable ]; then
    flags=(--zig --compatibility manylinux_2_28)
fi
maturin build --release --locked --quiet --out "$out" "${flags[@]}"
