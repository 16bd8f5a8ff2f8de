r"""Functionary 2: ``<|from|>assistant\n<|recipient|>name\n<|content|>{…}<|stop|>``; the recipient ``all`` is the user.

The prompt ends in the first ``<|recipient|>``, so it may be absent.
"""

import re

from micro_agent.decoding.decision import Decision, Final
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.markup.shared import marks
from micro_agent.decoding.repair.mending import repair
from micro_agent.decoding.source import Source

_FROM = r"(?:<\|from\|>[ \t]{0,9}assistant\s{0,9})?"
_BEGIN = re.compile(
    rf"(?:{_FROM}<\|recipient\|>|\A)\s*+(?!all\s{{0,9}}<)(?P<name>[A-Za-z_][\w.-]{{0,127}}+)\s{{0,9}}<\|content\|>"
)
_END = re.compile(r"<\|stop\|>|(?=<\|from\|>)")
_OPENING = re.compile(r"<\|recipient\|>(?!\s{0,9}all\b)")
_MARKUP = Markup("functionary_v2", ("<|content|>",), _BEGIN, _END, opening=_OPENING)
_ALL = re.compile(
    rf"(?:{_FROM}<\|recipient\|>|\A)\s*+all\s{{0,9}}<\|content\|>(?P<answer>[^<]*+(?>(?:<(?!\|)[^<]*+)*))"
)


def read(source: Source) -> Decision | None:
    """The calls, else the text for ``all``."""
    found = read_json(source, _MARKUP)
    if found is not None or source.cut_off or "<|content|>" not in source.text:
        return found
    said = next(iter(marks(source, _ALL)), None)
    answer = said["answer"].strip() if said else ""
    return Final(answer, [repair("dialect:functionary_v2", source.text, answer)], prose=True) if answer else None
