"""Builds and inspects the wheels: wheels.py DIST [GOOS/GOARCH ...], by default for all platforms.

Each is opened again: its tag, the kind and architecture of the binary, and that it carries the commit.
The one for this machine is installed in a fresh environment without an index, and used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from hatch_build import TAGS, CustomBuildHook

HERE = Path(__file__).resolve().parent
# Where the architecture stands in the header of each kind of program, and what is there.
ELF = {"amd64": b"\x3e\x00", "arm64": b"\xb7\x00"}
MACH = {"amd64": b"\x07\x00\x00\x01", "arm64": b"\x0c\x00\x00\x01"}
PE = {"amd64": b"\x64\x86", "arm64": b"\x64\xaa"}


def build(target: str, dist: Path) -> Path:
    """Build the wheel for a platform and return its name."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", dist],
        cwd=HERE,
        env={**os.environ, "VARVE_TARGET": target},
        check=True,
    )
    (wheel,) = dist.glob(f"*-py3-none-{TAGS[target]}.whl")
    return wheel


def inspect(wheel: Path, target: str) -> str:
    """Hold a wheel against what it says that it is for."""
    system, _, architecture = target.partition("/")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if "/scripts/varve" in n)
        binary = archive.read(name)
        (about,) = (n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
        tags = [line.removeprefix("Tag: ") for line in archive.read(about).decode().splitlines() if line.startswith("Tag: ")]
    wanted = [f"py3-none-{tag}" for tag in TAGS[target].split(".")]
    if sorted(tags) != sorted(wanted):
        raise SystemExit(f"{wheel.name}: its tags are {tags}, and not {wanted}")
    if system == "windows":
        at = int.from_bytes(binary[0x3C:0x40], "little")
        good = binary[:2] == b"MZ" and binary[at : at + 6] == b"PE\0\0" + PE[architecture]
    elif system == "darwin":
        good = binary[:8] == b"\xcf\xfa\xed\xfe" + MACH[architecture]
    else:
        good = binary[:4] == b"\x7fELF" and binary[18:20] == ELF[architecture]
    if not good or (name.endswith(".exe") != (system == "windows")):
        raise SystemExit(f"{wheel.name}: {name} is no program for {target}")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    if commit.encode() not in binary:
        raise SystemExit(f"{wheel.name}: the binary does not carry the commit {commit}")
    return f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {commit[:12]}"


def install(wheel: Path) -> None:
    """Install a wheel where nothing else is, but for what it depends on, and read a manifest with it."""
    with tempfile.TemporaryDirectory() as room:
        subprocess.run([sys.executable, "-m", "venv", room], check=True)
        python = Path(room, "bin", "python")
        # xarray and the rest come from this environment, whose editable copy of this package must not.
        site = printed(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
        Path(site, "others.pth").write_text(printed(sys.executable, "import sysconfig; print(sysconfig.get_path('purelib'))"))
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", "--ignore-installed"]
        subprocess.run([*pip, wheel], check=True)
        code = f"""
import varve_zarr, sys
from varve_zarr import _binary
assert varve_zarr.__file__.startswith({room!r}), varve_zarr.__file__
assert _binary.find() == {room!r} + "/bin/varve", _binary.find()
print("installed:", float(varve_zarr.demo().open().t2m.mean()))
"""
        clean = {k: v for k, v in os.environ.items() if k not in ("VARVE_BINARY", "PYTHONPATH")}
        subprocess.run([python, "-c", code], check=True, env=clean, cwd=room)
        subprocess.run([Path(room, "bin", "varve"), "version"], check=True)


def printed(python: str | Path, code: str) -> str:
    """Return what a line of Python prints."""
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Do it for the platforms that are named, or all."""
    dist, targets = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(TAGS)
    for target in targets:
        print(inspect(build(target, dist), target), flush=True)
    here = CustomBuildHook._here()
    if here in targets and os.name == "posix":
        (wheel,) = dist.glob(f"*-py3-none-{TAGS[here]}.whl")
        install(wheel)
    print(f"{len(targets)} passed, 0 failed")


if __name__ == "__main__":
    main()
