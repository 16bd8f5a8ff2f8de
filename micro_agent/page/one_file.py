"""One run as one file: the page's own view of it, with everything in it and a policy that lets it load nothing."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from markupsafe import Markup

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.report import write_page
from micro_agent.files.masking import mask_of
from micro_agent.page.files import files, modules
from micro_agent.page.linking import linked
from micro_agent.page.shell import template
from micro_agent.page.view import view_of
from micro_agent.run import Run

LONGEST = 100_000
"""Characters of each text."""


def write_run(out: Path, run: Run, *, trace: Path | None = None) -> None:
    """Write the page of a run, for this user alone; a file of that name is replaced in one step.

    Args:
        out: The page to write.
        run: The run.
        trace: Where it was read from: it is not written over.

    Raises:
        ConfigurationError: The page would replace the trace.
        StorageError: It cannot be written.
    """
    if trace is not None and out.resolve() == trace.resolve():
        raise ConfigurationError(f"{out} is the trace: choose another name for the page")
    write_page(out, [page_of(run)])


def page_of(run: Run) -> str:
    """The page as text, secrets masked."""
    data = mask_of().encode(view_of(run, longest=LONGEST)).decode()
    style, script = files()["page.css"][1].decode(), _script()
    return template("one.html.jinja").render(
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'",
        title=mask_of().text(" ".join(run.question.split())[:80]),
        style=Markup(style), script=Markup(script),
        data=Markup(data.strip().replace("<", "\\u003c")),  # nothing in it can end the element
    )  # fmt: skip


@cache
def _script() -> str:
    script = linked(modules(), "one.js")
    assert "</script" not in script.lower()
    assert "<!--" not in script
    return script


def _hash(text: str) -> str:
    """How a policy names an inline text (https://www.w3.org/TR/CSP3/#grammardef-hash-source)."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
