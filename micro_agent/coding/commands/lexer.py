"""The words of a command in a small part of the shell's language, exactly as bash would pass them on.

Whatever is outside that part is refused, so there is nothing that bash and this module could understand differently:
no expansion, no pattern, no redirection but of errors, no control flow. What is judged is then run as it is, without a
shell.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal, NoReturn

from micro_agent.coding.sandbox import Stage

Operator = Literal["", "&&", "||", ";"]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Programs that run at once, each one's output going into the next.

    Attributes:
        after: When it runs: ``&&`` if what came before it succeeded, ``||`` if that failed, ``;`` in any case; empty
            for the first one.
        stages: The programs.
    """

    after: Operator
    stages: tuple[Stage, ...]


class Outside(ValueError):
    """A command is outside the subset; the text says what is."""


_TOKEN = re.compile(
    r"""(?P<blank>[ ]+)
    |(?P<operator>&&|\|\||\|(?![|&])|;(?!;))
    |(?P<errors>(?<![^ ])2>(?:&1|[ ]*/dev/null)(?=[ ;|]|&&|$))
    |(?P<plain>(?:[A-Za-z0-9_%+:,./^=-]|@(?:\{[A-Za-z0-9-]+\})?|(?<![ ;|&=:])[~\#]|!)+)
    |(?P<wide>[^\x00-\x7f]+)
    |(?P<pattern>[*?]+)
    |\\(?P<escaped>[^\x00-\x1f\x7f])
    |'(?P<single>[^'\x00-\x1f\x7f]*)'
    |"(?P<double>(?:[^"\\$`\x00-\x1f\x7f]|\\[^\x00-\x1f\x7f]|\$(?=[" |)]))*)"
    """,
    re.VERBOSE,
)
_IN_DOUBLE = re.compile(r'\\([$`"\\])')
_RESERVED = frozenset(
    [
        "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
        "if", "in", "select", "then", "time", "until", "while",
    ]
)  # fmt: skip
_OPTION = re.compile(r"--[a-z][a-z-]*=")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What is a letter or a mark to Unicode and nothing to the eye."""


def unseen(text: str) -> str | None:
    """The first character that a reader does not see, or sees as another one; ``None`` if there is none."""
    for sign in text if not (text.isascii() and text.isprintable()) else "":
        kind = unicodedata.category(sign)
        if (kind[0] in "CZ" and sign != " ") or _UNSEEN.match(sign):
            return sign
    return None


def _folded(sign: str) -> str:
    return unicodedata.normalize("NFKC", sign)


def read(cmd: str) -> tuple[Pipeline, ...]:
    """The programs of a command, with the very argv that bash would give them.

    Raises:
        Outside: The command is outside the subset.
    """
    sign = unseen(cmd)
    if sign is not None:
        raise Outside(f"the character {sign!a} is not seen as what it is")
    return _Reader(cmd).all()


class _Reader:
    def __init__(self, cmd: str) -> None:
        self._cmd = cmd
        self._pipelines: list[Pipeline] = []
        self._after: Operator = ""
        self._stages: list[Stage] = []
        self._argv: list[str] = []
        self._errors: Literal["apart", "stdout", "null"] = "apart"
        self._word: list[str] | None = None
        self._quoted = False

    def all(self) -> tuple[Pipeline, ...]:
        at, end = 0, len(self._cmd)
        while at < end:
            token = _TOKEN.match(self._cmd, at)
            if token is None:
                self._refuse(f"{self._cmd[at : at + 12]!a} is more than words, quotes and && || | ;")
            self._take(str(token.lastgroup), token[str(token.lastgroup)], at)
            at = token.end()
        self._end_word()
        if self._argv or self._after != ";" or self._stages:
            self._end_pipeline()
        return tuple(self._pipelines)

    def _refuse(self, why: str) -> NoReturn:
        raise Outside(why)

    def _take(self, kind: str, text: str, at: int) -> None:
        if kind == "blank":
            self._end_word()
        elif kind == "operator":
            self._end_word()
            if text == "|":
                self._end_stage()
            else:
                self._end_pipeline()
                self._after = text  # pyright: ignore[reportAttributeAccessIssue]
        elif kind == "errors":
            if not self._argv:
                self._refuse("a command begins with a redirection")
            self._errors = "stdout" if text == "2>&1" else "null"
        else:
            self._add(kind, text, at)

    def _add(self, kind: str, text: str, at: int) -> None:
        """One more part of a word."""
        first = self._word is None
        word = self._word = self._word or []
        if kind == "plain":
            if first and text[0] in "~#":
                self._refuse("~ and # begin something else than a word")
        elif kind == "pattern":
            # bash leaves `--include=*.py` alone too, unless a file has the name of the option
            if not _OPTION.match("".join(word)):
                self._refuse(f"{text!a} is a pattern")
        elif kind == "wide":
            for sign in text:
                if not (sign.isalnum() or unicodedata.category(sign)[0] == "M") or _folded(sign) != sign:
                    self._refuse(f"{sign!a} stands outside quotes")
        else:
            self._quoted = True
            text = _IN_DOUBLE.sub(r"\1", text) if kind == "double" else text
        word.append(text)

    def _end_word(self) -> None:
        if self._word is None:
            return
        word = "".join(self._word)
        if not self._argv:
            if not self._quoted and word in _RESERVED:
                self._refuse(f"{word} is a word of the shell's own")
            if _ASSIGNMENT.match(word):
                self._refuse(f"{word!a:.40} sets a variable")
            if word.startswith("%"):
                self._refuse(f"{word!a:.40} means a job")
        self._argv.append(word)
        self._word, self._quoted = None, False

    def _end_stage(self) -> None:
        if not self._argv:
            self._refuse("a command is missing beside an operator")
        self._stages.append(Stage(tuple(self._argv), self._errors))
        self._argv, self._errors = [], "apart"

    def _end_pipeline(self) -> None:
        self._end_stage()
        self._pipelines.append(Pipeline(self._after, tuple(self._stages)))
        self._stages = []
