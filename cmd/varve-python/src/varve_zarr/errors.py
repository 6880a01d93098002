"""The exceptions of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

__all__ = [
    "Cancelled", "Corrupt", "EngineError", "ManifestDamaged", "NotAllowed", "NotFound", "Refused", "SourceChanged", "Unsupported", "Usage",
    "VarveError",
]  # fmt: skip


class VarveError(Exception):
    """The base of all exceptions. ``code`` names the kind of error, ``findings`` are the reasons of a refusal."""

    code: ClassVar[str] = "failed"
    _by_code: ClassVar[dict[str, type[VarveError]]] = {}
    _by_exit: ClassVar[dict[int, type[VarveError]]] = {}

    def __init_subclass__(cls, code: str, exit_code: int | None = None) -> None:
        """Register an exception by its code in the engine protocol, and by the exit code of the command."""
        cls.code = code
        VarveError._by_code[code] = cls
        if exit_code is not None:
            VarveError._by_exit[exit_code] = cls

    def __init__(self, message: str, *, findings: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), str(self), self.findings)


class Usage(VarveError, ValueError, code="usage", exit_code=2):
    """An argument has an invalid value."""


class Refused(VarveError, code="refused", exit_code=3):
    """The files cannot be combined as asked. ``findings`` give the reasons, and the options that allow it."""


class NotFound(VarveError, FileNotFoundError, code="not_found"):
    """A manifest, snapshot or group does not exist."""


class SourceChanged(VarveError, code="source_changed", exit_code=4):
    """A source is missing, or changed since it was scanned."""


class Corrupt(VarveError, code="corrupt", exit_code=5):
    """Bytes of a source violate their format."""


class ManifestDamaged(Corrupt, code="manifest_damaged"):
    """A file of a manifest is missing or damaged."""


class NotAllowed(VarveError, PermissionError, code="not_allowed", exit_code=6):
    """Someone else built the manifest, and you have not allowed it to read this source: pass ``allow=[...]``."""


class Unsupported(VarveError, NotImplementedError, code="unsupported"):
    """A valid codec, structure or format that varve does not support."""


class Cancelled(VarveError, code="cancelled", exit_code=130):
    """The request was cancelled."""


class Closed(VarveError, code="closed"):
    """The dataset is not open in the varve process."""


class EngineError(VarveError, RuntimeError, code="engine"):
    """The varve process cannot be started, has another version, or ended."""


def _unpickle(kind: type[VarveError], message: str, findings: list[Mapping[str, Any]]) -> VarveError:
    return kind(message, findings=findings)


def from_code(code: str, message: str) -> VarveError:
    """Return the exception for an error code of the varve process."""
    return VarveError._by_code.get(code, VarveError)(message)


def from_exit(status: int, message: str, findings: Sequence[Mapping[str, Any]] = (), code: str = "") -> VarveError:
    """Return the exception for an exit code of a command, and for the code that the command gave its error."""
    kind = VarveError._by_exit.get(status, VarveError)
    if status in _SHARED_EXITS:
        kind = VarveError._by_code.get(code, kind)
    return kind(message, findings=findings)


_SHARED_EXITS = (1, 4, 5)  # exit codes that stand for several exceptions
