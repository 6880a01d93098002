# make build    the command, as ./varve
# make test     every test; sets up a pinned Python for those against zarr-python and h5py
# make check    what a commit must pass: format, vet, staticcheck, layers, other systems, tests, race, beam
# make beam     vet, staticcheck and the tests of cmd/varve-beam, which is a module of its own
# make python   lint, types and tests of cmd/varve-python, with pinned and with the newest xarray, zarr and dask
# make wheel    its wheels for TARGETS (GOOS/GOARCH, by default all six) in dist/: checks all, installs that of this machine
# make release  archives, packages, checksums and recipes of the commit for all systems, or TARGETS, in dist/release: publishes nothing
# make interop  only the tests against Python and real object stores, and those that kill writers, 200 times each
# make bench    the benchmarks, with the peers' figures beside ours
# make engines  builds on Spark and on Flink, with a master and two workers: needs Java 17, and installs both, pinned, in .venv-engines
# make large    what very large archives cost: the tables of docs/explanation/scale.md; FILES, OWN, APPENDS, DIFFERENT and REFS say how large
# make fuzz     every fuzz target for FUZZTIME
# make attack   the command on damaged files of every format, for ATTACKTIME (ATTACKTIME=4h make attack for longer)
# make soak     the server under all kinds of requests for a minute
# make wine     the demo, the tests of paths, locks and open files, and the Python wheel, on Windows under Wine
# make module MODULE=example.org/you/varve  another path for this module: go.mod and all imports
# make outside  a program of another module, built against a copy of this one that has another path
# make changelog  CHANGELOG.md, from the files of docs/changelog
# make docs     the site of docs/, with its links checked, in site/
# make screenshots  the pictures of pages in docs/, by Chromium
# make demo     the main job on a sample archive
SHELL := /bin/sh
GO ?= go
VENV ?= $(CURDIR)/.venv
FUZZTIME ?= 30s
ATTACKTIME ?= 2m
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

.PHONY: engines attack changelog module outside docs python wheel release beam wine large soak screenshots test check interop bench fuzz demo format lint platforms race clean-tree build

build:
	CGO_ENABLED=0 $(GO) build -o varve ./cmd/varve

test:
	@python=$$($(SETUP) "$(VENV)") && VARVE_PYTHON=$$python $(GO) test -timeout 30m ./...

interop:
	@python=$$($(SETUP) "$(VENV)"); \
	if [ -z "$$python" ]; then echo "interop needs Python 3.12 or newer" >&2; exit 1; fi; \
	VARVE_ZARRITA=$$(fixtures/browser/setup.sh "$(MODULES)") VARVE_STORES=$$(GO="$(GO)" fixtures/stores/setup.sh "$(STORES)") VARVE_PYTHON=$$python VARVE_KILLS=200 $(GO) test -count=1 -timeout 30m -run '^TestInterop|^TestKilled' -v \
		$$($(GO) list -f '{{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}' ./... | \
		xargs grep -l '^func TestInterop' | xargs -n1 dirname | sort -u)
	cd cmd/varve-beam && VARVE_STORES=$$(GO="$(GO)" ../../fixtures/stores/setup.sh "$(STORES)") CGO_ENABLED=0 $(GO) test -count=1 -run '^TestInterop' -v ./...

check: format lint platforms race beam clean-tree

format:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w:" $$bad >&2; exit 1; fi

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Builds for other systems. The compiler may fuse a product and a sum on arm64: they would be rounded once there and
# twice on amd64, and values would differ in the last bit. Only glibc's functions need that; for pictures it is harmless.
platforms:
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) vet ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	@set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o "$$tmp/varve" ./cmd/varve; \
	$(GO) tool objdump -s '^varve/' "$$tmp/varve" >"$$tmp/code"; test -s "$$tmp/code"; \
	fused=$$(awk '$$1 == "TEXT" {f = $$2} /FN?M(ADD|SUB)[SD] / {print f, $$1}' "$$tmp/code" | \
		grep -vE '^varve/(codec/internal/glibc\.(Pow|logarithm|exponential)|manifest/internal/(plot|picture)\.)' | sort -u); \
	if [ "$$fused" ]; then echo "rounded once on arm64 and twice on amd64:" $$fused >&2; exit 1; fi

# staticcheck has the version of the main module's go.mod. ./... of the main module does not include this module.
beam:
	@staticcheck=$$($(GO) tool -n staticcheck) && cd cmd/varve-beam && export CGO_ENABLED=0 && \
	$(GO) vet ./... && "$$staticcheck" ./... && $(GO) test ./...

