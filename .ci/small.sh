#!/usr/bin/env bash
# small.sh runs a small real piece of each command of the Makefile that takes long, so that none of them fails unseen.
set -euo pipefail
echo "== make attack"
ATTACKTIME=3s go test -count=1 -run '^TestUnnamedPlaces$' ./cmd/varve
echo "== make soak"
make soak SOAKTIME=1s SOAK=./manifest/internal/planner/internal/tiling
echo "== make fuzz"
FUZZTIME=20x sh fixtures/fuzz.sh ./grid ./readers/thrift
echo "== make large"
make large FILES=400 OWN=40 APPENDS=10 DIFFERENT=20,40 REFS=20000
echo "== make bench"
VARVE_PYTHON=$PWD/.venv/bin/python go run ./cmd/bars -passes 1
echo "== make changelog"
go run ./fixtures/changelog >/dev/null
echo "== make quick"
make quick
