#!/bin/sh
# setup.sh VENV [newest]: creates the Python environment of this package, and prints the path of its interpreter.
# With newest, it installs the newest xarray, zarr, dask and NumPy instead of those in requirements.txt. Without
# Python 3.12 or newer, it prints a message to standard error and no path. PYTHON names an interpreter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$(REQUIREMENTS=$here/requirements.txt "$here/../../fixtures/python/setup.sh" "$1")
if [ -z "$python" ]; then
	exit 0
fi
pip() { "$python" -m pip install -q --disable-pip-version-check "$@" >&2; }
if [ "${2:-}" = newest ]; then
	pip -U xarray zarr dask distributed numpy
fi
if ! "$python" -c 'import sys, varve_zarr; sys.exit(not varve_zarr.__file__.startswith(sys.argv[1]))' "$here" 2>/dev/null; then
	pip --no-build-isolation --no-deps -e "$here"
fi
echo "$python"
