"""Special tokens that a server left in the text: the end of the turn, a header before the answer."""

import re
from bisect import bisect_left
from itertools import accumulate, islice

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair.mending import repair
from micro_agent.decoding.scan.data import Data

# A header of the next turn: what follows was not said by the model as itself.
_NEXT_TURN = re.compile(
    r"(?:<\|(?:im_end|eot_id|end)\|>\s*+)?(?:<\|im_start\|>\s*+(?:user|system|tool)\b"
    r"|<\|start_header_id\|>\s*+(?:user|system|tool|ipython)\b|<start_of_turn>\s*+user\b|<\|start\|>\s*+(?:user|functions)\b"
    r"|<\|from\|>\s*+(?!assistant\b)\w)"
)
_TURN_SIGNS = ("<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|start|>", "<|from|>")
_HEAD = re.compile(
    r"\s++|\Aassistant(?=[ \t]*\n[ \t]*\n)|<s>|<bos>|<\|begin_of_text\|>|<\|CHATBOT_TOKEN\|>"
    r"|<\|START_(?:RESPONSE|TEXT)\|>|<\|assistant\|>|<\|open\|>response<\|sep\|>"
    r"|<\|im_start\|>\s*+assistant\b|<start_of_turn>\s*+model\b|<\|start_header_id\|>\s*+assistant\s*+<\|end_header_id\|>"
    r"|(?:<\|start\|>\s*+assistant\s*+)?<\|channel\|>\s*+(?:final|commentary)\b[^<]{0,40}"
    r"(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_TAIL = re.compile(
    r"</s>|<(?:eos|pad|end_of_turn)>|<SPECIAL_\d{1,4}>|\[END FINAL RESPONSE\]|<\|close\|>response"
    r"|<\|[\w /]{1,40}\|>|<｜[^<>｜]{1,40}｜>"
)
_END_OF_TURN = re.compile(
    r"</s>|<(?:eos|pad|end_of_turn)>|<SPECIAL_\d{1,4}>|<｜end▁of▁sentence｜>"
    r"|<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|END_OF_TURN_TOKEN|return|end|stop)\|>"
)
_TAIL_REACH = 48
_MAX_TAIL = 200
_MAX_TURNS = 200
_FINAL = re.compile(r"<\|channel\|>\s*+final\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>")
_END = re.compile(r"<\|(?:end|return|start|call|channel)\|>")
# Functionary's recipient "all" is the user.
_TO_ALL = re.compile(
    r"(?:(?:<\|from\|>[ \t]{0,9}assistant\s{0,9})?<\|recipient\|>|>>>|(?=.*?(?:>>>|<\|content\|>)))"
    r"\s*+all\s{0,9}(?:<\|content\|>|(?<=\n))"
    r"(?P<answer>[^<>]*+(?>(?:<(?!\|)[^<>]*+|>(?!>>)[^<>]*+)*))",
    re.DOTALL,
)
_ANSWER = re.compile(r"<(?P<tag>answer|response)>(?P<answer>.*)</(?P=tag)>", re.DOTALL | re.IGNORECASE)


def own_turn(data: Data) -> str:
    """The text up to where the model goes on as somebody else; a header inside readable JSON is data."""
    text = data.text
    if not any(sign in text for sign in _TURN_SIGNS):
        return text
    for header in data.outside(list(islice(_NEXT_TURN.finditer(text), _MAX_TURNS))):
        if text[: header.start()].strip():
            return text[: header.start()]
    return text


def without_tokens(text: str, data: Data) -> tuple[str, list[Repair]]:
    """``text`` without the special tokens at its beginning and its end, and what was dropped.

    Of several channels of gpt-oss the final one counts. One in an argument is none; ``data`` says where these are.
    """
    kept = text
    if (finals := _finals(kept, data)) != []:
        kept = kept[finals[-1].end() :]
        kept = kept[: ended.start()] if (ended := _END.search(kept)) else kept
    at = 0
    while head := _HEAD.match(kept, at):
        at = head.end()
    kept = _without_tail(kept[at:])
    if (said := _TO_ALL.match(kept)) is not None and said["answer"].strip():
        kept = said["answer"].strip()
    if whole := _ANSWER.fullmatch(kept):
        kept = whole["answer"].strip()
    return kept, [repair("special_tokens", text, kept)] if kept != text.strip() else []


def _finals(text: str, data: Data) -> list[re.Match[str]]:
    """Where final channels begin: not in data, and not in an object that cannot be read."""
    found = data.outside(list(islice(_FINAL.finditer(text), _MAX_TURNS)))
    if not found:
        return []
    starts = [piece.start for piece in data.pieces]
    reached = [0, *accumulate((piece.end for piece in data.pieces), max)]
    return [one for one in found if reached[bisect_left(starts, one.start())] <= one.start()]


def without_end_of_turn(text: str) -> str:
    """``text`` without the tokens at its end that end a turn, whatever the dialect."""
    return _without_tail(text, _END_OF_TURN)


def _without_tail(text: str, tail: re.Pattern[str] = _TAIL) -> str:
    end = len(text)
    for _ in range(_MAX_TAIL):
        if end and text[end - 1].isspace():
            end = len(text[:end].rstrip())
        reach = max(0, end - _TAIL_REACH)
        start = max(text.rfind("<", reach, end), text.rfind("[END FINAL", reach, end))
        if start < 0 or not tail.fullmatch(text, start, end):
            break
        end = start
    return text[:end]
