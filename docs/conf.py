"""How the site is built: `make docs`. Nothing is downloaded, and no page fetches anything from elsewhere."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "kwis"
author = "the kwis developers"
project_copyright = author
version = release = installed("kwis")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "examples"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the order of the gallery is a class
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "plot_gallery": True,
    "show_memory": False,
    "min_reported_time": 3600,  # clock times say more of the machine than of the example
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "ignore_repr_types": r"matplotlib\.",  # the chart is enough
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "kwis"
html_theme_options = {
    "logo": {"text": "kwis"},
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"start": []}  # a page without pages below it has nothing to show there
html_show_sourcelink = False
