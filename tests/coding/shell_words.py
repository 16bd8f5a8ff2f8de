"""Random commands, and what real bash makes of them: the argv of each program that it would start."""

import os
import random
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from micro_agent.coding.commands.lexer import Outside, Pipeline, read

_SCRIPT = r"""
set +m
exec 3<"$1" 9>>"$2"
end=$3
command_not_found_handle() { printf '%s\0' "$i" "$#" "$@" >&9; return "$end"; }
for name in $(compgen -b); do
  case $name in read|eval|printf|return|enable) ;; *) enable -n "$name" ;; esac
done
i=0
PATH=/nonexistent
while IFS= read -r -d '' s <&3; do eval "$s"; i=$((i+1)); done
"""
_PARTS = [
    "a", "b1", "-x", "--k=v", "a.py", "README.md", "HEAD~1", "HEAD^", "x@{1}", "1,5p", "%h", "+3", "a:b", "^a", "a#b",
    "!", "~", "#", " ", " ", " ", " ", " ", " ", "  ", "'a b'", "''", "'$x'", "'\\'", '"a b"', '"\\""', '"\\$x"',
    '"a\\b"', '"\\\\"', '"$"', '"x$ y"', '"`"', '"$x"', "\\ ", "\\'", '\\"', '\\\\', "\\$", "\\a", "\\;", "\\|", "é",
    "'ü ß'", '"→"', "=", "a=", "{", "}", "{}", "@", "@{u}", ",", "..", " && ", " || ", "|", ";", " ; ", "&&", "||",
    "; ", ";;", "|&", "&", " 2>&1", " 2>/dev/null", "2>&1", " 2> /dev/null", "2>", ">", "<", "*", "?", "[", "]", "(",
    ")", "$x", "$(a)", "`a`", "\n", "\t", "\\\n", "$'a'", '$"a"', "/", "//", "./x", "'", '"', '\\', "$", "2", "1",
    "in", "do", "time", "if", "!", "{a,b}", "a~", ":~", "=~", "~a", "-", "--", "#a", "\xa0", "\u200b",
]  # fmt: skip
_SIGNS = "ab1 -=.,:;&|'\"\\$`~#!@{}()[]*?<>/+%^\n\té"


def random_commands(count: int, seed: int) -> list[str]:
    """Commands of known parts and of single signs, by a seed."""
    dice = random.Random(seed)
    made: list[str] = []
    for number in range(count):
        of = _SIGNS if number % 4 == 3 else _PARTS[: 60 if number % 4 else None]
        made.append("a" + "".join(dice.choice(of) for _ in range(dice.randint(1, 9))))
    return made


def compare(commands: Sequence[str], folder: Path) -> tuple[int, list[str]]:
    """How many commands our lexer reads, and each that bash reads otherwise, with both readings."""
    ours = {cmd: pipelines for cmd in dict.fromkeys(commands) if (pipelines := _ours(cmd))}
    wrong: list[str] = []
    for status in (0, 1):
        bash = _bash(list(ours), status, folder)
        for (cmd, pipelines), found in zip(ours.items(), bash, strict=True):
            expected = Counter(_started(pipelines, status))
            if found != expected:
                wrong.append(f"{cmd!r} is {dict(expected)} here and {dict(found)} in bash")
    return len(ours), wrong


def _ours(cmd: str) -> tuple[Pipeline, ...] | None:
    try:
        pipelines = read(cmd)
    except Outside:
        return None
    names = [stage.argv[0] for pipeline in pipelines for stage in pipeline.stages]
    in_files = any("/" in name or not name for name in names)  # bash looks for these in the file system
    return None if in_files else pipelines


def _started(pipelines: tuple[Pipeline, ...], status: int) -> list[tuple[str, ...]]:
    """What is started if each program ends with this status."""
    skipped = "||" if status == 0 else "&&"
    return [stage.argv for pipeline in pipelines if pipeline.after != skipped for stage in pipeline.stages]


def _bash(commands: list[str], status: int, folder: Path) -> list[Counter[tuple[str, ...]]]:
    given, records = folder / "commands", folder / f"records-{status}"
    given.write_bytes(b"".join(cmd.encode() + b"\0" for cmd in commands))
    records.write_bytes(b"")
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", _SCRIPT, "bash", str(given), str(records), str(status)],
        check=True, env={"LC_ALL": "C.UTF-8", "PATH": os.defpath}, cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found: list[Counter[tuple[str, ...]]] = [Counter() for _ in commands]
    fields = records.read_bytes().split(b"\0")
    at = 0
    while at < len(fields) - 1:
        count = int(fields[at + 1])
        found[int(fields[at])][tuple(field.decode() for field in fields[at + 2 : at + 2 + count])] += 1
        at += 2 + count
    return found
