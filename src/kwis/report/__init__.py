"""The report: an evaluation becomes a view of plain words and charts, and the view one self-contained HTML
file.

::

    Evaluation -> summary (all arithmetic and rounding) -> view -> layout, charts -> html -> one file
"""

from kwis.report.html import render, write_html, write_page
from kwis.report.summary import page_of

__all__ = ["page_of", "render", "write_html", "write_page"]
