"""What is denied: looked for in every command of a text, also in those inside of others, in code and in documents.

This is a list of what is known to be bad, and no such list is complete. It says "no" where a person should not even be
asked; what is allowed is decided elsewhere, by rules for what is known to be good.
"""

import fnmatch
import re
from collections.abc import Sequence

from micro_agent.coding.commands import loose, tree
from micro_agent.coding.commands.bans import Ban, Bans, bans
from micro_agent.coding.commands.lexer import Pipeline, unseen
from micro_agent.coding.commands.rules import match, shipped
from micro_agent.coding.commands.targets import (
    Place,
    base,
    behind,
    is_fed,
    may_hold_credentials,
    only_options,
    place_of,
    values,
)
from micro_agent.coding.commands.words import UNKNOWN, Command, decoded

_MOST = 100_000
"""Characters of a command that are scanned."""
_TIMES, _BESIDES = 3, 8_000
"""How much is scanned in all: nested texts come again for each command that they are in."""
_SCRIPT = re.compile(r"[\s;|&(`<>]")
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_SHOW_ENVIRONMENT = frozenset({"env", "set", "export", "declare", "typeset", "printenv"})
"""Programs that show the environment if they are given nothing but options."""
_PATTERN = re.compile(r"[*?\[]")
_MOVING = frozenset({"cd", "pushd", "chdir"})
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--r\S*")
_STRUCTURE = re.compile(r"<<|[`({]|\b(?:case|function|do|then|select)\b")
"""What makes more of a text than commands one after the other."""
_BEHIND = re.compile(r"[\w.-]*=(?![\s\"'=])|[^\s!=]{0,20}!\s*")
_CODE_SIGNS = re.compile(r"[\[\](){}'\",+]+")


class Denied(Exception):
    """Something in a command is denied; the text says what and why."""


def denied(
    cmd: str, pipelines: Sequence[Pipeline] = (), root: str | None = None, among: Bans | None = None
) -> str | None:
    """Why a command is denied, in one line; ``None`` if nothing is known against it.

    Args:
        cmd: The command.
        pipelines: What the strict lexer made of it; nothing if it is outside the subset.
        root: The repository.
        among: What is denied; `bans` by default.
    """
    texts = [cmd[:_MOST]]
    if unseen(cmd) is not None:
        texts.append("".join(sign for sign in texts[0] if sign in "\n\t\r" or unseen(sign) is None))
    tree.parser()
    for text in dict.fromkeys(texts):
        signs = text.encode("utf-8", "surrogatepass").decode("latin-1")
        scan = _Scan(root, among or bans(), _TIMES * len(signs) + _BESIDES)
        try:
            if pipelines:
                scan.pipelines(pipelines)
            else:
                scan.text(signs)
            scan.at_the_end()
        except Denied as reason:
            return str(reason)
    return None


def _shown(words: Sequence[str]) -> str:
    return ascii(" ".join(words)[:60].replace(UNKNOWN, "…"))


