"""Functionary 3.2: ``>>>name`` and JSON on the next line, ``>>>all`` and an answer; the first ``>>>`` may be absent."""

import re

from micro_agent.decoding.decision import Decision, Final
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.repair.mending import repair
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"(?:>>>|\A)\s*+(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t]*+\n\s*+(?=\{|\"\{)")
_END = re.compile(r"<\|(?:eot_id|end_of_text)\|>")
_OPENING = re.compile(r">>>(?!all\b)")
_ALL = re.compile(r"\A\s*+(?:>>>)?all[ \t]*+\n(?P<answer>[^>]*+(?>(?:>(?!>>)[^>]*+)*))")
_MARKUP = Markup("functionary", (">>>",), _BEGIN, _END, opening=_OPENING)


def read(source: Source) -> Decision | None:
    """The calls, else the text for ``all``."""
    found = read_json(source, _MARKUP)
    said = _ALL.match(source.text) if found is None and ">>>" in source.text and not source.cut_off else None
    if said is None or not said["answer"].strip():
        return found
    answer = said["answer"].strip()
    return Final(answer, [repair("dialect:functionary", said[0], answer)], prose=True)
