"""Keys and random streams that follow from names, so that adding a cell changes no other cell's numbers."""

from __future__ import annotations

import hashlib

import numpy as np

_KEY_LENGTH = 16


def digest(*names: str | int | float) -> bytes:
    """Hash of the names in their order; the same on every machine and in every version of Python."""
    # A length before each name keeps ("ab", "c") apart from ("a", "bc").
    text = "".join(f"{len(str(name))}:{name}" for name in names)
    return hashlib.sha256(text.encode()).digest()


def content_key(*names: str | int | float) -> str:
    """Short text that stands for the names."""
    return digest(*names).hex()[:_KEY_LENGTH]


def seed(*names: str | int | float) -> int:
    """Seed that belongs to the names."""
    return int.from_bytes(digest("seed", *names)[:8], "big")


def stream(*names: str | int | float) -> np.random.Generator:
    """Random stream that belongs to the names."""
    return np.random.default_rng(seed(*names))
