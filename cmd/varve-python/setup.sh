#!/bin/sh
# setup.sh VENV [newest]: makes the Python environment of this package, once, and prints its interpreter.
# With newest, xarray, zarr and dask are the newest there are, and not those of requirements.txt. Without
# a Python of at least 3.12 it says so and prints nothing. PYTHON names another one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$1
wanted=$here/requirements.txt
if [ -x "$venv/bin/python" ] && cmp -s "$wanted" "$venv/requirements.txt" && [ "${2:-}" != newest ]; then
	echo "$venv/bin/python"
	exit 0
fi
found=
for python in ${PYTHON:-python3.12 "$HOME"/.pyenv/versions/3.12*/bin/python3 python3.13 "$HOME"/.pyenv/versions/3.13*/bin/python3 python3}; do
	if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
		found=$python
		break
	fi
done
if [ -z "$found" ]; then
	echo "skipped: no Python of at least 3.12 with venv; the Python package is not tested" >&2
	exit 0
fi
if ! [ -x "$venv/bin/python" ]; then
	rm -rf "$venv"
	echo "setting up $venv with $found" >&2
	"$found" -m venv "$venv" >&2
fi
"$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted" >&2
if [ "${2:-}" = newest ]; then
	"$venv/bin/pip" install -q --disable-pip-version-check -U xarray zarr dask distributed numpy >&2
fi
"$venv/bin/pip" install -q --disable-pip-version-check --no-build-isolation --no-deps -e "$here" >&2
cp "$wanted" "$venv/requirements.txt"
echo "$venv/bin/python"
