"""Sphinx's settings for the site. build.py stages the sources and calls Sphinx with this folder."""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

project = "dtlaunch"
copyright = "the dtlaunch maintainers"
LISTS = (HERE.parents[1] / "CMakeLists.txt").read_text()
version = release = re.search(r"project\(dtlaunch VERSION ([0-9.]+)", LISTS)[1]

extensions = ["myst_parser", "manual"]
source_suffix = {".md": "markdown", ".mdoc": "mdoc"}
nitpicky = True
highlight_language = "none"  # blocks are shells, hostfiles and output: a guess would colour them wrongly
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # CHANGELOG.md and others may go from a first heading to a third

html_theme = "furo"
html_title = f"dtlaunch {release}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False
