r"""DeepSeek V3 and Cogito: ``function<｜tool▁sep｜>name`` and fenced JSON; V3.1: ``name<｜tool▁sep｜>{…}``.

All between ``<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>`` and ``<｜tool▁call▁end｜><｜tool▁calls▁end｜>``;
models also spell them with ``_``, a blank or ``\_``.
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source


def _token(*words: str) -> str:
    return r"<[｜|]" + r"(?:▁|_|\\_| )".join(words) + r"[｜|]>"


_SEPARATOR = _token("tool", "sep")
_CALL = _token("tool", "call", "begin")
_OPENING = re.compile(rf"{_token('tool', 'calls', 'begin')}|{_CALL}")
_NAME = r"(?<![\w.-])[A-Za-z_][\w.-]{0,127}+"
_BEGIN = re.compile(
    rf"(?:{_token('tool', 'calls', 'begin')}\s*+)?(?:{_CALL}\s*+)?(?:"
    rf"function\s{{0,9}}{_SEPARATOR}\s*+(?P<name>{_NAME})|(?P<name_first>{_NAME})\s{{0,9}}{_SEPARATOR})"
)
_SECTION_END = re.compile(_token("tool", "calls", "end"))
_END = re.compile(rf"{_token('tool', 'call', 'end')}(?:\s*+{_SECTION_END.pattern})?")
_MARKUP = Markup("deepseek", ("sep｜>", "sep|>"), _BEGIN, _END, opening=_OPENING, section_end=_SECTION_END)


def read(source: Source) -> Decision | None:
    """The calls of one section."""
    return read_json(source, _MARKUP)
