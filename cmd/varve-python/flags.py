"""Writes src/varve_zarr/_flags.py, the types of the command's flags, from its help. VARVE_BINARY names the command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from varve_zarr import _binary

COMMANDS = (
    "append", "build", "check", "compact", "export icechunk", "export kerchunk", "export table", "export zarr", "gc", "index", "info",
    "inspect", "refresh", "relocate", "remove", "repair", "restore", "scan", "serve", "sync", "tag", "trust", "verify",
)  # fmt: skip
FILE = Path(__file__).parent / "src" / "varve_zarr" / "_flags.py"
# Flags that functions set themselves.
OWN = {"check": {"html"}, "scan": {"output"}}
HEAD = '''"""The types of flags, by command. flags.py writes this file from the help of the command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TypedDict

Text = str | os.PathLike[str]
Texts = Text | Iterable[Text] | Mapping[str, object]
"""A text, several, or a mapping, of which each item becomes KEY=VALUE."""
'''


def text() -> str:
    """Return what the file is to contain."""
    return HEAD + "".join(_class(command) for command in COMMANDS)


def _class(command: str) -> str:
    found = subprocess.run([_binary.find(), *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
    lines = [f'\n\nclass {command.title().replace(" ", "")}Flags(TypedDict, total=False):\n    """Flags of ``varve {command}``."""\n']
    for name, value, help_text in re.findall(r"^ +(?:-\w, )?--([\w-]+)(?: (\S+))?  +(.*)$", found.partition("\nFlags:\n")[2], re.MULTILINE):
        if name in {"help", "json", "quiet"} | OWN.get(command, set()):
            continue
        kind = {"": "bool", "number": "int", "float": "float", "bytes": "int | str"}.get(value, "Texts")
        key = name.replace("-", "_")
        lines.append(f'    {key + "_" if key == "from" else key}: {kind} | None\n    """{_sentence(help_text)}"""\n')
    return "\n".join(lines)


def _sentence(line: str) -> str:
    return (line[0].upper() + line[1:]).replace("\\", "\\\\").rstrip(".") + "."


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(FILE.read_text(encoding="utf-8") != text())
    FILE.write_text(text(), encoding="utf-8")
