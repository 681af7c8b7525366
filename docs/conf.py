"""How the site is built: `make docs`.

The source folder is the whole project, so that a link between two Markdown files leads to the same place on the site
as in the repository. Nothing here needs the network.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import certree

ROOT = Path(__file__).parents[1]

project = "certree"
author = "The certree developers"
copyright = author  # noqa: A001 (Sphinx's name for it)
version = release = certree.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
]
root_doc = "docs/index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
include_patterns = [
    "docs/**",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "src/certree/datasets/LALONDE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
exclude_patterns = ["docs/_*", "docs/gallery/*.ipynb", "docs/gallery/*.py"]
nitpicky = False
default_role = "py:obj"  # `names` in docstrings are code, and links where they are public

# Markdown --------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Files of the project that are no pages, such as examples, are offered for download; pages start at any level.
suppress_warnings = ["myst.header"]

# The reference -----------------------------------------------------------------------------------------------------
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say it in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
BASES = "BaseEstimator,ClassifierMixin,RegressorMixin,TransformerMixin,tuple,int,dict,Sequence,Mapping,UserWarning"
autodoc_default_options = {"members": True, "inherited-members": BASES}

# Examples --------------------------------------------------------------------------------------------------------
doctest_global_setup = "import warnings\nwarnings.simplefilter('ignore')\nimport matplotlib\nmatplotlib.use('Agg')"
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": str(ROOT / "docs" / "gallery"),
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": 3600,  # seconds of the machine that built the site tell a reader nothing
    "write_computation_times": False,  # that page asks the network for its scripts
    "remove_config_comments": True,
}

# The look of it ----------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "certree"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"docs/index": [], "docs/start": [], "docs/glossary": [], "docs/coming-from": []}
templates_path = [str(ROOT / "docs" / "_templates")]


HIDDEN = {"get_metadata_routing", "set_output", "pose", "clear", "pop", "popitem", "setdefault", "update"}


def skip_inherited(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """scikit-learn adds the same methods to every estimator, and explains them itself; `pose` is for our rooms; methods
    that would change a frozen mapping only raise an error."""
    return True if name.endswith("_request") or name in HIDDEN else None


def setup(app: Any) -> None:
    warnings.filterwarnings("ignore", module="certree")
    app.connect("autodoc-skip-member", skip_inherited)
