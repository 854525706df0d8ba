"""Which process works on what, so that two runs on one store share the work."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def this_owner() -> str:
    """A name for the caller: its process, when that was started, and a token of its own."""
    pid = os.getpid()
    return f"{pid}/{_started(pid)}/{secrets.token_hex(4)}"


def is_alive(owner: str) -> bool:
    """Whether the process of an owner still runs, on this machine: a store is a local file."""
    pid, started, _ = owner.split("/")
    found = _started(int(pid))
    if found:
        return found == started
    if os.name != "posix":  # no way to tell without a library: better to wait than to do work twice
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not started or found == started


def _started(pid: int) -> str:
    """When a process was started, in ticks since boot; empty where the system does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