class _Scan:
    def __init__(self, root: str | None, among: Bans, length: int) -> None:
        self._root, self._bans, self._left = root, among, length
        self._texts: set[str] = set()
        self._done: set[tuple[str, ...]] = set()
        self._programs: set[str] = set()
        self._names_itself = False
        self._finds_outside = False
        self._folder = ""
        """Where a ``cd`` led to, outside the repository or into git's own files."""
        self._strings: list[str] = []
        """Documents and words of commands that only print: code, if a shell is there to read it."""

    def pipelines(self, pipelines: Sequence[Pipeline]) -> None:
        """Scan what the strict lexer read: there is nothing to guess."""
        for pipeline in pipelines:
            for at, stage in enumerate(pipeline.stages):
                self._command(Command(list(stage.argv), [], at > 0, 0))

    def text(self, text: str) -> None:
        """Scan a text as a script."""
        if text in self._texts:
            return
        self._texts.add(text)
        self._left -= len(text) + 10
        self._names_itself |= "micro-agent" in text
        for ban in self._bans.texts:
            if ban.words[0].search(text):
                raise Denied(f"{text!a:.60}: {ban.why}")
        if self._left < 0:
            raise Denied("it holds too many commands within commands to be judged")
        has_structure = "<<" in text if len(self._texts) > 1 else _STRUCTURE.search(text) is not None
        # One byte for each sign, so that positions are the same.
        sees = tree.seen(text.encode("latin-1", "replace")) if has_structure else tree.NOTHING
        rest = text
        for start, end in sees.documents:
            body = text[start:end]
            self._strings.append(body)
            rest = rest[:start] + " " * (end - start) + rest[end:]
            self._commands('"' + body.replace('"', '\\"') + '"')
        begun = self._commands(rest)
        missed = [at for at in sees.names if at not in begun and not any(a <= at < b for a, b in sees.documents)]
        for at in missed[:20]:
            self._commands(rest[at : at + 500])

    def _commands(self, text: str) -> set[int]:
        script = loose.commands(text)
        for name in script.variables:
            if self._bans.variables.fullmatch(name):
                raise Denied(f"${name[:40]} may hold credentials")
        for value in script.values:
            if _SCRIPT.search(value):
                self._text_in(value)
        calls = [command.words[0] for command in script.commands if command.words]
        for name in script.functions:
            if name and calls.count(name) >= (3 if script.background else 4):
                raise Denied(f"the function {name!a:.20} starts itself without end")
        for command in script.commands:
            self._command(command)
        return {command.start for command in script.commands}

    def at_the_end(self) -> None:
        """What can be said once all commands are known."""
        of = self._bans.lists
        readers = [name for name in self._programs if name in of["shells"] or name in of["interpreters"]]
        runs = sorted([*readers, *(name for name in self._programs if "/" in name)])
        fetches = sorted(name for name in self._programs if name in of["fetchers"])
        if runs and fetches:
            raise Denied(f"{fetches[0]} fetches from the network and {runs[0]!a:.40} runs code")
        if self._finds_outside and not self._programs.isdisjoint(
            ("rm", "shred", "unlink", "rmdir", "mv", "chmod", "chown")
        ):
            raise Denied("it changes what it finds outside the repository")
        if readers:
            for text in [*self._strings, *(decoded(text) for text in self._strings if "\\" in text)]:
                self._code(text)
                self._words_of_code(text)
                self.text(text)

    def _command(self, command: Command) -> None:
        for operator, target in command.redirections:
            self._redirection(operator, target)
        words = command.words
        key = (*words, str(command.fed or is_fed(command)), str(command.expands))
        if not words or key in self._done:
            return
        self._done.add(key)
        if len(words) == 1 and words[0].isalnum() and words[0] not in self._bans.by_program:
            self._programs.add(words[0])
            if words[0] not in _SHOW_ENVIRONMENT and words[0] not in _MOVING:
                return
        is_known = (
            words[0] in shipped().rules and not self._folder and not command.expands and UNKNOWN not in "".join(words)
        )
        if is_known and match(words, shipped(), self._root).refusal is None:
            self._strings += words[1:]
            return
        self._judge(words, command)
        self._nested(words)
        if words[0] in ("find", "fd"):
            self._finds_outside |= any(
                self._place(word) in ("outside", "git") for word in words[1:] if word[0:1] != "-"
            )
        if words[0] in _MOVING:
            folder = next((word for word in words[1:] if not word.startswith("-")), "~")
            if self._place(folder) in ("outside", "git", "unknown"):
                self._folder = folder

    def _redirection(self, operator: str, target: str) -> None:
        if self._bans.connections.fullmatch(target):
            raise Denied(f"{target!a:.60} opens a connection")
        if operator == "<<<":
            self._strings.append(target)
            if _SCRIPT.search(target):
                self._text_in(target)
        self._credentials(target)
        place = self._place(target)
        if operator in _WRITING and place in ("outside", "git"):
            raise Denied(f"{operator} {target!a:.60} writes {_WHERE[place]}")

    def _judge(self, words: list[str], command: Command) -> None:
        """Look at a program, and at each one behind it that it may run."""
        of = self._bans.lists
        program = base(words[0])
        is_dynamic = UNKNOWN in words[0] or _PATTERN.search(words[0]) is not None
        if is_dynamic and self._names_itself:
            raise Denied(f"{_shown(words)}: the agent does not decide about itself")
        wraps = is_dynamic or program in of["wrappers"] or program in of["shells"]
        wraps |= len(words) > 1 and f"{program} {words[1]}" in of["wrappers"]
        done: set[str] = set()
        for at, word in enumerate(words if wraps else words[:1]):
            name = base(word)
            self._programs.add(word if "/" in word and at == 0 else name)
            self._programs.add(name)
            found = self._bans.by_program.of(name) if at or not is_dynamic else self._may_mean(name)
            for ban in found:
                if ban.name not in done and self._holds(ban, words[at + 1 :], command):
                    raise Denied(f"{_shown(words[at:])}: {ban.why}")
                if not ban.behind:
                    done.add(ban.name)
            if name in _SHOW_ENVIRONMENT and only_options(words[at + 1 :], assigned=name == "env"):
                raise Denied(f"{_shown(words[at:])}: it shows the environment")
        for word in words:
            self._credentials(word)
            if self._bans.connections.fullmatch(word):
                raise Denied(f"{word!a:.60} opens a connection")
        self._outputs(words)

    def _may_mean(self, name: str) -> list[Ban]:
        """What is denied of the programs that a name with patterns and substitutions in it may mean."""
        pattern = name.replace(UNKNOWN, "*")
        known = re.sub(r"[^a-z]", "", name)
        return [
            ban
            for program, ban in self._bans.by_program.all
            if program == "rm" or (len(known) > 1 and fnmatch.fnmatchcase(program, pattern))
        ]

    def _holds(self, ban: Ban, args: list[str], command: Command) -> bool:
        if ban.behind:
            at = behind(ban.behind, args)
            if at is None:
                return False
            args = args[at + 1 :]
        operands = [word for word in args if not word.startswith("-")]
        if len(operands) < ban.operands or (ban.operands_most is not None and len(operands) > ban.operands_most):
            return False
        if ban.fed and not (command.fed or is_fed(command)):
            return False
        if ban.unknown and not any(UNKNOWN in word for word in args):
            return False
        if not all(any(pattern.fullmatch(word) for word in args) for pattern in ban.words):
            return False
        return not ban.targets or self._leads(ban, args, operands)

    def _leads(self, ban: Ban, args: list[str], operands: list[str]) -> bool:
        recursive = any(_RECURSIVE.fullmatch(word) for word in args)
        skipped = operands[: ban.skip]
        for word in args:
            if word in skipped:
                continue
            for part in values(word):
                place = self._place(part)
                if place in ban.targets and (place != "unknown" or recursive):
                    return True
        return False

    def _place(self, word: str) -> Place | None:
        return place_of(word, self._root, self._folder)

    def _credentials(self, word: str) -> None:
        if may_hold_credentials(word, self._bans.places, self._root, self._folder):
            raise Denied(f"{word!a:.60} may hold credentials")

    def _outputs(self, words: list[str]) -> None:
        """Options that name a file to write, whatever the program."""
        for at, word in enumerate(words[1:], 1):
            if word.startswith("-"):
                option, is_attached, value = word.partition("=")
                if not is_attached:
                    glued = re.match(r"(-[A-Za-z]*[oO])([/~.].*)", word)
                    option, value = (glued[1], glued[2]) if glued else (word, "".join(words[at + 1 : at + 2]))
                if self._bans.outputs.fullmatch(option) and self._place(value) in ("outside", "git"):
                    raise Denied(f"{option} {value!a:.60} writes outside the repository or into git's own files")

    def _nested(self, words: list[str]) -> None:
        """Look into the words of a command: they may be commands or code."""
        of = self._bans.lists
        program = base(words[0])
        is_code = program in of["interpreters"] or program in of["editors"] or program in of["wrappers"]
        prose = self._bans.prose.get(program, frozenset())
        before = ""
        for word in words:
            is_prose = before in prose or word.partition("=")[0] in prose
            before = word
            if is_prose:
                continue
            if is_code and word is not words[0]:
                self._code(word)
            if _SCRIPT.search(word):
                self._text_in(word)
                if is_code:
                    self._words_of_code(word)

    def _text_in(self, word: str) -> None:
        """Scan a word as a script, and so what is behind ``=`` and ``!`` in it; ``{}`` stands for what is filled in."""
        text = word.replace("{}", UNKNOWN)
        self.text(text)
        for _ in range(3):
            before = _BEHIND.match(text)
            if before:
                text = text[before.end() :]
                self.text(text)

    def _code(self, text: str) -> None:
        for ban in self._bans.code:
            if ban.words[0].search(text):
                raise Denied(f"{text!a:.60}: {ban.why}")

    def _words_of_code(self, text: str) -> None:
        """Words of code that would be a command if a list of them was run."""
        words = _CODE_SIGNS.sub(" ", text).split()
        if words and len(words) < 2_000:
            self._judge(["command", *words], Command([], [], False, 0))


_WHERE = {"outside": "outside the repository", "git": "into git's own files"}
