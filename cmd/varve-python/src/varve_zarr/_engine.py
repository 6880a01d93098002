"""The varve process that belongs to this Python process, and the connections to it.

The protocol is described in manifest/engine/doc.go.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import IO

import numpy as np
import numpy.typing as npt

from varve_zarr import _binary, _memory
from varve_zarr.errors import EngineError, VarveError, from_code

VERSION = 1
HELLO, OPEN, CLOSE, READ, GET, LIST, DRAW, SOURCES, REFS = range(1, 10)
DONE, STAGED, NO_KEY, FAILED = range(4)

_HEAD = struct.Struct("<IIQ")
_FRAME = struct.Struct("<IB")
_BLOCK = struct.Struct("<QQ")
_MAX_IDLE = 30.0  # seconds for which a connection is kept that no request needs
STAGE_AT = 10  # offset in a read request of the byte that asks for shared memory
_LOOPBACK = sys.platform == "win32"
# Variables that the varve process reads when it starts. If one of them changes, another process is needed.
_PREFIXES = ("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR_HOST", "VARVE_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_")


NDArray = npt.NDArray[np.uint8]


class _Lost(Exception):
    """The connection ended before the answer arrived."""


class Connection:
    """A connection to the varve process, for one request at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._head = bytearray(_HEAD.size)
        self._stage: _memory.Stage | None = None
        self.used = 0.0  # when the last request ended
        self._tried_stage = False  # made on the first large read

    def close(self) -> None:
        self._socket.close()
        if self._stage is not None:
            self._stage.close()
            self._stage = None

    def ask(self, op: int, body: bytes, into: NDArray | None = None) -> tuple[int, bytes]:
        """Send a request and return the status and the payload. With ``into``, the payload is written there."""
        try:
            self._socket.sendall(_FRAME.pack(len(body) + 1, op) + body)
            return self._answer(None if into is None else into.data)
        except OSError as problem:
            raise _Lost from problem

    def read(self, body: bytes, into: NDArray) -> tuple[int, bytes]:
        """Read elements into an array of bytes, through shared memory."""
        is_new = not self._tried_stage
        if is_new:
            self._stage, self._tried_stage = _memory.create(), True
        if self._stage is None:
            return self.ask(READ, body, into)
        body = body[:STAGE_AT] + b"\x01" + body[STAGE_AT + 1 :]
        frame = _FRAME.pack(len(body) + 1, READ) + body
        try:
            sent = socket.send_fds(self._socket, [frame], [self._stage.descriptor]) if is_new else 0
            self._socket.sendall(frame[sent:])
            return self._take_blocks(self._stage, into)
        except OSError as problem:
            raise _Lost from problem

    def _take_blocks(self, stage: _memory.Stage, into: NDArray) -> tuple[int, bytes]:
        missing = len(into)
        block = bytearray(_BLOCK.size)
        while missing > 0:
            got = self._socket.recvmsg_into([self._head, block])[0]
            while got < _HEAD.size:
                got += self._more(memoryview(self._head)[got:])
            status, slot, size = _HEAD.unpack(self._head)
            if status != STAGED:
                payload = bytearray(size)
                payload[: got - _HEAD.size] = block[: got - _HEAD.size]
                self._fill(memoryview(payload), got - _HEAD.size)
                return status, bytes(payload)
            self._fill(memoryview(block), got - _HEAD.size)
            at, length = _BLOCK.unpack(block)
            stage.copy(slot, into[at : at + length])
            missing -= length
            self._socket.sendall(bytes((slot,)))
        return STAGED, b""

    def _answer(self, into: memoryview | None) -> tuple[int, bytes]:
        got = 0
        if into is not None and not _LOOPBACK:
            got = self._socket.recvmsg_into([self._head, into])[0]  # one call is enough for a small answer
        while got < _HEAD.size:
            got += self._more(memoryview(self._head)[got:])
        status, _, size = _HEAD.unpack(self._head)
        got -= _HEAD.size
        if status == DONE and into is not None:
            if size != len(into):
                raise EngineError(f"varve sent {size} bytes instead of {len(into)}; {_REINSTALL}")
            self._fill(into, got)
            return status, b""
        payload = bytearray(size)
        if into is not None:
            payload[:got] = into[:got]  # the beginning of an error message was written there
        self._fill(memoryview(payload), got)
        return status, bytes(payload)

    def _fill(self, to: memoryview, got: int) -> None:
        while got < len(to):
            got += self._more(to[got:])

    def _more(self, to: memoryview) -> int:
        got = self._socket.recv_into(to)
        if got == 0:
            raise _Lost
        return got


