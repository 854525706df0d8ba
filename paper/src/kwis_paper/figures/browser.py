"""Drawings as PDF and PNG, by a browser of this machine: the drawings' style needs one, and no dependency."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from kwis import InputError

FORMATS = ("pdf", "png")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")
_SECONDS = 120
_SCALE = 2  # pixels per unit of a drawing


def find_browser() -> str:
    """Path of a browser; refused in a sentence where there is none."""
    found = next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None:
        raise InputError(
            f"`format` must be svg where no browser is on the PATH (looked for {', '.join(_NAMES)}), "
            "got pdf or png"
        )
    return found


def convert(drawing: str, path: Path, browser: str) -> Path:
    """Write an SVG text as the PDF or PNG that ``path`` ends in."""
    width, height = _size(drawing)
    page = (
        f"<!doctype html><meta charset=utf-8><style>@page {{ size: {width}px {height}px; margin: 0 }} "
        f"body {{ margin: 0 }} svg {{ display: block; width: {width}px; height: {height}px }}</style>"
        f"{drawing}"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "drawing.html"
        source.write_text(page, encoding="utf-8")
        task = (
            ["--no-pdf-header-footer", f"--print-to-pdf={path.absolute()}"]
            if path.suffix == ".pdf"
            else [
                f"--screenshot={path.absolute()}",
                f"--window-size={width},{height}",
                f"--force-device-scale-factor={_SCALE}",
            ]
        )
        command = [browser, *_FLAGS, f"--user-data-dir={folder}/profile", *task, source.as_uri()]
        subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
    if path.suffix == ".pdf":
        path.write_bytes(undated(path.read_bytes()))
    return path


def undated(pdf: bytes) -> bytes:
    """A PDF whose dates are all the same, so that one drawing is always one file; no byte moves."""
    return re.sub(rb"\(D:\d{14}", b"(D:20000101000000", pdf)


def _size(drawing: str) -> tuple[int, int]:
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
    assert found is not None  # every drawing of ours has one
    return round(float(found.group(1))), round(float(found.group(2)))
