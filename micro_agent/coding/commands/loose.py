r"""The simple commands in any text of the shell's language, read loosely: more is taken for a command than bash would.

This decides only what is denied. One pass with a stack, however deep the text nests; quotes are removed, escapes
decoded, variables with known values and lists in braces replaced, so that ``r''m``, ``$'\x72m'`` and ``{rm,-rf,/}``
are the words that bash makes of them.
"""

import re
from dataclasses import dataclass, field

from micro_agent.coding.commands.words import (
    ASSIGNMENT,
    CLOSE,
    COMMA,
    KNOWN,
    OPEN,
    RESERVED,
    UNKNOWN,
    VARIABLE,
    VARIABLE_END,
    Command,
    decoded,
    resolve,
    values_of,
)

_SIMPLE = re.compile(r"[ \t]*([A-Za-z0-9_./-]+)(?:[ \t]*(&&|\|\||;|\n|&(?!>)|\|(?!&))|[ \t]+|$)")
"""A word and what ends it: most of what is read, in one step."""
_PLAIN = re.compile(r"[^\s\\'\"`$|&;<>(){},#]+")
_LITERAL = re.compile(r"[^\\\"'`$}]+")
_REDIRECTION = re.compile(r"&>>?|<<<|<<-?|<>|<&|>&|>>|>\||<|>")
_DOLLAR = re.compile(
    r"""\$(?:'(?P<ansi>(?:[^'\\]|\\.)*)'|(?P<quote>")|(?P<command>\()|\{(?P<braced>[!\#]?(?:\w+|[@*\#?$!-])?)"""
    r"""|(?P<name>[A-Za-z_]\w*|[0-9@*\#?$!-]))""",
    re.DOTALL,
)
_PATTERN = re.compile(r"[*?\[]")
_DEFAULT = re.compile(r":?[-=+](.*)", re.DOTALL)
_EMPTY = frozenset("123456789@*")


@dataclass(slots=True)
class Script:
    """What is in a text.

    Attributes:
        commands: Its simple commands.
        functions: The functions that it defines.
        variables: The variables that it names.
        values: What it sets variables to.
        background: Whether something runs in the background.
    """

    commands: list[Command]
    functions: set[str]
    variables: set[str]
    values: set[str]
    background: bool


@dataclass(slots=True)
class _Frame:
    closes: str
    name: str = ""
    words: list[str] = field(default_factory=list[str])
    redirections: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    word: list[str] | None = None
    quoted: bool = False
    depth: int = 0
    operator: str = ""
    fed: bool = False
    start: int = -1
    expands: bool = False


