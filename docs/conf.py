"""Settings of the documentation."""

import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery.sorting import ExplicitOrder

from honestbayes.experiments.pages import write_docs

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

# The order to read them in: the problem and the whole, then model by model, then selection and
# networks. An example that is not listed stops the build.
EXAMPLES = [
    "plot_claims.py",
    "plot_honest.py",
    "plot_report.py",
    "plot_measurements.py",
    "plot_categories.py",
    "plot_mixed.py",
    "plot_mixture.py",
    "plot_factors.py",
    "plot_interactions.py",
    "plot_subsets.py",
    "plot_selection_for_probabilities.py",
    "plot_networks.py",
]

sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).parents[1] / "examples"),
    "gallery_dirs": "gallery",
    "remove_config_comments": True,
    "within_subsection_order": ExplicitOrder(EXAMPLES),
    "write_computation_times": False,
}

templates_path = ["_templates"]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
autodoc_typehints = "none"  # types stand in the numpydoc sections
autodoc_member_order = "bysource"
autosummary_generate = True
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
# Attributes are a list: as fields, names such as classes_ would lose their underscore.
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "pydata_sphinx_theme"
html_title = "honestbayes"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_sidebars = {"index": []}
html_theme_options = {
    "header_links_before_dropdown": 7,
    # Not "search-button-field": readers aloud would name it otherwise than it is written.
    "navbar_persistent": ["search-button"],
    "show_prev_next": False,
}


OURS = "honestbayes"
OF_SCIKIT_LEARN = {
    "fit_transform",
    "get_feature_names_out",
    "get_support",
    "inverse_transform",
    "transform",
}
"""Methods that scikit-learn writes for us, and that a reader of our pages looks for."""


def skip_what_others_document(
    _app: Sphinx, _what: str, name: str, obj: Any, skip: bool, _options: Any
) -> bool | None:
    """Leave out what scikit-learn and Python add to each class; they document it themselves."""
    if name in OF_SCIKIT_LEARN:
        return skip
    if re.fullmatch(r"set_\w+_request", name):
        return True
    obj = getattr(obj, "fget", obj)  # a property is where its function is
    obj = getattr(obj, "__objclass__", obj)  # a slot is where its class is
    return skip if (getattr(obj, "__module__", None) or OURS).startswith(OURS) else True


def write_results(_app: Sphinx) -> None:
    """Make the pages of results from the stored runs."""
    here = Path(__file__).parent
    write_docs(here / "results", here / "generated" / "results")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_results)
    app.connect("autodoc-skip-member", skip_what_others_document)
