# make build    the command, as ./varve
# make test     every test; sets up a pinned Python for those against zarr-python and h5py. With RACE=1 the tests of the
#               packages that start goroutines run under the race detector, which needs a C compiler
# make quick    format, vet and short tests of what differs from BASE (HEAD) and of the packages that import it, and the demo
# make check    what a commit must pass: format, vet, staticcheck, layers, other systems, tests with RACE=1
# make all      every command of this list and README's two in a new clone, with the time of each: takes hours
# make python   lint, types and tests of cmd/varve-python, with pinned and with the newest xarray, zarr and dask
# make wheel    its wheels for TARGETS (GOOS/GOARCH, by default all six) in dist/: checks all, installs that of this machine
# make release  archives, packages, checksums and recipes of the commit for all systems, or TARGETS, in dist/release: publishes nothing
# make interop  only the tests against Python and real object stores, and those that kill writers, 200 times each
# make bench    the benchmarks, with the peers' figures beside ours
# make engines  builds on Beam, and on Spark and on Flink with a master and two workers: needs Java 17, and installs both, pinned, in .venv-engines
# make large    what very large archives cost: the tables of docs/explanation/scale.md; FILES, OWN, APPENDS, DIFFERENT and REFS say how large
# make fuzz     every fuzz target for FUZZTIME
# make attack   the command on damaged files of every format, and the tests of what varve promises, for ATTACKTIME each
# make soak     each property test with random seeds for SOAKTIME, the server under all kinds of requests, and bounds of processor time
# make wine     the demo, the tests of paths, locks and open files, and the Python wheel, on Windows under Wine
# make module MODULE=example.org/you/varve  another path for this module: go.mod and all imports
# make outside  a program of another module, built against a copy of this one that has another path
# make changelog  CHANGELOG.md, from the files of docs/changelog
# make docs     the site of docs/, with its links checked, in site/
# make screenshots  the pictures of pages in docs/, by Chromium
# make demo     the main job on a sample archive
SHELL := /bin/sh
GO ?= go
# One build of each package serves all commands: without cgo, but for the race detector and the C libraries, and without
# the name of this folder, so that clones share the build cache.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath
TESTFLAGS ?=
RACE ?=
BASE ?= HEAD
# The packages whose own code starts goroutines. TestRacePackages keeps the list true.
CONCURRENT := cmd/varve manifest/compact manifest/engine manifest/export/icechunk \
	manifest/export/kerchunk manifest/export/zarr manifest/ingest manifest/internal/home \
	manifest/mount manifest/points manifest/present manifest/repo manifest/scan manifest/serve manifest/store manifest/zarrstore \
	readers/internal/grib readers/source readers/source/sourcetest readers/source/storetest
# Packages of loops are compiled without the race detector, which slows them down tenfold. None of them may use a generic
# type or function of sync or sync/atomic, nor sync.Map, which has one: the linker would take their copy of it, without the
# detector, for the other packages too.
COMPUTING := ./codec/internal/inflate/... ./codec/internal/zstd ./codec/internal/blosc ./codec/internal/aec ./grid ./fixtures/classic \
	compress/... github.com/apache/arrow/go/v15/parquet/... github.com/klauspost/compress/flate/... github.com/klauspost/compress/huff0/...
export RACEFLAGS := -race $(foreach packages,$(COMPUTING),-gcflags=$(packages)=-race=false)
VENV ?= $(CURDIR)/.venv
FUZZTIME ?= 30s
ATTACKTIME ?= 2m
SOAKTIME ?= 60s
FILES ?= 350400
OWN ?= 20000
APPENDS ?= 10000
DIFFERENT ?= 1000,3000,10000
REFS ?= 10000000
SETUP := fixtures/python/setup.sh
MODULES ?= $(CURDIR)/.zarrita
STORES ?= $(CURDIR)/.stores
PYVENV ?= $(CURDIR)/.venv-python
TARGETS ?=
URL ?=
WINE ?= $(CURDIR)/.wine

.PHONY: all quick racing engines attack changelog module outside docs python wheel release wine large soak screenshots test check interop bench fuzz demo format lint platforms clean-tree build

build:
	$(GO) build -o varve ./cmd/varve

# NEEDS_PYTHON ends a target that cannot do its work, if the variable of the shell has no interpreter.
NEEDS_PYTHON = if [ -z "$$python" ]; then echo "make $@: needs Python 3.12 or newer with venv; PYTHON=PATH names one" >&2; exit 1; fi

