"""``expect_contains``: texts that stand in the answer."""

import re
import unicodedata

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import answer_of, met, quoted, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run

_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("“”„‟«»″〝〞", '"')
    | dict.fromkeys("‘’‚‛‹›′`´", "'")
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    # Nobody sees them: soft hyphen, zero-width space, joiners, word joiner, byte order mark.
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)


def check(task: Task, run: Run) -> Check | None:
    """Whether every text is in the answer, as `plain` makes both; ``None`` if the task expects none."""
    if task.expect_contains is None:
        return None
    answer = None if run.model_answer is None else plain(run.model_answer)
    missing = [text for text in task.expect_contains if answer is None or plain(text) not in answer]
    return unmet("contains", ", ".join(map(quoted, missing)), answer_of(run)) if missing else met("contains")


def plain(text: str) -> str:
    """Text as it is compared: no difference of case, blanks, typographic quotes and dashes, or forms of a letter.

    That is NFKC and case folding as in the Unicode Standard, section 3.13 (default caseless matching).
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text.translate(_TYPOGRAPHY)).casefold())
        return re.sub(r"\s+", " ", text.translate(_TYPOGRAPHY)).strip()
    return re.sub(r"\s+", " ", text.replace("`", "'").casefold()).strip()
