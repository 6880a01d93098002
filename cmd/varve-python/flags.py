"""Writes src/varve_zarr/_flags.py, the types of the command's flags, from its help. VARVE_BINARY names the command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from varve_zarr import _binary

COMMANDS = (
    "append", "build", "check", "compact", "export icechunk", "export kerchunk", "export table", "export zarr", "gc", "index", "info",
    "inspect", "refresh", "relocate", "remove", "repair", "restore", "scan", "serve", "sync", "tag", "trust", "verify",
)  # fmt: skip
FILE = Path(__file__).parent / "src" / "varve_zarr" / "_flags.py"
# Flags that functions set themselves.
OWN = {"check": {"html"}, "scan": {"output"}}
# Classes of flags that the same commands have, with one of these flags.
SHARED = {"SourceFlags": "download", "FormatFlags": "raw", "CombineFlags": "join"}
HEAD = '''"""The types of flags, by command. flags.py writes this file from the help of the command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TypedDict

Text = str | os.PathLike[str]
Texts = Text | Iterable[Text] | Mapping[str, object]
"""A text, several, or a mapping, of which each item becomes KEY=VALUE."""
'''

Flag = tuple[str, str, str]
"""Name, the word for its value, and help."""


def text() -> str:
    """Return what the file is to contain."""
    flags = {command: _flags_of(command) for command in COMMANDS}
    users = {f: {c for c in COMMANDS if f in flags[c]} for command in COMMANDS for f in flags[command]}
    shared = {}
    for name, key in SHARED.items():
        (found,) = (flag for flag in users if flag[0] == key)
        shared[name] = [flag for flag in users if users[flag] == users[found]]
    out = [HEAD]
    for name, some in shared.items():
        out.append(_class(name, f"Flags that {', '.join(sorted(users[some[0]]))} share.", ["TypedDict"], some))
    for command, own in flags.items():
        bases = [name for name, some in shared.items() if some[0] in own]
        rest = [flag for flag in own if not any(flag in shared[name] for name in bases)]
        name = command.title().replace(" ", "") + "Flags"
        out.append(_class(name, f"Flags of ``varve {command}``.", bases or ["TypedDict"], rest))
    return "".join(out)


def _flags_of(command: str) -> list[Flag]:
    found = subprocess.run([_binary.find(), *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
    listed: list[Flag] = re.findall(r"^ +(?:-\w, )?--([\w-]+)(?: (\S+))?  +(.*)$", found.partition("\nFlags:\n")[2], re.MULTILINE)
    return [flag for flag in listed if flag[0] not in {"help", "json", "quiet"} | OWN.get(command, set())]


def _class(name: str, doc: str, bases: list[str], flags: list[Flag]) -> str:
    lines = [f'\n\nclass {name}({", ".join(bases)}, total=False):\n    """{doc}"""\n']
    for flag, value, help_text in flags:
        kind = {"": "bool", "number": "int", "float": "float", "bytes": "int | str"}.get(value, "Texts")
        key = flag.replace("-", "_")
        sentence = (help_text[0].upper() + help_text[1:]).replace("\\", "\\\\").rstrip(".") + "."
        lines.append(f'    {key + "_" if key == "from" else key}: {kind} | None\n    """{sentence}"""\n')
    return "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
