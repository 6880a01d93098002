"""Builds the varve binary into the wheel, for the platform VARVE_TARGET (GOOS/GOARCH), by default this one."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The binary is linked statically, so it runs with any glibc or musl. Go needs macOS 12.
TAGS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the binary as a script of the wheel, so that installers put it on the PATH."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the binary, and set the platform tags of the wheel."""
        if version == "editable":
            return
        target = os.environ.get("VARVE_TARGET") or self._here()
        if target not in TAGS:
            raise ValueError(f"VARVE_TARGET={target}: use one of {', '.join(TAGS)}")
        system, _, architecture = target.partition("/")
        name = "varve.exe" if system == "windows" else "varve"
        top = Path(self.root).parent.parent
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=top, capture_output=True, text=True, check=False).stdout.strip()
        self._room = tempfile.TemporaryDirectory()
        binary = Path(self._room.name, name)
        subprocess.run(
            [os.environ.get("GO", "go"), "build", "-trimpath", f"-ldflags=-s -w -X main.buildCommit={commit}", "-o", binary, "./cmd/varve"],
            cwd=top,
            env={**os.environ, "CGO_ENABLED": "0", "GOOS": system, "GOARCH": architecture},
            check=True,
        )
        build_data["tag"] = f"py3-none-{TAGS[target]}"
        build_data["pure_python"] = False
        build_data["shared_scripts"] = {str(binary): name}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the binary, which is in the wheel now."""
        if version != "editable":
            self._room.cleanup()

    @staticmethod
    def _here() -> str:
        system, _, machine = sysconfig.get_platform().partition("-")
        architecture = "arm64" if machine.endswith(("arm64", "aarch64")) else "amd64"
        return {"linux": "linux", "macosx": "darwin", "win": "windows"}[system] + "/" + architecture
