"""Runs the tutorial: notebook.py SOURCE [DEST]. With DEST, the notebook with its output is written there."""

from __future__ import annotations

import os
import sys
import tempfile

import nbformat
from nbclient import NotebookClient


def main() -> None:
    """Run all cells, up to the first error."""
    notebook = nbformat.read(sys.argv[1], as_version=4)
    with tempfile.TemporaryDirectory() as room:
        os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": room}}).execute()
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    for cell in cells:
        cell.metadata.pop("execution", None)
    if sys.argv[2:]:
        notebook.metadata.language_info.pop("version", None)
        nbformat.write(notebook, sys.argv[2])
    print(f"{len(cells)} passed, 0 failed")


if __name__ == "__main__":
    main()
