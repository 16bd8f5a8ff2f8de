"""The HTML around what the modules show."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from micro_agent.page.files import HERE, modules, version

ENTRY = "app.js"


@cache
def template(name: str) -> Template:
    """A template of the page."""
    loader = FileSystemLoader(HERE)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(name)


@cache
def shell() -> bytes:
    """The page that `serve` answers ``/`` with. It names every module, so that all are asked for at once."""
    needed = [name for name in modules() if name not in (ENTRY, "one.js")]
    return template("shell.html.jinja").render(base=f"/page/{version()}", entry=ENTRY, needed=needed).encode()
