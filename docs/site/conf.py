"""How Sphinx builds the documentation; `docs/site/build.py` lays out the pages and calls it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eigentext import __version__

project = "eigentext"
author = "the eigentext authors"
copyright = "the eigentext authors, Apache-2.0"  # noqa: A001  Sphinx's word
release = version = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "site_docstrings",
    "site_literals",
    "site_mathml",
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
# a `$` of a shell's variable is no equation: those have no blank inside the signs
myst_dmath_allow_space = False
myst_dmath_allow_digits = False

html_theme = "furo"
html_title = "eigentext"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True}
# `eigentext` prompts are not part of a command
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

highlight_language = "none"
smartquotes = False  # `--flag` is no dash
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"
toc_object_entries = False
# what optional extras bring; the modules that speak to them are documented all the same
autodoc_mock_imports = ["cupy", "cupyx", "dask", "distributed", "spacy", "udtools", "cassis"]
nitpicky = True
# Links to our own names must lead somewhere.  Types in signatures are as the sources spell them;
# names of other libraries have no page here.
nitpick_ignore_regex = [(r"py:.*", r"(?!eigentext\.).*")]
# one short name of a type may be that of several: the link then leads to the first
suppress_warnings = ["myst.header", "ref.python"]
