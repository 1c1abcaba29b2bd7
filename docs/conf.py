"""The site: Markdown by MyST, the reference made from the code before every build."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import make_reference

from holdfast import __version__

make_reference.write()

project = "Holdfast"
author = "the Holdfast authors"
project_copyright = "the Holdfast authors, Apache-2.0"
version = release = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
# Links to files of the repository beside docs/ are for readers on a forge; the site leaves them as text.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "toc.excluded"]
exclude_patterns = ["_build", "*.py"]
html_theme = "furo"
html_title = f"Holdfast {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "github-dark"
