#!/usr/bin/env bash
# shared.sh STEP: compares varve with other programs on files beside the repository.
set -euo pipefail
shared=../shared
python=$PWD/.venv-peers/bin/python
package=$PWD/.venv-python/bin/python
export VARVE_BINARY=$PWD/varve
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# compare RUNNER ARGS KNOWN: runs an oracle's comparison, and fails if a file outside the pattern KNOWN differs.
compare() {
	"$python" "$@" --varve ./varve --show 10000 >"$scratch/out" || true
	tail -n 1 "$scratch/out" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 files agree, \2 differ/p' | grep agree
	if grep -E "$files" "$scratch/out" | grep -vE "$known"; then
		echo "varve disagrees on the files above" >&2
		exit 1
	fi
}

case $1 in
oracle)
	# libhdf5 and netcdf-c. On these three damaged files libhdf5 hashes memory that it never wrote, or netcdf-c
	# crashes in some runs. varve refuses them.
	files='^(hdf5|netcdf3|hostile)/' known='^hostile/(13ee7f4eaf52|6339c8477c28|7a14424ad57d)\.h5 '
	compare "$shared/oracle/compare.py" "$shared/oracle/corpus.jsonl.gz" "$shared/corpus"
	;;
grib)
	# Where varve and ecCodes differ:
	# - 001c1a1acd61, 4f0095abbdd1: ecCodes places the points of a southern polar stereographic grid of 12.7 km 2.7 km apart.
	# - 3bac4401186c, 683bafb3fc0e: ecCodes does not rotate the points of rotated Gaussian grids.
	# - 33176817b360, 58b6e9406a78, 79451068d02c: dates that no calendar has, such as month 0; ecCodes adds days to them.
	# - 0ec493b86220: ecCodes calls a code that its table lacks "unknown", and varve leaves it out.
	# - 3c57d652545a: the name depends on lists of satellites; 777a9039b8d0: the member of local definition 4. varve reads neither.
	files='^[0-9a-f]{12}\.grib '
	known='^(001c1a1acd61|4f0095abbdd1|3bac4401186c|683bafb3fc0e|33176817b360|58b6e9406a78|79451068d02c|0ec493b86220|3c57d652545a|777a9039b8d0)'
	compare "$shared/oracle/grib_compare.py" "$shared/oracle/grib.jsonl.gz" "$shared/corpus/grib"
	;;
cubes)
	# Every variable that cfgrib makes, of every eighth file.
	mapfile -t some < <(printf '%s\n' "$shared"/corpus/grib/*.grib | awk 'NR % 8 == 1')
	"$python" fixtures/grib/cubes.py --recorded "$shared/oracle/grib_cubes.jsonl.gz" "${some[@]}"
	;;
reads)
	# Whatever of the corpus builds can be read whole, exported and opened. It takes half an hour, and only make all runs it.
	VARVE_CORPUS=$(realpath "$shared/corpus") go test -count=1 -timeout 2h -run '^TestCorpusReads$' -v ./manifest/ingest
	;;
scenarios)
	# Every third of the archives that disagree with themselves, through the clients that people use.
	mapfile -t some < <(cd "$shared/scenarios" && "$python" -c 'import generate; print(*list(generate.SCENARIOS)[::3], sep="\n")')
	"$python" "$shared/scenarios/generate.py" "$scratch/scenarios" --seed 1 --only "${some[@]}" >/dev/null
	"$python" "$shared/scenarios/drive.py" "$scratch/scenarios" --varve ./varve --only "${some[@]}"
	;;
archives)
	# Every third of the archives of several real files, with xarray as the truth. In arm-sondes xarray reads the time zone
	# "0:00" wrongly; arm-stamp-stations is refused, and check names the option that combines it.
	awk -F '\t' 'NR % 3 == 1 && $1 != "arm-sondes" && $1 != "arm-stamp-stations"' "$shared/archives/archives.tsv" >"$scratch/some.tsv"
	"$python" "$shared/archives/compare.py" "$shared/archives/files" "$scratch/archives" ./varve --tsv "$scratch/some.tsv"
	;;
originals)
	# What xarray reads with engine="varve", beside the original files.
	for what in files scenarios; do
		where=$shared/archives
		if [ $what = scenarios ]; then where=$shared/scenarios; fi
		"$package" cmd/varve-python/originals.py $what "$where" "$scratch/originals" >"$scratch/$what" || { grep FAIL "$scratch/$what"; exit 1; }
		tail -n 1 "$scratch/$what"
	done
	;;
*)
	echo "shared.sh: there is no step $1" >&2
	exit 2
	;;
esac
