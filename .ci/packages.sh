#!/usr/bin/env bash
# packages.sh installs the programs and libraries that tests and pages use, if one of them is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$(awk '/^[a-z]/ {print $1}' fixtures/machine/packages.txt | sort -u)
packages="libnetcdf-dev libhdf5-dev libdeflate-dev $programs"
# shellcheck disable=SC2086 # a list of names
if ! dpkg -s $packages >/dev/null 2>&1; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q
	# shellcheck disable=SC2086
	apt-get install -y -q --no-install-recommends $packages
fi
fixtures/engines/slurm.sh