test:
	@python=$$($(SETUP) "$(VENV)") || exit; \
	VARVE_PYTHON=$$python GO="$(GO)" TESTFLAGS="$(TESTFLAGS)" fixtures/test.sh $(if $(RACE),$(addprefix ./,$(CONCURRENT))) || exit; \
	if [ -z "$$python" ]; then echo "make test: skipped the tests that need Python 3.12 or newer with venv; PYTHON=PATH names one" >&2; fi

# Compiles what make test RACE=1 needs.
racing:
	CGO_ENABLED=1 $(GO) build $(RACEFLAGS) $(addprefix ./,$(CONCURRENT))

quick:
	@GO="$(GO)" fixtures/quick.sh "$(BASE)"

all:
	@GO="$(GO)" fixtures/all.sh

interop:
	@python=$$($(SETUP) "$(VENV)"); \
	if [ -z "$$python" ]; then echo "interop needs Python 3.12 or newer" >&2; exit 1; fi; \
	VARVE_ZARRITA=$$(fixtures/browser/setup.sh "$(MODULES)") VARVE_STORES=$$(GO="$(GO)" fixtures/stores/setup.sh "$(STORES)") VARVE_PYTHON=$$python VARVE_KILLS=200 VARVE_SOAK=1s $(GO) test -count=1 -timeout 30m -run '^TestInterop|^TestKilled' -v \
		$$($(GO) list -f '{{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}' ./... | \
		xargs grep -l '^func TestInterop' | xargs -n1 dirname | sort -u)

check: format lint platforms
	$(MAKE) test RACE=1
	$(MAKE) clean-tree

format:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w:" $$bad >&2; exit 1; fi

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Other systems: all packages and tests are type-checked, without compiling them. One command is compiled, for the system
# that the step release of CI compiles too.
# The compiler may fuse a product and a sum on arm64: they would be rounded once there and twice on amd64, and values
# would differ in the last bit. Only glibc's functions need that; for pictures it is harmless.
platforms:
	$(GO) run ./fixtures/platforms windows/amd64 darwin/arm64 freebsd/amd64
	@set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	GOOS=windows GOARCH=arm64 $(GO) build -o "$$tmp/varve" ./cmd/varve; \
	$(GO) tool objdump -s '^varve/' "$$tmp/varve" >"$$tmp/code"; test -s "$$tmp/code"; \
	fused=$$(awk '$$1 == "TEXT" {f = $$2} /FN?M(ADD|SUB)[SD] / {print f, $$1}' "$$tmp/code" | \
		grep -vE '^varve/(codec/internal/glibc\.(Pow|logarithm|exponential)|manifest/internal/(plot|picture)\.)' | sort -u); \
	if [ "$$fused" ]; then echo "rounded once on arm64 and twice on amd64:" $$fused >&2; exit 1; fi

# The newest versions run only the tests that depend on xarray and zarr. PYVENV and PYTHON select another Python:
# make python PYVENV=.venv-python313 PYTHON=python3.13
python: build
	@set -e; export VARVE_BINARY="$(CURDIR)/varve"; cd cmd/varve-python; \
	python=$$(./setup.sh "$(PYVENV)"); $(NEEDS_PYTHON); \
	"$$python" -m ruff check .; "$$python" -m ruff format --check .; "$$python" -m mypy; \
	"$$python" -m pytest tests; \
	newest=$$(./setup.sh "$(PYVENV)-newest" newest); \
	"$$newest" -m pytest tests/test_backend.py tests/test_store.py

