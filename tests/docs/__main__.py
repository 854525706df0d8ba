"""Write what every code block of README and the site prints beneath it: `make examples-output`, or names of pages."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import pages, rewritten

wanted = sys.argv[1:]
for page in pages():
    if wanted and page.name not in wanted:
        continue
    before = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        after = rewritten(before, Path(folder))
    if after != before:
        page.write_text(after, encoding="utf-8")
    print(page.name, "changed" if after != before else "as it was", flush=True)
