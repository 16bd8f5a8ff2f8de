"""When two replies say the same: their calls after coercion, outputs by value, texts by the values of results in them.

Of what else a text says nothing is compared where it holds such a value: "It is 16." and "The answer is 16." agree.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from micro_agent.run import Run
from micro_agent.sampling.seen import TOKEN, Seen, plain, read, texts_in

_LONGEST_VALUE = 60
"""Characters. A longer text in a result is not a value that an answer repeats."""
_MOST_VALUES = 1000


def of_data(value: Any) -> str:
    """JSON, so that the same value gives the same text: 1 and 1.0 are the same, the order of keys says nothing."""
    return json.dumps(_plain_numbers(value), sort_keys=True, ensure_ascii=False, default=str)


def of_text(answer: str, run: Run) -> str:
    """An answer: the `values_told` in it, or its words where there are none."""
    told = values_told(answer, run)
    return of_data(sorted(told)) if told else _words(answer)


def values_told(answer: str, run: Run) -> set[str] | None:
    """The values in an answer that tools gave and the question does not have; ``None`` where they gave none."""
    asked, said, words = read(run.question), read(answer), f" {_words(answer)} "
    told, given = set[str](), False
    for text, seen in _values(run):
        numbers = seen.numbers - asked.numbers
        is_name = not seen.words <= asked.words
        given = given or bool(numbers) or is_name
        told.update(map(str, numbers & said.numbers))
        if is_name and f" {_words(text)} " in words:
            told.add(_words(text))
    return told if given else None


def _values(run: Run) -> Iterator[tuple[str, Seen]]:
    """The short texts and numbers in what tools gave, without keys."""
    given = [step.observation for step in run.steps if step.is_tool and step.ok]
    short = (text for one in given for text in texts_in(one, keys=False) if len(text) <= _LONGEST_VALUE)
    return ((text, read(text)) for text in islice(short, _MOST_VALUES))


def _words(text: str) -> str:
    return " ".join(token[0] for token in TOKEN.finditer(plain(text)))


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain_numbers(part) for key, part in cast("dict[str, Any]", value).items()}
    return [_plain_numbers(part) for part in cast("list[Any]", value)] if isinstance(value, list) else value
