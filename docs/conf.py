"""Settings of the documentation."""

import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

project = "honestbayes"
author = "The honestbayes developers"
copyright = author
release = installed_version("honestbayes")
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]

sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).parents[1] / "examples"),
    "gallery_dirs": "gallery",
    "remove_config_comments": True,
}

templates_path = ["_templates"]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
autodoc_typehints = "none"  # types stand in the numpydoc sections
autodoc_member_order = "bysource"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = "honestbayes"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False}


def skip_metadata_routing(
    _app: Sphinx, _what: str, name: str, _obj: Any, skip: bool, _options: Any
) -> bool | None:
    """Leave out the methods that scikit-learn adds to each estimator; it documents them itself."""
    return True if re.fullmatch(r"set_\w+_request", name) else skip


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", skip_metadata_routing)
