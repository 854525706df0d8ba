"""Photograph the top of the sample log's report, light and dark, for README: python -m docs.picture.

Needs Chromium; the pictures are made small by matplotlib's Pillow.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import kwis

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
    "--hide-scrollbars",
    "--window-size=1100,760",
]
SCHEMES = {"dark": "0", "light": "1"}


def report(path: Path) -> None:
    """Write the report of the sample log."""
    context = ["country", "device", "age", "member", "signup", "hour"]
    with contextlib.chdir(path.parent):  # the report shows the path of the log as it was given
        kwis.sample_log().write("sample.parquet")
        log = kwis.read_log(
            "sample.parquet", reward="click", propensity="propensity", context=context, group="user"
        )
        kwis.evaluate(log, ["p_new", "p_bold"]).to_html(path)


def photograph(page: Path, picture: Path, scheme: str, folder: Path) -> None:
    """A picture of the top of a page in a colour scheme, reduced to 64 colours."""
    from PIL import Image

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("chromium must be installed, got none on the path")
    options = [
        f"--user-data-dir={folder / scheme}",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
    ]
    subprocess.run(
        [browser, *FLAGS, *options, f"--screenshot={picture}", page.as_uri()], check=True, timeout=120
    )
    Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        page = Path(name).resolve() / "report.html"
        report(page)
        for scheme in SCHEMES:
            picture = Path(__file__).resolve().parent / "_static" / f"report-{scheme}.png"
            photograph(page, picture, scheme, Path(name))
            print(picture.name, picture.stat().st_size)