wheel:
	@set -e; python=$$(cmd/varve-python/setup.sh "$(PYVENV)"); $(NEEDS_PYTHON); \
	rm -rf dist/*.whl dist/dependencies; cd cmd/varve-python; GO="$(GO)" "$$python" wheels.py ../../dist $(TARGETS)

release:
	GO="$(GO)" $(GO) run ./cmd/release -targets "$(TARGETS)" -url "$(URL)"

clean-tree:
	@dirty=$$(git status --porcelain); \
	if [ -n "$$dirty" ]; then echo "the tree is not clean:" >&2; echo "$$dirty" >&2; exit 1; fi

bench: build
	@python=$$($(SETUP) "$(VENV)") && VARVE_PYTHON=$$python $(GO) run ./cmd/bars
	@python=$$($(SETUP) "$(VENV)") && if [ -n "$$python" ]; then VARVE_BINARY="$(CURDIR)/varve" "$$python" fixtures/python/grib_indexes.py; fi
	@python=$$($(SETUP) "$(VENV)") && if [ -n "$$python" ]; then VARVE_BINARY="$(CURDIR)/varve" "$$python" fixtures/python/grib_bars.py; fi
	@python=$$($(SETUP) "$(VENV)") && if [ -n "$$python" ]; then VARVE_BINARY="$(CURDIR)/varve" "$$python" fixtures/python/points_bars.py; fi
	@python=$$($(SETUP) "$(VENV)") && if [ -n "$$python" ]; then VARVE_BINARY="$(CURDIR)/varve" "$$python" fixtures/python/rechunk_bars.py; fi
	@if pkg-config --exists libdeflate 2>/dev/null; then \
		python=$$($(SETUP) "$(VENV)") && VARVE_PYTHON=$$python CGO_ENABLED=1 $(GO) run -tags libdeflate ./cmd/bars; \
	else echo "skipped: the row with libdeflate, because libdeflate-dev is not installed" >&2; fi
	@set -e; python=$$(cmd/varve-python/setup.sh "$(PYVENV)"); $(NEEDS_PYTHON); \
	mkdir -p .bench; $(GO) build -o .bench/bars ./cmd/bars; \
	VARVE_BINARY="$(CURDIR)/varve" "$$python" cmd/varve-python/bars.py --library "$(CURDIR)/.bench/bars read" .bench

ENGINES_VENV ?= $(CURDIR)/.venv-engines
engines:
	@spark=$$(REQUIREMENTS=$(CURDIR)/fixtures/engines/spark.txt $(SETUP) "$(ENGINES_VENV)/spark"); \
	flink=$$(REQUIREMENTS=$(CURDIR)/fixtures/engines/flink.txt $(SETUP) "$(ENGINES_VENV)/flink"); \
	if [ -z "$$spark" ]; then echo "engines needs Python 3.12 or newer" >&2; exit 1; fi; \
	VARVE_SPARK=$$spark VARVE_FLINK=$$flink $(GO) test -count=1 -timeout 30m -v -run '^TestSpark$$|^TestFlink$$|^TestBeam$$' ./fixtures/command

large: build
	$(GO) run ./cmd/large -varve ./varve -files $(FILES) -own $(OWN) -appends $(APPENDS) -different $(DIFFERENT) -refs $(REFS)

fuzz:
	@FUZZTIME=$(FUZZTIME) GO="$(GO)" sh fixtures/fuzz.sh

attack:
	VARVE_SOAK=$(ATTACKTIME) $(GO) test -count=1 -timeout 24h -run '^TestRevisions$$' ./manifest/ingest
	ATTACKTIME=$(ATTACKTIME) $(GO) test -count=1 -run '^TestUnnamedPlaces$$' ./cmd/varve
	ATTACKTIME=$(ATTACKTIME) $(GO) test -count=1 -timeout 24h -v ./fixtures/attack
	ATTACKTIME=$(ATTACKTIME) $(GO) test -count=1 -timeout 1h -run '^TestQuery' -v ./fixtures/command
	@python=$$($(SETUP) "$(VENV)"); $(NEEDS_PYTHON); \
	VARVE_PYTHON=$$python VARVE_KILLS=1000 $(GO) test -count=1 -timeout 1h -run '^TestInteropChecksums$$' ./fixtures/command

# The packages run one at a time, because some tests bound processor time.
SOAK = $$(git ls-files '*_test.go' | xargs grep -l '/fixtures/soak"' | xargs -n1 dirname | sort -u | sed 's|^|./|')
soak:
	@python=$$($(SETUP) "$(VENV)") || exit; \
	VARVE_PYTHON=$$python VARVE_SOAK=$(SOAKTIME) $(GO) test -p 1 -count=1 -timeout 24h $(SOAK)

wine:
	@python=$$(cmd/varve-python/setup.sh "$(PYVENV)") && PYTHON=$$python GO="$(GO)" fixtures/wine/run.sh "$(WINE)"

# MkDocs is kept in a folder of its own, so that its packages cannot change those of the tests.
DOCS_VENV ?= $(CURDIR)/.venv-docs
docs:
	@python=$$(REQUIREMENTS=$(CURDIR)/docs/requirements.txt $(SETUP) "$(DOCS_VENV)") || exit; $(NEEDS_PYTHON); \
	"$$python" -m mkdocs build --strict -f docs/mkdocs.yml

screenshots:
	VARVE_SCREENSHOTS=$(CURDIR)/docs/images $(GO) test -count=1 -run 'InChromium$$' -v ./manifest/serve ./fixtures/command

module:
	GO="$(GO)" fixtures/module/rename.sh "$(MODULE)"

changelog:
	$(GO) run ./fixtures/changelog > CHANGELOG.md.new && mv CHANGELOG.md.new CHANGELOG.md

outside:
	GO="$(GO)" fixtures/module/run.sh

demo:
	$(GO) run ./cmd/varve demo