# The newest versions run only the tests that depend on xarray and zarr. PYVENV and PYTHON select another Python:
# make python PYVENV=.venv-python313 PYTHON=python3.13
python: build
	@set -e; export VARVE_BINARY="$(CURDIR)/varve"; cd cmd/varve-python; \
	python=$$(./setup.sh "$(PYVENV)"); if [ -z "$$python" ]; then exit 0; fi; \
	"$$python" -m ruff check .; "$$python" -m ruff format --check .; "$$python" -m mypy; \
	"$$python" -m pytest tests; \
	newest=$$(./setup.sh "$(PYVENV)-newest" newest); \
	"$$newest" -m pytest tests/test_backend.py tests/test_store.py

wheel:
	@set -e; python=$$(cmd/varve-python/setup.sh "$(PYVENV)"); if [ -z "$$python" ]; then exit 0; fi; \
	rm -rf dist/*.whl dist/dependencies; cd cmd/varve-python; GO="$(GO)" "$$python" wheels.py ../../dist $(TARGETS)

release:
	GO="$(GO)" $(GO) run ./cmd/release -targets "$(TARGETS)" -url "$(URL)"

# The race detector needs a C compiler; without one the tests run without it, and say so.
race:
	@if [ "$$(CGO_ENABLED=1 $(GO) env CC)" ] && command -v "$$($(GO) env CC)" >/dev/null 2>&1; then \
		$(GO) test -race -short ./...; \
	else \
		echo "skipped: the race detector, because there is no C compiler" >&2; $(GO) test -short ./...; \
	fi

clean-tree:
	@dirty=$$(git status --porcelain); \
	if [ -n "$$dirty" ]; then echo "the tree is not clean:" >&2; echo "$$dirty" >&2; exit 1; fi

bench: build
	@python=$$($(SETUP) "$(VENV)") && VARVE_PYTHON=$$python $(GO) run ./cmd/bars
	@python=$$($(SETUP) "$(VENV)") && if [ -n "$$python" ]; then VARVE_BINARY="$(CURDIR)/varve" "$$python" fixtures/python/grib_indexes.py; fi
	@python=$$($(SETUP) "$(VENV)") && if [ -n "$$python" ]; then VARVE_BINARY="$(CURDIR)/varve" "$$python" fixtures/python/grib_bars.py; fi
	@python=$$($(SETUP) "$(VENV)") && if [ -n "$$python" ]; then VARVE_BINARY="$(CURDIR)/varve" "$$python" fixtures/python/points_bars.py; fi
	@if pkg-config --exists libdeflate 2>/dev/null; then \
		python=$$($(SETUP) "$(VENV)") && VARVE_PYTHON=$$python CGO_ENABLED=1 $(GO) run -tags libdeflate ./cmd/bars; \
	else echo "skipped: the row with libdeflate, because libdeflate-dev is not installed" >&2; fi
	@set -e; python=$$(cmd/varve-python/setup.sh "$(PYVENV)"); if [ -z "$$python" ]; then exit 0; fi; \
	mkdir -p .bench; CGO_ENABLED=0 $(GO) build -o .bench/bars ./cmd/bars; \
	VARVE_BINARY="$(CURDIR)/varve" "$$python" cmd/varve-python/bars.py --library "$(CURDIR)/.bench/bars read" .bench

ENGINES_VENV ?= $(CURDIR)/.venv-engines
engines:
	@spark=$$(REQUIREMENTS=$(CURDIR)/fixtures/engines/spark.txt $(SETUP) "$(ENGINES_VENV)/spark"); \
	flink=$$(REQUIREMENTS=$(CURDIR)/fixtures/engines/flink.txt $(SETUP) "$(ENGINES_VENV)/flink"); \
	if [ -z "$$spark" ]; then echo "engines needs Python 3.12 or newer" >&2; exit 1; fi; \
	VARVE_SPARK=$$spark VARVE_FLINK=$$flink $(GO) test -count=1 -timeout 30m -v -run '^TestSpark$$|^TestFlink$$' ./fixtures/command

large: build
	$(GO) run ./cmd/large -varve ./varve -files $(FILES) -own $(OWN) -appends $(APPENDS) -different $(DIFFERENT) -refs $(REFS)

fuzz:
	@FUZZTIME=$(FUZZTIME) GO="$(GO)" sh fixtures/fuzz.sh

attack:
	ATTACKTIME=$(ATTACKTIME) $(GO) test -count=1 -timeout 24h -v ./fixtures/attack

soak:
	VARVE_SOAK=60s $(GO) test -count=1 -run '^TestSoak$$' -v ./manifest/serve

wine:
	@python=$$(cmd/varve-python/setup.sh "$(PYVENV)") && PYTHON=$$python GO="$(GO)" fixtures/wine/run.sh "$(WINE)"

# MkDocs is kept in a folder of its own, so that its packages cannot change those of the tests.
DOCS_VENV ?= $(CURDIR)/.venv-docs
docs:
	@python=$$(REQUIREMENTS=$(CURDIR)/docs/requirements.txt $(SETUP) "$(DOCS_VENV)"); \
	if [ -z "$$python" ]; then exit 0; fi; \
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
