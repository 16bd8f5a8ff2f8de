"""Whether a command of the model's may run: at once, once a person says so, or never.

Three judges, and the strictest wins: what is known to be bad is denied (`scan`), what is outside a small part of the
shell's language is asked about (`lexer`), and so is what no rule allows (`rules`).
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from micro_agent.coding.commands.bans import bans
from micro_agent.coding.commands.lexer import Operator, Outside, Pipeline, read
from micro_agent.coding.commands.rules import Rules, load_rules, match, shipped
from micro_agent.coding.commands.scan import denied
from micro_agent.coding.sandbox import Stage

__all__ = ["LONGEST", "Operator", "Pipeline", "Rules", "Stage", "Verdict", "classify", "load_rules", "program_of"]

LONGEST = 8_192
"""Bytes of a command that may be allowed."""
_PATH = ("/usr/local/bin", "/usr/bin", "/bin")

for _read_once in (shipped, bans):  # here, so that the first command is judged as fast as the others
    _read_once()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done with a command.

    Attributes:
        action: ``allow`` runs it, ``require_approval`` asks a person, ``deny`` refuses it.
        reason: What decided and why, in one line.
        pipelines: What to run if it is allowed: these very words, without a shell.
        tests: Whether it runs code of the repository: as tests may, inside a sandbox.
    """

    action: Literal["allow", "require_approval", "deny"]
    reason: str
    pipelines: tuple[Pipeline, ...] = ()
    tests: bool = False


def classify(
    cmd: str, *, sandboxed: bool = False, root: str | Path | None = None, rules: Rules | None = None
) -> Verdict:
    """Judge a command.

    Args:
        cmd: What the model wants to run, as a line of bash. It is never run by this function.
        sandboxed: Whether it would run in a sandbox that enforces its bounds and has no network: then test commands
            are allowed.
        root: The repository. Without it, each absolute path is outside.
        rules: What is allowed; those of the package by default, see `load_rules`.

    Raises:
        ConfigurationError: tree-sitter is not installed.
    """
    top = None if root is None else os.path.abspath(root)
    pipelines, outside = _read(cmd)
    asked, tests = (outside, False) if outside is not None else _judged(pipelines, sandboxed, top, rules or shipped())
    if asked is not None or rules is not None:
        reason = denied(cmd, pipelines, top)
        if reason is not None:
            return Verdict("deny", reason)
    if asked is not None:
        return Verdict("require_approval", asked)
    return Verdict("allow", "each program, option and path is allowed by a rule", pipelines, tests)


def _read(cmd: str) -> tuple[tuple[Pipeline, ...], str | None]:
    """The programs of a command, or why it is not one whose programs are known."""
    if len(cmd) > LONGEST or len(cmd.encode("utf-8", "surrogatepass")) > LONGEST:
        return (), f"it is longer than {LONGEST} bytes"
    try:
        return read(cmd), None
    except Outside as outside:
        return (), f"it is outside the subset that is judged: {outside}"


def _judged(
    pipelines: tuple[Pipeline, ...], sandboxed: bool, root: str | None, rules: Rules
) -> tuple[str | None, bool]:
    """Why a person has to be asked (``None`` if nobody has to), and whether tests are run."""
    tests = False
    for argv in {stage.argv: None for pipeline in pipelines for stage in pipeline.stages}:
        found = match(argv, rules, root)
        if found.refusal is not None or found.rule is None:
            return found.refusal, False
        tests |= found.rule.tests
        if found.rule.tests and not sandboxed:
            return f"{found.rule.name} runs code of the repository, and no sandbox encloses it", False
    return None, tests


def program_of(name: str, root: str | Path) -> Path:
    """The file of a program, from a fixed list of folders.

    Args:
        name: The name alone, without a folder.
        root: The repository.

    Raises:
        FileNotFoundError: No such program is in those folders, or it is one that the repository could change.
    """
    top = Path(root).resolve()
    for folder in _PATH if name and "/" not in name and name not in (".", "..") else ():
        place = Path(folder, name).resolve()
        if place.is_file() and os.access(place, os.X_OK) and not place.is_relative_to(top):
            return Path(folder, name)
    raise FileNotFoundError(f"there is no program {name!a:.80} in {', '.join(_PATH)}, outside the repository")
