"""Special tokens that a server left in the text: the end of the turn, a header before the answer."""

import re
from itertools import islice

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair.mending import repair
from micro_agent.decoding.scan.data import Data

# A header of the next turn: what follows was not said by the model as itself.
_NEXT_TURN = re.compile(
    r"<(?:\|(?:im_start|start_header_id|start)\||start_of_turn)>\s*+(?:user|system|tool|ipython|functions)\b"
    r"|<\|from\|>\s*+(?!assistant\b)\w"
)
_CHANNEL = (
    r"(?:<\|start\|>\s*+assistant\s*+)?<\|channel\|>\s*+%s\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_FINAL = re.compile(_CHANNEL % "final")
# Functionary's recipient "all" is the user.
_HEAD = re.compile(
    r"(?>(?:\s++|\Aassistant(?=[ \t]*\n[ \t]*\n)|<s>|<bos>"
    r"|<\|(?:begin_of_text|CHATBOT_TOKEN|START_(?:RESPONSE|TEXT)|assistant)\|>"
    r"|<\|open\|>response<\|sep\|>|<\|im_start\|>\s*+assistant\b|<start_of_turn>\s*+model\b"
    r"|<\|start_header_id\|>\s*+assistant\s*+<\|end_header_id\|>"
    r"|(?:<\|from\|>\s*+assistant\s*+)?(?:<\|recipient\|>|\A)\s*+all\s*+<\|content\|>"
    r"|(?:>>>|\A(?=(?s:.*)>>>all))all[ \t]*+\n"
    rf"|{_CHANNEL % '(?:final|commentary)'})*)"
)
_ENDS = (
    r"</s>|<(?:eos|pad|end_of_turn)>|<SPECIAL_\d{1,4}>|<｜end▁of▁sentence｜>"
    r"|<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|END_OF_TURN_TOKEN|return|end|stop)\|>"
)
_END_OF_TURN = re.compile(rf"(?:{_ENDS})\Z")
_TAIL = re.compile(
    rf"(?:{_ENDS}|\[END FINAL RESPONSE\]|<\|close\|>response|>>>all|<\|[\w /]{{1,40}}\|>|<｜[^<>｜]{{1,40}}｜>)\Z"
)
_TAIL_REACH = 48
_MAX_TAIL = 200
_END = re.compile(r"<\|(?:end|return|start|call|channel)\|>")
_MAX_TURNS = 200
_ANSWER = re.compile(r"<(?P<tag>answer|response)>(?P<answer>.*)</(?P=tag)>", re.DOTALL | re.IGNORECASE)


def own_turn(data: Data) -> str:
    """The text up to where the model goes on as somebody else; a header inside readable JSON is data."""
    text = data.text
    headers = data.outside(list(islice(_NEXT_TURN.finditer(text), _MAX_TURNS)))
    said = (text[: header.start()] for header in headers)
    return next((own for own in said if own.strip()), text)


def without_tokens(text: str, data: Data) -> tuple[str, list[Repair]]:
    """``text`` without the special tokens at its beginning and its end, and what was dropped.

    Of several channels of gpt-oss the final one counts, unless it stands in data, which ``data`` finds.
    """
    finals = list(islice(_FINAL.finditer(text), _MAX_TURNS))
    data = data.of(text) if finals else data
    found = reversed(data.outside(finals))
    said = (one for one in found if not any(piece.start < one.start() < piece.end for piece in data.pieces))
    kept = _END.split(text[final.end() :], 1)[0] if (final := next(said, None)) else text
    head = _HEAD.match(kept)
    kept = _without(_TAIL, kept[head.end() :] if head else kept).strip()
    if whole := _ANSWER.fullmatch(kept):
        kept = whole["answer"].strip()
    return kept, [repair("special_tokens", text, kept)] if kept != text.strip() else []


def without_end_of_turn(text: str) -> str:
    """``text`` without the tokens at its end that end a turn, whatever the dialect."""
    return _without(_END_OF_TURN, text)


def _without(tail: re.Pattern[str], text: str) -> str:
    end = len(text.rstrip())
    for _ in range(_MAX_TAIL):
        if (found := tail.search(text, max(0, end - _TAIL_REACH), end)) is None:
            break
        end = found.start()
        if text[end - 1 : end].isspace():
            end = len(text[:end].rstrip())
    return text[:end]
