"""The settings of Sphinx, which makes a site of these pages: `make docs`.

The pages are read where they lie and as GitHub reads them, so a link works in both. `index.md` says which there are and
in what order. Nothing of the site comes from another host.
"""

import re
from posixpath import join, normpath

from sphinx.application import Sphinx

from micro_agent import __version__

project = "micro-agent"
author = "the authors of micro-agent"
release = version = __version__
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "benchmarks/README.md", "evals/README.md"]
exclude_patterns = [".*", "build", "dist", "htmlcov", "micro_agent", "tests"]  # what needs no look
myst_heading_anchors = 6
html_theme = "furo"
html_title = "micro-agent"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False

_LISTED = re.compile(r"^- \[[^\]]+\]\(([^)#]+)\.md\)", flags=re.MULTILINE)
_TO_THE_FIRST_PAGE = '<!doctype html><title>micro-agent</title><meta http-equiv="refresh" content="0; url={}.html">\n'


def setup(app: Sphinx) -> None:
    """Have the list of `index.md` decide over the order, and the site begin with it."""
    listed = [normpath(join("docs", name)) for name in _LISTED.findall((app.srcdir / "docs" / "index.md").read_text())]

    def read(_: Sphinx, page: str, content: list[str]) -> None:
        if page == root_doc:
            content[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(f"/{name}" for name in listed) + "\n```\n"
        elif page not in listed:
            content[0] = "---\norphan: true\n---\n" + content[0]  # a page that others lead to

    def finished(_: Sphinx, error: Exception | None) -> None:
        if error is None:
            (app.outdir / "index.html").write_text(_TO_THE_FIRST_PAGE.format(root_doc), encoding="utf-8")

    app.connect("source-read", read)
    app.connect("build-finished", finished)
