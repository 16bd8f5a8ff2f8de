"""Makes the picture of the README from a real run: `python docs/pictures/replay.py [FILE]`.

The run is that of `make demo`; the text is what `micro-agent replay` prints of it. Only its id, its moment and its
seconds are fixed, so that the picture comes out the same every time. Rich's template names fonts on the net: they are
left out.
"""

import re
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from micro_agent import Run
from micro_agent.testing.demo import played, shown
from micro_agent.traces import TraceStore

_COLUMNS = 80
_TEMPLATE = re.sub(r"@font-face \{\{.*?\}\}\s*| https://www.textualize.io", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
_STYLES = (
    (r"^(Question|Answer):.*", "bold"),
    (r"^\d+\. ⛔", "bold red"),
    (r"^\d+\. \S+", "bold cyan"),
    (r"^ +(read from the text|the reply):.*", "yellow"),
    (r"^ +(repaired|read as):.*", "green"),
    (r"^Completed .*", "bold green"),
)


def picture() -> str:
    """The picture, as SVG."""
    with TemporaryDirectory() as folder:
        run = played(TraceStore(f"{folder}/traces", state_dir=f"{folder}/state"))
    console = Console(record=True, width=_COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    style = ""
    for line in ("$ micro-agent replay --path traces/ID.jsonl", "", *shown(_still(run))):
        style = _style(line, style)
        console.print(Text(line, style), highlight=False)
    title = "make demo: a scripted weak model, the real loop"
    return console.export_svg(title=title, theme=MONOKAI, code_format=_TEMPLATE, unique_id="replay")


def _style(line: str, before: str) -> str:
    """The style of a line; one that was folded goes on in that of the line before."""
    found = next((style for form, style in _STYLES if re.match(form, line)), None)
    return found if found is not None else before if re.match(r" {5}'", line) else ""


def _still(run: Run) -> Run:
    """The run without what differs from one time to the next."""
    steps = [step.model_copy(update={"latency_s": step.latency_s and 0.001}) for step in run.steps]
    usage = run.usage.model_copy(update={"latency_s": 0.02})
    return run.model_copy(update={"id": "0" * 32, "ts": "2026-11-23T09:00:00.000Z", "steps": steps, "usage": usage})


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_suffix(".svg")
    target.write_text(picture(), encoding="utf-8")
