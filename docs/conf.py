"""Settings of the documentation."""

import inspect
import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery.sorting import ExplicitOrder

import honestbayes
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
# "shape" in the type of a parameter would be a link, and several classes have an attribute of that
# name.
suppress_warnings = ["ref.python"]
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


class Parameters(SphinxDirective):
    """``.. parameters:: NAME NAME``: the parameters of estimators, from their docstrings.

    A row has the name, the default and the first sentence, so that the table cannot go stale.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        names = self.arguments[0].split()
        found: list[nodes.Node] = []
        for name in names:
            estimator = getattr(honestbayes, name)
            self.env.note_dependency(inspect.getsourcefile(estimator))
            shown = " open" if len(names) == 1 else ""
            begin = f"<details{shown}><summary>Parameters of <code>{name}</code></summary>"
            found += [
                nodes.raw("", begin, format="html"),
                *self.parse_text_to_nodes(table_of_parameters(estimator)),
                nodes.raw("", "</details>", format="html"),
            ]
        return found


def table_of_parameters(estimator: type) -> str:
    """Return a table, in reStructuredText, of the parameters of an estimator."""
    signature = inspect.signature(estimator).parameters
    _, _, rest = (inspect.getdoc(estimator) or "").partition("\nParameters\n----------\n")
    section, _, _ = rest.partition("\n\n")
    rows = [("parameter", "default", "what it does")]
    for names, body in re.findall(r"^(\w.*?) : .*\n((?: .*(?:\n|$))+)", section, re.MULTILINE):
        # To the first full stop; names of code have one pair of backticks in docstrings.
        sentence = re.match(r".*?(\.(?= )|$)", " ".join(body.split()))[0]
        sentence = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", sentence)
        for name in names.split(", "):
            default = repr(signature[name].default).replace("'", '"')
            rows.append((f"``{name}``", f"``{default}``", sentence))
    if missing := set(signature) - {name.strip("`") for name, _, _ in rows}:
        raise ValueError(f"the docstring of {estimator.__name__} lacks {sorted(missing)}")
    lines = [f"   * - {name}\n     - {default}\n     - {does}" for name, default, does in rows]
    options = "   :header-rows: 1\n   :widths: 24 16 60\n   :class: parameters"
    return f".. list-table::\n{options}\n\n" + "\n".join(lines)


def setup(app: Sphinx) -> None:
    app.add_directive("parameters", Parameters)
    app.connect("builder-inited", write_results)
    app.connect("autodoc-skip-member", skip_what_others_document)