class Engine:
    """A varve process and its connections."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._idle: deque[Connection] = deque()
        self._dropped: deque[int] = deque()
        self._datasets: set[int] = set()
        self.is_usable = True  # False after it ended, and in forked children
        self.binary = _binary.find()
        self._control: socket.socket | IO[bytes]
        try:
            if _LOOPBACK:
                self._start_loopback(environment)
            else:
                self._start(environment)
        except OSError as problem:
            raise EngineError(f"cannot start {self.binary}: {problem}") from problem
        self._greet()

    def _start(self, environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # A new session, so that Ctrl-C reaches only Python, which then cancels the request.
            self.process = subprocess.Popen(
                [self.binary, "engine"], stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env=environment, start_new_session=True, cwd="/"
            )
        self._control = ours

    def _start_loopback(self, environment: dict[str, str]) -> None:
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
        self.process = subprocess.Popen(
            [self.binary, "engine", "--loopback"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, creationflags=flags
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._control = self.process.stdin
        self._token = secrets.token_hex(32).encode()
        self.process.stdin.write(self._token + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        self.process.stdout.close()
        if not line:
            raise EngineError(f"{self.binary} engine ended with exit code {self.process.wait()}; {_REINSTALL}")
        self._port = int(line)

    def _greet(self) -> None:
        """Check that the binary speaks this version of the protocol."""
        try:
            self.hello: dict[str, str] = json.loads(self.ask(HELLO, struct.pack("<I", VERSION))[1])
        except _Lost:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
            status = self.process.returncode
            self.stop()
            raise EngineError(
                f"{self.binary} engine ended at once with exit code {status}: not varve, or an old version; {_REINSTALL}"
            ) from None
        except VarveError as problem:
            self.stop()
            raise EngineError(f"{self.binary}: {problem}; {_REINSTALL}") from None

    def _connect(self) -> Connection:
        if _LOOPBACK:
            sock = socket.create_connection(("127.0.0.1", self._port))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(self._token)
            return Connection(sock)
        assert isinstance(self._control, socket.socket)
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"c"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return Connection(ours)

    def ask(self, op: int, body: bytes, into: NDArray | None = None) -> tuple[int, bytes]:
        """Send a request and return the status and the payload, or raise the error of the varve process.

        With ``into``, the payload is written there, and the one that is returned is empty.
        """
        connection = self._take()
        staged = into is not None and len(into) >= _memory.MIN_SIZE and not _LOOPBACK
        try:
            if self._dropped and op != CLOSE:
                self._close_dropped(connection)
            status, payload = connection.read(body, into) if staged and into is not None else connection.ask(op, body, into)
        except BaseException:
            connection.close()  # this cancels the request
            raise
        if status == FAILED and staged:
            connection.close()  # blocks may still arrive
        else:
            self._keep(connection)
        if status != FAILED:
            return status, payload
        fault = json.loads(payload)
        raise from_code(fault["code"], fault["message"])

    def _take(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._connect()
        except OSError as problem:
            raise _Lost from problem

    def _keep(self, connection: Connection) -> None:
        """Keep a connection for the next request, and close those that no request needed for some time."""
        connection.used = time.monotonic()
        self._idle.append(connection)
        with contextlib.suppress(IndexError):
            while self._idle[0].used < connection.used - _MAX_IDLE:
                self._idle.popleft().close()

    def add(self, dataset: int) -> None:
        """Count a dataset that was opened."""
        self._datasets.add(dataset)

    def drop(self, dataset: int) -> None:
        """Close a dataset with the next request. This sends nothing, because finalizers call it.

        With the last dataset, the idle connections and their shared memory go too.
        """
        self._dropped.append(dataset)
        self._datasets.discard(dataset)
        if not self._datasets:
            self._close_idle()

    def _close_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _close_dropped(self, connection: Connection) -> None:
        handles = []
        with contextlib.suppress(IndexError):
            while True:
                handles.append(self._dropped.popleft())
        connection.ask(CLOSE, struct.pack(f"<{len(handles)}I", *handles))

    def ending(self) -> str:
        """Describe how the process ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        status = self.process.returncode
        if status is None:
            return "the varve process closed a connection"
        return f"the varve process was killed by signal {-status}" if status < 0 else f"the varve process ended with exit code {status}"

    def stop(self) -> None:
        """End the process and wait for it."""
        self.abandon()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def abandon(self) -> None:
        """Close the connections of this Python process. The varve process ends when its parent has closed them too."""
        self.is_usable = False
        self._close_idle()
        with contextlib.suppress(OSError):
            self._control.close()


_REINSTALL = "reinstall varve-zarr (pip install --force-reinstall varve-zarr), or set VARVE_BINARY to the binary that belongs to it"
_lock = threading.Lock()
_engines: dict[tuple[tuple[str, str], ...], Engine] = {}


def get(storage: tuple[tuple[str, str], ...] = ()) -> Engine:
    """Return the engine with these storage options as environment variables. Start it if needed."""
    key = _relevant(storage)
    found = _engines.get(key)
    if found is not None:
        return found
    with _lock:
        found = _engines.get(key)
        if found is None:
            found = _engines[key] = Engine({**os.environ, **dict(storage)})
        return found


def _relevant(storage: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in os.environ.items() if name.startswith(_PREFIXES)) + storage


def forget(engine: Engine) -> None:
    """Remove an engine that ended, so that the next request starts another."""
    with _lock:
        for key, other in list(_engines.items()):
            if other is engine:
                del _engines[key]
    engine.abandon()


def stop() -> None:
    """End all varve processes of this Python process. The next request starts another."""
    with _lock:
        for engine in _engines.values():
            engine.stop()
        _engines.clear()


def _forked() -> None:
    """In a forked child, close its copies of the connections. The child starts its own engine on first use."""
    global _lock
    _lock = threading.Lock()
    for engine in _engines.values():
        engine.abandon()
        engine.process.returncode = 0  # not a child of this process: never wait for it
    _engines.clear()


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def ask_retrying[T](storage: tuple[tuple[str, str], ...], do: Callable[[Engine], T], engine: Engine | None = None) -> T:
    """Return ``do(engine)``. If the process ends meanwhile, start another and repeat once: requests only read."""
    if engine is None or not engine.is_usable:
        engine = get(storage)
    try:
        return do(engine)
    except _Lost:
        first = engine.ending()
        forget(engine)
    engine = get(storage)
    try:
        return do(engine)
    except _Lost:
        second = engine.ending()
        forget(engine)
    raise EngineError(f"{first}; the request was repeated, and {second}. Select less if memory is short") from None
