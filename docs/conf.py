"""The documentation's configuration: `sphinx-build -W -b html docs docs/_build/html`."""

import os
import sys
import warnings
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE))

os.environ.setdefault("MPLBACKEND", "Agg")
warnings.filterwarnings("ignore", category=DeprecationWarning)
# Dask looks for a route to the outside; without a network it says so and goes on.
warnings.filterwarnings("ignore", message="Couldn't detect a suitable IP")

import hesitant  # noqa: E402

project = "hesitant"
author = "The hesitant developers"
copyright = f"{date.today().year}, {author}"
version = release = hesitant.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # the mathematics needs no network
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_line",
    "make_pictures",
]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples", "**/sg_execution_times.rst", "sg_execution_times.rst"]
nitpicky = False

# -- text and mathematics -------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
mathjax_path = "mathjax/tex-svg.js"

# -- API reference --------------------------------------------------------------------------------

autosummary_generate = True
# Some file systems do not tell upper from lower case.
autosummary_filename_map = {
    "hesitant.inference.Efficiency": "hesitant.inference.Efficiency-result"
}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
templates_path = ["_templates"]

# -- gallery --------------------------------------------------------------------------------------


sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "make_pictures.draw_like_the_package"),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "doc_module": (),
    "backreferences_dir": None,
    "show_memory": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
}

# -- looks ----------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"hesitant {release}"
html_static_path = ["_static"]
html_extra_path = ["_pictures/extra"]  # an example report, written by the build
(HERE / "_pictures" / "extra").mkdir(parents=True, exist_ok=True)
html_css_files = ["hesitant.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5c8f",
        "color-brand-content": "#0b5c8f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4f0",
        "color-brand-content": "#7cc4f0",
    },
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
