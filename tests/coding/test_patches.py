"""A patch is applied whole and exactly, or refused with a reason; what is beside the point of a diff is repaired."""

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.coding.patches import Applied, PatchError, apply
from tests.coding.labelled import read_rows
from tests.coding.patching import CHANGE, CHANGED, LINES, everything, files_of, put, repository
from tests.each import each

CASES = read_rows("patches/cases.jsonl")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    return repository(tmp_path)


def refusal(root: Path, diff: str, **options: Any) -> PatchError:
    """The error of a diff that is refused; it has changed nothing."""
    before = everything(root)
    with pytest.raises(PatchError) as raised:
        apply(root, diff, **options)
    assert everything(root) == before
    assert raised.value.code in {"INVALID_DIFF", "PATCH_APPLY_FAILED"}
    return raised.value


@each("case", CASES, ids=lambda case: case["id"])
def test_a_labelled_diff_is_applied_or_refused(case: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("case")
    root, state = repository(folder, case["files"]), folder / "state"
    (folder / "outside.txt").write_text("secret\n")
    if case["label"] in {"bad", "hostile"}:
        assert len(refusal(root, case["diff"], state=state).message) > 20
        assert (folder / "outside.txt").read_text() == "secret\n"
    else:
        applied = apply(root, case["diff"], state=state)
        put(folder / "wanted", {name: at for name, at in {**case["files"], **case["after"]}.items() if at is not None})
        assert files_of(root) == files_of(folder / "wanted")
        assert case["label"] == "repairable" or not set(applied.repaired) - {"prose"}
    shutil.rmtree(folder)


def test_what_was_changed_and_repaired_is_said(root: Path) -> None:
    assert apply(root, CHANGE) == Applied(("f.txt",), ())
    assert (root / "f.txt").read_text() == CHANGED
    back = "Here:\n```diff\n--- f.txt\n+++ f.txt\n@@ -40,7 +4,3 @@\n four\n-5\n+five\n six\n```\n"
    applied = apply(root, back)
    assert applied == Applied(("f.txt",), ("prose", "fences", "prefix (f.txt)", "counts, hunk 1 (f.txt)"))
    assert (root / "f.txt").read_text() == LINES


def test_a_refusal_says_which_hunk_what_it_expects_and_what_is_there(root: Path) -> None:
    second = CHANGE + "@@ -8,2 +8,2 @@\n eight\n-nein\n+9\n"
    error = refusal(root, second)
    assert error.message == "hunk 2 does not fit f.txt: at line 9 it expects 'nein', the file has 'nine'"
    assert error.recovery is not None
    assert error.recovery["tool_call"] == {
        "name": "read_file", "arguments": {"path": "f.txt", "start_line": 1, "end_line": 29}
    }  # fmt: skip


GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/local/bin:/usr/bin:/bin"}
words = st.sampled_from(
    ["", "a", "b", "  c", "\td", "-e", "+f", " g ", "@@ -1 +1 @@", "--- a/x", "+++ b/x", "\\ h", "é", "```"]
)
texts = st.lists(words, max_size=30).flatmap(lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])]))


def git_diff(folder: Path, old: str | None, new: str | None, context: int = 3, name: str = "f.txt") -> str:
    """What git prints of a file that becomes another."""
    for side, text in (("a", old), ("b", new)):
        (folder / side).mkdir(exist_ok=True)
        (folder / side / name).unlink(missing_ok=True)
        if text is not None:
            (folder / side / name).write_bytes(text.encode())
    command = ["git", "diff", "--no-index", "--no-prefix", f"-U{context}", "a", "b"]
    return subprocess.run(command, cwd=folder, env=GIT, capture_output=True, check=False).stdout.decode()


@given(old=texts, new=texts, context=st.sampled_from([1, 3, 10]))
def test_what_git_prints_is_applied_to_the_byte(
    old: str, new: str, context: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("edit")
    diff = git_diff(folder, old, new, context)
    root = repository(folder, {"f.txt": old})
    if diff:
        assert not apply(root, diff, state=folder / "state").repaired
    assert (root / "f.txt").read_bytes() == new.encode()


def counts_wrong(lines: list[str], rng: random.Random) -> list[str]:
    return [f"@@ -1,{rng.randrange(9)} +1,{rng.randrange(9)} @@" if line.startswith("@@") else line for line in lines]


def edges_lost(lines: list[str], rng: random.Random) -> list[str]:
    """Lines that stay are lost where a hunk begins or ends; between its edits they say where each of them is."""
    kept: list[str] = []
    for line in counts_wrong(lines, rng):
        if kept and kept[-1].startswith("@@") and line.startswith(" ") and rng.random() < 0.6:
            continue
        while line.startswith("@@") and kept[-1].startswith(" ") and rng.random() < 0.6:
            kept.pop()
        kept.append(line)
    return kept


def context_mistyped(lines: list[str], rng: random.Random) -> list[str]:
    return [line + "?!" if line.startswith(" ") and rng.random() < 0.3 else line for line in lines]


def cut_short(lines: list[str], rng: random.Random) -> list[str]:
    last = max((at for at, line in enumerate(lines) if line.startswith(("+", "-"))), default=-1)
    return lines[: rng.randint(last + 1, len(lines))]


def bared(lines: list[str], rng: random.Random) -> list[str]:
    return [line[1:] if line.startswith(" ") and rng.random() < 0.7 else line for line in lines]


def indented(lines: list[str], rng: random.Random) -> list[str]:
    return [" " * rng.choice([2, 4]) + line for line in lines]


def returned(lines: list[str], rng: random.Random) -> list[str]:
    return [line + "\r" for line in lines]


def shortened(lines: list[str], rng: random.Random) -> list[str]:
    return [line.rstrip() if line.startswith(" ") else line for line in lines]


def surrounded(lines: list[str], rng: random.Random) -> list[str]:
    return ["Sure:", "```diff", *lines, "```", "- that is all"]


def unprefixed(lines: list[str], rng: random.Random) -> list[str]:
    return [
        line.replace(" a/", " ").replace(" b/", " ") if line.startswith(("---", "+++", "diff")) else line
        for line in lines
    ]


DAMAGES: list[Callable[[list[str], random.Random], list[str]]] = [
    counts_wrong, edges_lost, context_mistyped, cut_short, bared, indented, returned, shortened, surrounded, unprefixed
]  # fmt: skip
plain = st.lists(st.sampled_from(["a", "b", "c()", "  d", "    e", "", "}"]), min_size=1, max_size=25)


@given(
    old=plain,
    new=plain,
    damages=st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=2, unique=True),
    seed=st.integers(0),
)
def test_a_damaged_diff_is_refused_or_means_what_it_meant(
    old: list[str],
    new: list[str],
    damages: list[Callable[..., list[str]]],
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    folder = tmp_path_factory.mktemp("damage")
    lines = git_diff(folder, before, after).splitlines()
    root = repository(folder, {"f.txt": before})
    for damage in damages:
        lines = damage(lines, random.Random(seed))
    try:
        apply(root, "\n".join(lines), state=folder / "state")
    except PatchError:
        after = before
    assert (root / "f.txt").read_bytes() == after.encode()
