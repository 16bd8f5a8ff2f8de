"""Several calls with words between them: all are meant only where these words say which comes first and which then."""

import re
from collections.abc import Sequence

_REACH = 200
_FIRST = re.compile(
    r"\b(?:first(?:ly)?|to (?:begin|start) with|(?:start|begin)(?:ing)? (?:by|with)|step (?:1|one))\b"
    r"[^.!?]{0,120}[.!?]?\s*(?:```\w*\s*)?\Z",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"[\s`.,;:#*-]*+(?>(?:(?:and|json)\s+)*)(?:then|next|second(?:ly)?|third(?:ly)?|finally|lastly"
    r"|after(?:wards| that| this)|step \w{1,5})\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"\b(?:or|either|if|alternative(?:ly)?|options?|instead|otherwise|choice|result|outputs?|depend(?:s|ing)?|based on"
    r"|once|unless|returned|observation|response)\b",
    re.IGNORECASE,
)


def in_stated_order(before: str, between: Sequence[str]) -> bool:
    """Whether the text announces one call after the other: "First … Then … Finally …".

    Args:
        before: What stands before the first call.
        between: What stands between each two of them.

    Returns:
        ``False`` also where one of them is offered instead of another, or waits for the result of one before it.
    """
    last = before[-_REACH:]
    if _FIRST.search(last) is None or not all(_NEXT.match(text) for text in between):
        return False
    return not any(_OTHERWISE.search(text) for text in (last, *between))
