"""How Sphinx makes the site: the pages are read where they stand, README's neighbours included.

The repository is the source, so that a link works on a code forge and on the site alike. Nothing
of the site is fetched from a network: no fonts, no scripts, and its search is a file beside it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

import netcosim

project = "netcosim"
author = project_copyright = "The netcosim developers"
release = netcosim.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "site_pages"]
include_patterns = [
    "docs/*.md",
    "docs/tutorials/*.md",
    "docs/notebooks/*.ipynb",
    "experiments/**/*.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "NEWS.md",
]
exclude_patterns = ["**/.*", "build", "dist", "site"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
language = "en"
smartquotes = False

# every heading can be linked to, by the name that a forge gives it
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {n: n for n in ("BoolArray", "FloatArray", "IntArray", "LongArray", "Rows")}
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
default_role = "py:obj"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "netcosim"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False
"""A page opened from a folder may not read its neighbours: results are told by title."""
html_theme_options = {"navigation_with_keys": True}
templates_path = ["templates"]
html_additional_pages = {"index": "to_start.html"}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
