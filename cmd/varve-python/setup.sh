#!/bin/sh
# setup.sh VENV [newest]: creates the Python environment of this package, and prints the path of its interpreter.
# With newest, it installs the newest xarray, zarr, dask and NumPy instead of those in requirements.txt. Without
# Python 3.12 or newer, it prints a message to standard error and no path, and the caller decides whether that is a
# failure. PYTHON names an interpreter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$(REQUIREMENTS=$here/requirements.txt "$here/../../fixtures/python/setup.sh" "$1")
if [ -z "$python" ]; then
	exit 0
fi
install="$here/../../fixtures/python/install.sh"
if [ "${2:-}" = newest ] && [ ! -f "$1/newest" ]; then
	"$install" "$1" -U xarray zarr dask distributed numpy
	touch "$1/newest"
fi
if ! "$python" -c 'import sys, varve_zarr; sys.exit(not varve_zarr.__file__.startswith(sys.argv[1]))' "$here" 2>/dev/null; then
	"$install" "$1" --no-build-isolation --no-deps -e "$here"
fi
echo "$python"
