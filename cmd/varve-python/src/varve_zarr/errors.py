"""Exceptions. Each has the code of the finding that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class VarveError(Exception):
    """What went wrong in varve. ``code`` is a word for programs, ``findings`` are the reasons of a refusal."""

    code: ClassVar[str] = "failed"

    def __init__(self, message: str, *, findings: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), str(self), self.findings)


def _again(kind: type[VarveError], message: str, findings: list[Mapping[str, Any]]) -> VarveError:
    return kind(message, findings=findings)


class Usage(VarveError, ValueError):
    """An argument has a value that means nothing here."""

    code = "usage"


class Refused(VarveError):
    """The files cannot be combined as asked. ``findings`` say why, and which option would allow it."""

    code = "refused"


class NotFound(VarveError, FileNotFoundError):
    """There is no such manifest, snapshot or file."""

    code = "not_found"


class SourceChanged(VarveError):
    """A source is missing, or is not what was scanned."""

    code = "source_changed"


class Corrupt(VarveError):
    """Bytes of a source are not what its format says."""

    code = "corrupt"


class ManifestDamaged(Corrupt):
    """A file of a manifest is missing, or is not what was published."""

    code = "manifest_damaged"


class NotAllowed(VarveError, PermissionError):
    """Nobody said that the source may be read: pass ``allow=[...]``, or set ``VARVE_ALLOW``."""

    code = "not_allowed"


class Unsupported(VarveError, NotImplementedError):
    """A codec, a structure or a format is valid and not supported."""

    code = "unsupported"


class Cancelled(VarveError):
    """The work was cancelled."""

    code = "cancelled"


class Closed(VarveError):
    """The dataset is not open in the varve process."""

    code = "closed"


class EngineError(VarveError, RuntimeError):
    """The varve process cannot be started, is of another version, or ended."""

    code = "engine"


_KINDS: dict[str, type[VarveError]] = {
    kind.code: kind
    for kind in (Usage, Refused, NotFound, SourceChanged, Corrupt, ManifestDamaged, NotAllowed, Unsupported, Cancelled, Closed)
}
_EXITS: dict[int, type[VarveError]] = {2: Usage, 3: Refused, 4: SourceChanged, 5: Corrupt, 6: NotAllowed, 130: Cancelled}


def of_code(code: str, message: str) -> VarveError:
    """Return the exception for a code of the varve process."""
    return _KINDS.get(code, VarveError)(message)


def of_exit(status: int, message: str, findings: Sequence[Mapping[str, Any]] = ()) -> VarveError:
    """Return the exception for an exit code of a command."""
    return _EXITS.get(status, VarveError)(message, findings=findings)