def commands(text: str) -> Script:
    """All simple commands of a text, those inside of others too."""
    reader = _Reader(text)
    reader.run()
    values = values_of(reader.found)
    resolve(reader.found, {**values, **KNOWN})
    return Script(reader.found, reader.functions, reader.variables, set(values.values()), reader.background)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at: int = 0
        self._frames = [_Frame("")]
        self._in_backticks = False
        self.found: list[Command] = []
        self.functions: set[str] = set()
        self.variables: set[str] = set()
        self.background = False

    def run(self) -> None:
        """Go through the whole text."""
        while self._at < len(self._text):
            frame = self._frames[-1]
            literal = frame.quoted or frame.closes == "}"
            if not literal and frame.word is None and not frame.operator:
                simple = _SIMPLE.match(self._text, self._at)
                if simple:
                    self._simple(frame, simple)
                    continue
            run = (_LITERAL if literal else _PLAIN).match(self._text, self._at)
            if run:
                home = frame.word is None and run[0][0] == "~"
                frame.expands |= not literal and (home or _PATTERN.search(run[0]) is not None)
                self._add(run[0])
                self._at = run.end()
                continue
            sign = self._text[self._at]
            if sign not in "\\'\"`$" or not self._quoting(frame, sign):
                self._at += 1
                if literal:
                    self._in_literal(frame, sign)
                else:
                    self._unquoted(frame, sign)
        while self._frames:
            self._end_command(self._frames.pop())

    def _simple(self, frame: _Frame, found: re.Match[str]) -> None:
        word, operator = found[1], found[2]
        if frame.start < 0:
            frame.start = found.start(1)
        frame.words.append(word)
        if word in RESERVED:
            frame.start = -1
        self._at = found.end()
        if operator:
            self._end_command(frame)
            frame.fed = operator == "|"
            self.background |= operator == "&"

    def _add(self, text: str) -> None:
        frame = self._frames[-1]
        if frame.word is None:
            frame.word = []
            if frame.start < 0:
                frame.start = self._at
        frame.word.append(text)

    def _quoting(self, frame: _Frame, sign: str) -> bool:
        """Take an escape, a quote or an expansion; whether there was one."""
        if sign == "\\":
            following = self._text[self._at + 1 : self._at + 2]
            if following != "\n":
                self._add(f"\\{following}" if frame.quoted and following not in '$`"\\' else following)
            self._at += 2
        elif sign == "'" and not frame.quoted:
            end = self._text.find("'", self._at + 1)
            end = len(self._text) if end < 0 else end
            self._add(self._text[self._at + 1 : end])
            self._at = end + 1
        elif sign == '"':
            self._add("")
            frame.quoted = not frame.quoted
            self._at += 1
        elif sign == "`":
            self._backtick()
        elif sign == "$":
            self._dollar(frame)
        else:
            return False
        return True

    def _backtick(self) -> None:
        self._at += 1
        self._in_backticks = not self._in_backticks
        if self._in_backticks:
            self._push("`")
        else:
            while self._pop().closes != "`":
                pass
            self._add(UNKNOWN)

    def _dollar(self, frame: _Frame) -> None:
        found = _DOLLAR.match(self._text, self._at)
        if not found or (frame.quoted and found.lastgroup in ("ansi", "quote")):
            self._add("$")
            self._at += 1
            return
        if found["ansi"] is not None:
            self._add(decoded(found["ansi"]))
        elif found["quote"]:
            self._add("")
            frame.quoted = True
        elif found["command"]:
            self._push(")")
        elif found["braced"] is not None:
            self._push("}", found["braced"])
        else:
            self._variable(found["name"], None)
        self._at = found.end()

    def _variable(self, name: str, rest: str | None) -> None:
        frame = self._frames[-1]
        default = _DEFAULT.match(rest) if rest else None
        if name == "IFS":
            if frame.closes != "}":
                self._end_word(frame)
        elif name not in _EMPTY:
            self.variables.add(name)
            self._add(default[1] if default and name not in KNOWN else f"{VARIABLE}{name}{VARIABLE_END}")

    def _push(self, closes: str, name: str = "") -> None:
        if self._frames[-1].word is None:
            self._add("")
        self._frames.append(_Frame(closes, name))

    def _pop(self) -> _Frame:
        frame = self._frames.pop()
        if frame.closes != "}":
            self._end_command(frame)
        return frame

    def _in_literal(self, frame: _Frame, sign: str) -> None:
        if sign == "}" and frame.closes == "}" and not frame.quoted:
            self._pop()
            self._variable(frame.name, "".join(frame.word or ()))
        else:
            self._add(sign)

    def _unquoted(self, frame: _Frame, sign: str) -> None:
        text, at = self._text, self._at
        redirection = _REDIRECTION.match(text, at - 1)
        if sign in "<>" and text[at : at + 1] == "(":
            self._at += 1
            self._push(")")
        elif redirection:
            if frame.word and "".join(frame.word).isdigit():
                frame.word = None
            self._end_word(frame)
            frame.operator = redirection[0]
            frame.start = at - 1 if frame.start < 0 else frame.start
            self._at = redirection.end()
        elif sign.isspace() and sign != "\n":
            self._end_word(frame)
        elif sign in "\n;&|":
            self.background |= sign == "&" and text[at : at + 1] != "&" and text[at - 2 : at - 1] != "&"
            self._end_command(frame)
            frame.fed = sign == "|" and text[at : at + 1] != "|" and text[at - 2 : at - 1] != "|"
        elif sign == "#" and frame.word is None:
            end = text.find("\n", at)
            self._at = len(text) if end < 0 else end
        elif sign in "()":
            self._parenthesis(frame, sign)
        elif frame.word is None and (sign == "}" or (sign == "{" and text[at : at + 1].isspace())):
            if frame.words[:1] == ["function"]:
                self.functions.update(frame.words[1:])
            self._end_command(frame)
        else:
            self._add({"{": OPEN, ",": COMMA, "}": CLOSE}.get(sign, sign))

    def _parenthesis(self, frame: _Frame, sign: str) -> None:
        if sign == "(":
            if self._text[self._at : self._at + 9].lstrip().startswith(")"):
                self.functions.update(["".join(frame.word)] if frame.word else frame.words[-1:])
            self._end_command(frame)
            frame.depth += 1
        elif frame.depth or frame.closes != ")":
            self._end_command(frame)
            frame.depth = max(0, frame.depth - 1)
        else:
            self._pop()
            self._add(UNKNOWN)

    def _end_word(self, frame: _Frame) -> None:
        if frame.word is None:
            return
        word = "".join(frame.word)
        if frame.operator:
            frame.redirections.append((frame.operator, word))
            frame.operator = ""
        else:
            frame.words.append(word)
            if word in RESERVED or ("=" in word and ASSIGNMENT.fullmatch(word)):
                frame.start = -1
        frame.word = None

    def _end_command(self, frame: _Frame) -> None:
        self._end_word(frame)
        if frame.words or frame.redirections:
            self.found.append(Command(frame.words, frame.redirections, frame.fed, frame.start, frame.expands))
            frame.words, frame.redirections = [], []
        frame.operator, frame.start, frame.expands = "", -1, False
