"""Holds engine="varve" against what xarray reads from original files.

    originals.py archives FOLDER SCRATCH    archives of several files, by FOLDER/compare.py and FOLDER/archives.tsv
    originals.py scenarios FOLDER SCRATCH   archives that FOLDER/generate.py makes, by the truth that it writes
    originals.py files FOLDER SCRATCH       single files below FOLDER/files, by xr.testing.assert_identical

VARVE_BINARY names the binary. Each ends with 'N passed, N failed'. A word behind the folders is the only name that is taken.
What differs and is meant to is in docs/reference/python.md; KNOWN has it here.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import varve_zarr
from varve_zarr import _binary

SUFFIXES = {".nc", ".nc4", ".h5", ".cdf", ".nc3"}
# Attributes that say how a file stores things, which netCDF's own readers show and a Zarr does not have.
STORAGE = ("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties", "NAME", "CLASS", "REFERENCE_LIST", "DIMENSION_LIST")


def archives(folder: Path, scratch: Path, only: str) -> int:
    """Run the comparison of the archives, with this engine as its client.

    What is refused is the planner's business. Where this engine differs from the truth, the same dataset is read as Zarr:
    if that differs alike, it is the dataset that differs, and not the engine.
    """
    sys.path.insert(0, str(folder))
    compare: Any = importlib.import_module("compare")

    class Client(compare.Client):  # type: ignore[misc]
        def __enter__(self) -> Client:
            self.open_kw = {"filename_or_obj": self.out, "engine": "varve", "allow": self.data, "chunks": None}
            if self.via == "store":
                self.open_kw = {"filename_or_obj": varve_zarr.Store(self.out, allow=self.data), "engine": "zarr", "chunks": None}
            return self

        def __exit__(self, *exception: object) -> None: ...

    compare.Client = Client
    how: Any = argparse.Namespace(mirror=folder / "files", scratch=scratch, varve=_binary.find(), plain=False, keep=False, trace=False)
    head, *lines = (line.split("\t") for line in (folder / "archives.tsv").read_text().splitlines() if line and not line.startswith("#"))
    counts: Counter[str] = Counter()
    failed = 0
    for line in lines:
        row = dict(zip(head, line + [""] * len(head), strict=False))
        if only not in row["name"]:
            continue
        verdicts = {}
        for how.via in ("engine", "store"):
            verdict, details = compare.group_verdict(row, how)
            verdicts[how.via] = verdict, [d.replace(f"[{how.via}] ", "") for d in details]
            if verdict != "different":
                break
        if verdicts["engine"] == verdicts.get("store"):
            verdict = "as engine=zarr has it"
        counts[verdict] += 1
        bad = verdict not in ("same", "refused", "no truth", "as engine=zarr has it")
        failed += bad
        print(f"{'FAIL' if bad else 'ok  '} {row['name']} {verdict} {' | '.join(details)[:300] if bad else ''}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    print(f"{sum(counts.values()) - failed} passed, {failed} failed")
    return failed


def scenarios(folder: Path, scratch: Path, only: str) -> int:
    """Make the scenarios and hold what the engine reads against their truth."""
    made = scratch / "scenarios"
    if not made.exists():
        subprocess.run([sys.executable, folder / "generate.py", made, "--seed", "1"], check=True, stdout=subprocess.DEVNULL)
    sys.path.insert(0, str(folder))
    check: Any = importlib.import_module("check")
    passed = failed = 0
    for scenario in sorted(p for p in made.iterdir() if (p / "truth").is_dir() and only in p.name):
        truth = check.load_truth(scenario)
        files = [scenario / "files" / name for name in truth["inputs"]]
        out = scratch / "built" / f"{scenario.name}.varve"
        wrong = ""
        try:
            command = [_binary.find(), "build", "--quiet", "--force", out, *files, *truth["build_options"]]
            subprocess.run(command, check=True, capture_output=True, text=True)
            groups = check.group_names(truth)
            how = {"engine": "varve", "chunks": None, "decode_times": xr.coders.CFDatetimeCoder(time_unit="ns")}
            opened = {g: xr.open_dataset(out, group=g or None, **how) for g in groups}
            verdicts = check.compare(scenario, truth, opened)
            wrong = "; ".join(f"{name}: {verdict}" for name, verdict in verdicts.items() if verdict != "ok")
        except subprocess.CalledProcessError as refused:
            if truth["outcome"] not in ("refuse", "either"):
                wrong = refused.stderr
        except Exception as problem:  # whatever a client meets is a verdict
            wrong = f"{type(problem).__name__}: {problem}"
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '} {scenario.name} {wrong[:300]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed


def files(folder: Path, scratch: Path, only: str) -> int:
    """Open every file with xarray's own engine and with this one; files that the first cannot open are skipped."""
    counts: Counter[str] = Counter()
    failed = 0
    for number, path in enumerate(sorted(p for p in (folder / "files").rglob("*") if p.suffix in SUFFIXES and only in p.name)):
        try:
            with xr.open_dataset(path, decode_times=False) as opened:
                want = opened.load()
        except Exception:  # no file of xarray's, or one that libnetcdf refuses
            counts["not opened by xarray"] += 1
            continue
        try:
            made = varve_zarr.build(scratch / "files" / f"{number}.varve", path, force=True)
            verdict = difference(want, made.open(decode_times=False, chunks=None).load())
        except varve_zarr.Refused as refused:
            verdict = "refused: " + str(refused).splitlines()[0]
        except Exception as problem:  # a verdict as well
            verdict = f"{type(problem).__name__}: {str(problem)[:160]}"
        kind = verdict.partition(":")[0]
        counts[kind] += 1
        if kind not in ("identical", *KNOWN):
            failed += 1
            print(f"FAIL {path.relative_to(folder)} {verdict}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    print(f"{sum(counts.values()) - failed - counts['not opened by xarray']} passed, {failed} failed")
    return failed


KNOWN = {
    "refused": "a structure that no Zarr has",
    "zones": "units with the zone 0:00, which xarray takes for the time of day, have no zone in a manifest: the reference is the same",
    "blanks": "a character that is the fill value is NaN in xarray's netCDF engines, and the character itself in a Zarr",
}


def difference(want: xr.Dataset, got: xr.Dataset) -> str:
    """Return "identical", a known difference, or what differs."""
    for ds in (want, got):
        ds.attrs = {k: v for k, v in ds.attrs.items() if k not in STORAGE}
        for v in ds.variables.values():
            v.attrs = {k: plain(a) for k, a in v.attrs.items() if k not in STORAGE}
        ds.attrs = {k: plain(a) for k, a in ds.attrs.items()}
    texts = [n for n, v in want.variables.items() if v.dtype == object and n in got.variables and got[n].dtype.kind == "S"]
    blanks = [n for n in texts if only_blanks(want.variables[n], got[n])]
    zones = [n for n, v in want.variables.items() if n in got.variables and only_zone(v.attrs, got[n].attrs)]
    for n in zones:
        got[n].attrs["units"] = want[n].attrs["units"]
    want, got = want.drop_vars(blanks), got.drop_vars(blanks)
    try:
        xr.testing.assert_identical(want, got)
    except AssertionError as problem:
        return "different: " + " ".join(str(problem).split())[:300]
    return "blanks" if blanks else "zones" if zones else "identical"


def only_zone(want: dict[Any, Any], got: dict[Any, Any]) -> bool:
    """Whether units of times differ only by a zone that UDUNITS reads as UTC."""
    a, b = want.get("units"), got.get("units")
    return isinstance(a, str) and isinstance(b, str) and a != b and re.fullmatch(re.escape(b) + r" 0?0:?00", a) is not None


def only_blanks(want: xr.Variable, got: xr.DataArray) -> bool:
    """Whether characters differ only where the one has NaN."""
    a, b = want.values.reshape(-1).tolist(), got.values.reshape(-1).tolist()
    return want.shape == got.shape and all(x == y or x != x for x, y in zip(a, b, strict=True))


def plain(value: Any) -> Any:
    """Return an attribute as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, where, room = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    os.makedirs(room, exist_ok=True)
    sys.exit({"archives": archives, "scenarios": scenarios, "files": files}[what](where, room, *(sys.argv[4:5] or [""])) != 0)
