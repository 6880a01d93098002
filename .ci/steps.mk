# The steps of CI: first those of setup, then those of checks, two side by side, in this order. Setup installs and compiles
# what is not in a cache yet, so its time is not judged, nor that of other steps that mostly compile. Each test runs once,
# in the step test. Files beside the repository are compared where they exist; of what takes long, a fixed sample.
STEP := @fixtures/steps/step.sh
SHARED := ../shared
SETUP := packages venv stores lint racing build clib
CHECKS := test small platforms python outside docs wheel release
SHARED_CHECKS := scenarios originals oracle grib cubes archives

setup: $(SETUP)
checks: $(CHECKS) $(if $(wildcard $(SHARED)/oracle),$(SHARED_CHECKS))

packages:
	$(STEP) $@ .ci/packages.sh

# The environments of the tests, of the Python package, of the newest xarray, zarr and dask, of the site and of the peers.
venv:
	$(STEP) $@ sh -ec 'fixtures/python/setup.sh .venv; cmd/varve-python/setup.sh .venv-python; \
		cmd/varve-python/setup.sh .venv-python-newest newest; REQUIREMENTS=docs/requirements.txt fixtures/python/setup.sh .venv-docs; \
		if [ -f $(SHARED)/requirements.txt ]; then REQUIREMENTS=$(SHARED)/requirements.txt fixtures/python/setup.sh .venv-peers; fi'

lint:
	$(STEP) $@ make format lint

# What the tests under the race detector import.
racing:
	$(STEP) $@ make racing

# Compiling the emulator of Google Cloud Storage takes two minutes: make interop runs it.
stores:
	$(STEP) $@ sh -ec 'fixtures/stores/setup.sh .stores versitygw azurite; fixtures/browser/setup.sh .zarrita'

# The programs that call netcdf-c and libhdf5, and the codecs with libdeflate.
clib: packages
	$(STEP) $@ sh -ec 'export CGO_ENABLED=1; go build -tags clib -o .bench/clib ./fixtures/clib; go test -v -tags libdeflate ./codec/internal/inflate'

test:
	@mkdir -p .bench/images
	$(STEP) $@ env VARVE_CLIB=$(CURDIR)/.bench/clib VARVE_STORES=$(CURDIR)/.stores VARVE_ZARRITA=$(CURDIR)/.zarrita \
		VARVE_SCREENSHOTS=$(CURDIR)/.bench/images make test RACE=1 TESTFLAGS="-count=1 -v"

build:
	$(STEP) $@ make build demo

docs:
	$(STEP) $@ make docs

python:
	$(STEP) $@ sh -ec 'make python; VARVE_BINARY=$(CURDIR)/varve .venv-python/bin/python cmd/varve-python/notebook.py docs/tutorial/notebook.ipynb'

platforms:
	$(STEP) $@ make platforms

# A small real piece of each command that takes long. `make all` runs them whole.
small:
	$(STEP) $@ .ci/small.sh

outside:
	$(STEP) $@ make outside

wheel:
	$(STEP) $@ make wheel TARGETS=linux/$$(go env GOARCH)

release:
	$(STEP) $@ make release TARGETS="linux/$$(go env GOARCH) windows/arm64"

# Steps that compile more than they run are not judged either.
table:
	@SETUP="$(SETUP) platforms outside wheel release small" fixtures/steps/table.sh CONTRIBUTING.md

$(SHARED_CHECKS):
	$(STEP) $@ .ci/shared.sh $@

.PHONY: setup checks table $(SETUP) $(CHECKS) $(SHARED_CHECKS)
