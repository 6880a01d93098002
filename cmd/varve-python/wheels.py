"""Builds and checks the wheels: wheels.py DIST [GOOS/GOARCH ...], by default for all platforms.

Every wheel is checked: its tags, the format and architecture of the binary, and the commit in the binary. The wheel
for this machine is installed from local files in a new environment, and with uv. The wheel for Windows on amd64 runs
under Wine, if WINE names a program that starts it (see fixtures/wine/run.sh).
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
# The architecture in the header of each executable format.
ELF = {"amd64": b"\x3e\x00", "arm64": b"\xb7\x00"}
MACH_O = {"amd64": b"\x07\x00\x00\x01", "arm64": b"\x0c\x00\x00\x01"}
PE = {"amd64": b"\x64\x86", "arm64": b"\x64\xaa"}
# Reads the sample archive through the installed package.
READ_DEMO = "import varve_zarr; print(float(varve_zarr.demo({folder!r}).open().t2m.mean()))"


def build(target: str, dist: Path) -> Path:
    """Build the wheel for a platform and return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
    subprocess.run(command, cwd=HERE, env={**os.environ, "VARVE_TARGET": target}, check=True)
    return wheel_of(target, dist)


def wheel_of(target: str, dist: Path) -> Path:
    """Return the path of the wheel for a platform."""
    (wheel,) = dist.glob(f"*-py3-none-{TAGS[target]}.whl")
    return wheel


def has_format(binary: bytes, target: str) -> bool:
    """Whether a binary is an executable for a platform."""
    system, _, architecture = target.partition("/")
    if system == "windows":
        at = int.from_bytes(binary[0x3C:0x40], "little")
        return binary[:2] == b"MZ" and binary[at : at + 6] == b"PE\0\0" + PE[architecture]
    if system == "darwin":
        return binary[:8] == b"\xcf\xfa\xed\xfe" + MACH_O[architecture]
    return binary[:4] == b"\x7fELF" and binary[18:20] == ELF[architecture]


def check(wheel: Path, target: str) -> str:
    """Check the tags and the binary of a wheel. Return a line that describes it."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if "/scripts/varve" in n)
        binary = archive.read(name)
        (metadata,) = (n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
        tags = [line.removeprefix("Tag: ") for line in archive.read(metadata).decode().splitlines() if line.startswith("Tag: ")]
    wanted = [f"py3-none-{tag}" for tag in TAGS[target].split(".")]
    if sorted(tags) != sorted(wanted):
        raise SystemExit(f"{wheel.name}: tags are {tags} instead of {wanted}")
    if not has_format(binary, target) or name.endswith(".exe") != target.startswith("windows/"):
        raise SystemExit(f"{wheel.name}: {name} is not an executable for {target}")
    commit = output("git", "-C", HERE, "rev-parse", "HEAD")
    if commit.encode() not in binary:
        raise SystemExit(f"{wheel.name}: the binary does not have the commit {commit}")
    return f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, commit {commit[:12]}"


def install(wheel: Path, dist: Path) -> None:
    """Install a wheel and its dependencies without an index, with pip and with uv, and read a manifest."""
    downloads = dist / "dependencies"
    pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary=:all:"]
    subprocess.run([*pip, "-d", downloads, "-c", HERE / "requirements.txt", wheel], check=True)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        clean = {k: v for k, v in os.environ.items() if k not in ("VARVE_BINARY", "PYTHONPATH", "VIRTUAL_ENV")}
        clean |= {"UV_PYTHON_DOWNLOADS": "never", "UV_CACHE_DIR": str(room / "cache"), "UV_TOOL_DIR": str(room / "tools")}

        def run(*command: str | Path) -> str:
            return output(*command, env=clean, cwd=room)

        run(sys.executable, "-m", "venv", room / "venv")
        python = room / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--find-links", downloads, wheel)
        version = run(room / "venv" / "bin" / "varve", "--version")
        found = run(python, "-c", "from varve_zarr import _binary; print(_binary.find())")
        if found != str(room / "venv" / "bin" / "varve"):
            raise SystemExit(f"{wheel.name}: the package uses {found} instead of the binary of the wheel")
        print("pip install:", version, run(python, "-c", READ_DEMO.format(folder=str(room / "demo"))), flush=True)
        uv = [Path(sys.executable).with_name("uv"), "tool", "run", "--python", sys.executable, "--no-index"]
        by_uv = run(*uv, "--find-links", downloads, "--from", wheel, "varve", "--version")
        if by_uv != version:
            raise SystemExit(f"{wheel.name}: uv tool run prints {by_uv} instead of {version}")
        print("uv tool run:", by_uv, flush=True)


def run_under_wine(wheel: Path, wine: str) -> None:
    """Run the binary of the wheel for Windows: as a command, and as an engine over the loopback address."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith("/scripts/varve.exe"))
            (room / "varve.exe").write_bytes(archive.read(name))
        starter = room / "varve"
        starter.write_text(f'#!/bin/sh\nexec "{wine}" "{room}/varve.exe" "$@"\n')
        starter.chmod(0o755)
        print("Wine:", output(starter, "--version"), flush=True)
        code = "from varve_zarr import _engine; _engine._LOOPBACK = True; " + READ_DEMO.format(folder=str(room / "demo"))
        mean = output(sys.executable, "-c", code, env={**os.environ, "VARVE_BINARY": str(starter)}, cwd=room)
        print("Wine, engine over loopback:", mean, flush=True)


def output(*command: str | Path, **options: object) -> str:
    """Return the standard output of a command, and raise if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options)  # type: ignore[call-overload]
    return str(done.stdout).strip()


def main() -> None:
    """Build and check the wheels."""
    dist, targets = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(TAGS)
    for target in targets:
        print(check(build(target, dist), target), flush=True)
    here = CustomBuildHook._here()
    if here in targets and os.name == "posix":
        install(wheel_of(here, dist), dist)
    if "windows/amd64" in targets and "WINE" in os.environ:
        run_under_wine(wheel_of("windows/amd64", dist), os.environ["WINE"])
    print(f"{len(targets)} passed, 0 failed")


if __name__ == "__main__":
    main()
