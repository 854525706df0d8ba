"""The report in a real browser, where one is found: figures drawn, script run, nothing logged, no sideways
scrolling.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kwis.report import write_html
from tests.report.checked import Checked
from tests.report.example import evaluation_of
from tests.report.test_page import NASTY, POOR

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next((found for found in map(shutil.which, NAMES) if found), None)
QUIET = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no Chromium on the PATH (looked for {', '.join(NAMES)})"
)


def opened(page: Path, profile: Path, *options: str) -> tuple[str, list[str]]:
    """The page's elements after its script has run, and what the browser's console said."""
    flags = [
        f"--{flag}"
        for flag in (
            *QUIET,
            "disable-sync",
            "enable-logging=stderr",
            f"user-data-dir={profile}",
            *options,
            "dump-dom",
        )
    ]
    done = subprocess.run(
        [str(BROWSER), *flags, page.as_uri()], capture_output=True, timeout=120, check=True, encoding="utf-8"
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    gains, verdicts = (0.02, 0.03, -0.01, 0.004, 0.1), (POOR,) * 5
    evaluation = evaluation_of(
        NASTY, ("<img src=x>", "revenue"), gains=gains, verdicts=verdicts, column="<script>alert(3)</script>"
    )
    return write_html(evaluation, tmp_path_factory.mktemp("report") / "report.html")


def test_figures_are_drawn_and_nothing_is_logged(report, tmp_path):
    elements, console = opened(report, tmp_path)
    assert console == []
    page = Checked(elements)
    written = Checked(report.read_text(encoding="utf-8"))
    assert page.attributes[page.places("html")[0]]["data-ready"] == "yes"
    assert len(page.places("svg")) == len(written.places("svg")) > 0
    assert len(page.places("circle")) == len(written.places("circle")) > 100
    assert page.attributes[page.names.index("button")].get("hidden") is None
    assert len(page.places("button")) > len(written.places("button"))  # headings of tables can be clicked now
    assert len(page.places("script")) == 1


def test_a_page_with_a_fault_would_be_noticed(tmp_path):
    page = tmp_path / "fault.html"
    page.write_text("<!doctype html><title>x</title><script>nothing.here()</script>")
    assert opened(page, tmp_path / "profile")[1] != []


def test_tables_sort_and_the_theme_turns(report, tmp_path):
    """The page within a frame, clicked by the page around it, which shows what came of it as its title."""
    clicks = """
      const inside = document.querySelector('iframe').contentDocument;
      const table = [...inside.querySelectorAll('table')].find(
        (t) => t.caption.textContent.startsWith('Most influential'));
      const weights = () => [...table.tBodies[0].rows].map((row) => row.cells[2].textContent).join(',');
      const before = weights();
      table.tHead.rows[0].cells[2].firstChild.click();
      const up = weights();
      table.tHead.rows[0].cells[2].firstChild.click();
      inside.getElementById('theme').click();
      const heading = table.tHead.rows[0].cells[2].getAttribute('aria-sort');
      document.title = [before, up, weights(), heading, inside.documentElement.dataset.theme].join(' ');
    """
    page = report.parent / "clicks.html"
    page.write_text(
        f'<!doctype html><iframe src="{report.name}"></iframe><script>onload = () => {{ {clicks} }}</script>'
    )
    elements, console = opened(page, tmp_path, "allow-file-access-from-files")
    assert console == []
    before, up, down, heading, theme = elements.split("<title>")[1].split("<")[0].split(" ")
    assert before == down == "17.3,8.65,5.77"
    assert up == "5.77,8.65,17.3"
    assert heading == "descending"
    assert theme == "dark"


def test_nothing_sticks_out_sideways_on_any_screen(report, tmp_path):
    """Frames as wide as telephones, tablets and desks; the page says how wide each of them would
    have to be.
    """
    widths = (360, 390, 768, 1200)
    frames = "".join(
        f'<iframe src="{report.name}" style="width:{width}px;height:900px;border:0"></iframe>'
        for width in widths
    )
    measure = (
        "[...document.querySelectorAll('iframe')].map((f) => f.contentDocument.documentElement.scrollWidth)"
    )
    page = report.parent / "frames.html"
    page.write_text(
        f"<!doctype html>{frames}<script>onload = () => {{ document.title = {measure}.join(' ') }}</script>"
    )
    elements, _ = opened(
        page, tmp_path, "allow-file-access-from-files", "hide-scrollbars", "window-size=1400,1000"
    )
    assert elements.split("<title>")[1].split("<")[0] == "360 390 768 1200"
