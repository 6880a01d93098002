"""Reports and manifests, as Python objects and in notebooks."""

from __future__ import annotations

import html
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from varve_zarr import _command, _dataset
from varve_zarr._dataset import Options
from varve_zarr.errors import NotFound

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Finding = Mapping[str, Any]


class Report(Sequence[Finding]):
    """The findings of a check or build: where files disagree, and the effect. A sequence of mappings."""

    def __init__(self, findings: Sequence[Finding], arrays: Sequence[Mapping[str, Any]] = (), page: str = "", refusal: str = "") -> None:
        self.findings, self.arrays, self.page, self.refusal = list(findings), list(arrays), page, refusal

    def __getitem__(self, index: Any) -> Any:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def ok(self) -> bool:
        """Whether a build with the same options would succeed."""
        return not self.refusal

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with one row for each finding."""
        import pandas as pd

        return pd.DataFrame(self.findings)

    def __repr__(self) -> str:
        effects = Counter(str(f.get("effect", "")) for f in self.findings)
        counted = ", ".join(f"{n} {effect}" for effect, n in effects.items()) or "none"
        lines = [f"<varve_zarr.Report: {len(self.arrays)} arrays; findings: {counted}{'' if self.ok else '; build would refuse'}>"]
        lines += [f"  {f.get('text', '')} [{f.get('code', '')}]" for f in self.findings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if self.page:  # a whole page with pictures; the frame keeps its styles out of the notebook
            return f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:32em;border:0"></iframe>'
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(f.get(k, '')))}</td>" for k in ("effect", "text", "code", "array", "count")) + "</tr>"
            for f in self.findings
        )
        if not rows:
            return "<p>All files agree.</p>"
        return f"<table><tr><th>effect</th><th>finding</th><th>code</th><th>array</th><th>files</th></tr>{rows}</table>"


class Manifest:
    """A manifest: a folder or object-store prefix that stores a virtual dataset."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        report: Report | None = None,
        allow: Sequence[str] = (),
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = _dataset.absolute(path)
        self.report = report
        self._allow, self._storage = tuple(allow), dict(storage_options or {})

    def open(self, **options: Any) -> xr.Dataset:
        """Open the dataset in xarray. Options are those of ``xarray.open_dataset``."""
        import xarray as xr

        return xr.open_dataset(self.path, engine="varve", **{**self._access(), **options})

    def open_datatree(self, **options: Any) -> xr.DataTree:
        """Open all groups in xarray."""
        import xarray as xr

        return xr.open_datatree(self.path, engine="varve", **{**self._access(), **options})

    def _access(self) -> dict[str, Any]:
        return {"allow": self._allow, "storage_options": self._storage}

    def _opened(self) -> tuple[_dataset.Dataset, _dataset.Contents]:
        return _dataset.open_dataset(self.path, None, Options.from_arguments(self._allow, False, self._storage))

    @property
    def snapshots(self) -> list[dict[str, Any]]:
        """All snapshots, the newest first."""
        found: list[dict[str, Any]] = json.loads(
            _command.run("history", [self.path], options={"json": True}, storage_options=self._storage)
        )
        return found

    @property
    def sources(self) -> list[dict[str, Any]]:
        """The sources of the current snapshot, with the size and time at which they were scanned."""
        return list(self._opened()[0].sources())

    def to_dataframe(self) -> pd.DataFrame:
        """Return the sources as a table."""
        import pandas as pd

        return pd.DataFrame(self.sources)

    def mosaic(self, array: str) -> str:
        """Return a picture of the chunks of an array and of how they are served, as SVG."""
        dataset, contents = self._opened()
        wanted = "/" + array.strip("/")
        for info in contents.arrays:
            if info.path == wanted:
                return dataset.draw(info.number)
        raise NotFound(f"{self.path} has no array {wanted}; it has {', '.join(a.path for a in contents.arrays)}")

    def _decoded(self) -> xr.Dataset:
        """Return the dataset with decoded times, if xarray can decode them."""
        try:
            return self.open(chunks=None)
        except ValueError:
            return self.open(decode_times=False, chunks=None)

    def __repr__(self) -> str:
        return f"varve_zarr.Manifest({self.path!r})"

    def _repr_html_(self) -> str:
        dataset, contents = self._opened()
        parts = [f"<p><b>{html.escape(self.path)}</b>, snapshot {dataset.snapshot[:12]}</p>"]
        largest = max(contents.arrays, key=lambda a: len(a.shape), default=None)
        if largest is not None:
            parts.append(f"<p>{html.escape(largest.path)}</p>{dataset.draw(largest.number)}")
        if self.report:
            parts.append(self.report._repr_html_())
        with self._decoded() as ds:
            parts.append(ds._repr_html_())
        return "".join(parts)
