"""A program that answers one JSON line with one JSON line, each within a time limit."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from netsim.errors import NetcosimError

MAX_LINE_BYTES = 1 << 26
_CHUNK_BYTES = 1 << 16
_END_LIMIT_S = 5.0
_SHOWN_BYTES = 80


class LineProcess:
    """A running program; its standard error is that of this process.

    No shell reads the command. The limit is for each answer.
    """

    def __init__(self, command: Sequence[str], time_limit_s: float) -> None:
        self._limit_s = time_limit_s
        pipe, words = subprocess.PIPE, list(command)
        try:
            # A session of its own: Ctrl-C reaches this process, which then ends the program.
            process = subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise NetcosimError(f"{shlex.join(command)}: cannot be started: {why}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._pipes = process, (process.stdin, process.stdout)
        self._in, self._out = (stream.fileno() for stream in self._pipes)
        # A program that does not read must not block this one.
        os.set_blocking(self._in, False)
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(self._in, select.POLLOUT)
        self._readable.register(self._out, select.POLLIN)
        self._read = b""

    def exchange(self, message: Mapping[str, Any]) -> Any:
        """Send a message and return the answer."""
        deadline_s = monotonic() + self._limit_s
        if self._readable.poll(0):
            self._receive()
            self._refuse_more()
        self._write(message, deadline_s)
        while (end := self._read.find(b"\n")) < 0:
            self._wait(self._readable, deadline_s)
            self._receive()
        line, self._read = self._read[:end], self._read[end + 1 :]
        self._refuse_more()
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise NetcosimError(f"wrote a line that is not JSON: {_shown(line)}") from None

    def end(self, message: Mapping[str, Any]) -> int | None:
        """Send the last message; return the exit status, or None if the program had to be killed.

        The program has some seconds to end.
        """
        status = None
        with suppress(OSError, NetcosimError, subprocess.TimeoutExpired):
            self._write(message, monotonic() + _END_LIMIT_S)
            self._pipes[0].close()
            status = self._process.wait(min(self._limit_s, _END_LIMIT_S))
        self.kill()
        return status

    def kill(self) -> None:
        """End the program, and what it has started, at once."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in self._pipes:
            pipe.close()

    def _receive(self) -> None:
        chunk = os.read(self._out, _CHUNK_BYTES)
        if not chunk:
            raise NetcosimError(self._ended())
        self._read += chunk
        if len(self._read) > MAX_LINE_BYTES:
            raise NetcosimError(f"wrote a line of more than {MAX_LINE_BYTES:,} bytes")

    def _refuse_more(self) -> None:
        if self._read:
            raise NetcosimError(f"wrote more than one line: {_shown(self._read)}")

    def _write(self, message: Mapping[str, Any], deadline_s: float) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                with suppress(BlockingIOError):
                    line = line[os.write(self._in, line) :]
                if line:
                    self._wait(self._writable, deadline_s)
        except BrokenPipeError:
            raise NetcosimError(self._ended()) from None

    def _wait(self, ready: select.poll, deadline_s: float) -> None:
        left_s = deadline_s - monotonic()
        if left_s <= 0 or not ready.poll(left_s * 1000):
            raise NetcosimError(f"no answer within {self._limit_s:g} s (time_limit)")

    def _ended(self) -> str:
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "closed its standard output"
        how = f"with status {status}" if status >= 0 else f"by signal {-status}"
        return f"the program ended {how}; its standard error may show why"


def _shown(line: bytes) -> str:
    more = "..." if len(line) > _SHOWN_BYTES else ""
    return repr(line[:_SHOWN_BYTES].decode(errors="replace")) + more
