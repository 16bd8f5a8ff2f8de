"""What the README and the docs say is true: blocks run, outputs are as shown, links lead somewhere.

A page is played from top to bottom in one temporary directory. Every ``python`` block runs, and a ``text`` block right
after it is what it prints. A ``console`` block that begins with a call of micro-agent or curl runs: a line with ``$``
is a command, the others are what it shows; ``$ echo $?`` follows a command that does not exit with 0. A command that
ends with ``&`` is a server: it runs until the next one or the end of the page, and the address that the page says it
listens on, 127.0.0.1:8000 or 8100, is it. In what is shown, ``…`` stands for anything in a line, and alone on a line
for any lines. A block whose first line is ``# some/name.yaml`` (or ``.py``, ``.toml``) is saved under that name.
``<!-- not run: reason -->`` before a block leaves it out.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.each import each
from tests.warm import Warm

ROOT = Path(__file__).resolve().parents[2]
PLAY = Path(__file__).with_name("play.py")
EXECUTED = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
PAGES = sorted([*ROOT.glob("[!.]*.md"), *(page for folder in FOLDERS for page in folder.rglob("*.md"))])

_FENCE = re.compile(r"(?P<indent> *)(?P<fence>```+)(?P<language>[\w-]*)[^`]*")
_NOT_RUN = re.compile(r"\s*<!-- not run:(?P<reason>.*)-->\s*")
_CALL = re.compile(r"\$ (.*\| )?(\w+=\S* )*(micro-agent|curl|python -m micro_agent\S* .*--port 8[01]00)\b")
_FILE = re.compile(r"# [\w./-]+\.(py|yaml|toml)\n")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)[^)]*\)")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; ``line`` is the line of its opening fence, counted from 0, ``end`` that of the closing one."""

    language: str
    line: int
    end: int
    content: str
    not_run: str | None
    """The reason in the comment before it; ``None`` without such a comment."""

    @property
    def runs(self) -> bool:
        """Whether `play` has something to do with it."""
        if self.not_run is not None:
            return False
        if self.language == "console":
            return bool(_CALL.match(self.content))
        return self.language == "python" or bool(_FILE.match(self.content))


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    lines = text.splitlines()
    start = 0
    while start < len(lines):
        opening = _FENCE.fullmatch(lines[start])
        if not opening:
            start += 1
            continue
        end = start + 1
        while lines[end].strip() != opening["fence"]:
            end += 1
        content = "\n".join(line[len(opening["indent"]) :] for line in lines[start + 1 : end])
        yield Block(opening["language"], start, end, content, _reason(lines[:start]))
        start = end + 1


def _reason(before: list[str]) -> str | None:
    nearest = next((line for line in reversed(before) if line.strip()), "")
    comment = _NOT_RUN.fullmatch(nearest)
    return comment["reason"].strip() if comment else None


def prose(text: str) -> str:
    """The page without its fenced blocks."""
    lines = text.splitlines()
    for block in blocks(text):
        lines[block.line : block.end + 1] = [""] * (block.end + 1 - block.line)
    return "\n".join(lines)


def links(text: str) -> list[str]:
    """The targets of the links that stay in the repository: paths and anchors."""
    without_code = re.sub(r"`[^`\n]*`", "code", prose(text))
    targets = [match["target"] for match in _LINK.finditer(without_code)]
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(text: str) -> set[str]:
    """What a link to a heading of this page may say after the ``#``, by the rules of GitHub."""
    headings = re.findall(r"^#+ +(.*?) *$", prose(text).lower(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def shows(shown: str, printed: str) -> bool:
    """Whether a page's text describes an output, where ``…`` stands for anything."""
    patterns = [
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*") + r"\n"
        for line in shown.strip().splitlines()
    ]
    actual = "".join(line.rstrip() + "\n" for line in printed.strip().splitlines())
    return re.fullmatch("".join(patterns), actual) is not None


def play(page: Path, played: list[Block], directory: Path, warm: Warm) -> list[str]:
    """Execute blocks of a page in a directory, in an environment with nothing of this one's settings; their outputs."""
    scratch, home, work = (directory / name for name in ("scratch", "home", "work"))
    for folder in (scratch, home, work):
        folder.mkdir()
    content = [{"language": b.language, "line": b.line + 2, "content": b.content} for b in played]
    (scratch / "blocks.json").write_text(json.dumps(content))
    path = os.pathsep.join([str(warm.scripts), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = warm.run(
        PLAY, page, scratch / "blocks.json", scratch / "outputs.json", cwd=work, timeout=150,
        env={"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "100"},
    )  # fmt: skip
    assert done.returncode == 0, f"{page}:\n{done.stdout}{done.stderr}"
    return json.loads((scratch / "outputs.json").read_text())


def expected(page_blocks: list[Block], block: Block) -> str | None:
    """What the page says this block prints: a console block itself, the text block after Python; else ``None``."""
    if block.language == "console":
        return block.content
    after = page_blocks[page_blocks.index(block) + 1 :][:1]
    return after[0].content if block.language == "python" and after and after[0].language == "text" else None


LONG = frozenset({
    "approvals", "cli", "code", "coding", "evals", "evals-report", "mcp", "openai-endpoint", "optimize", "patches",
    "plans", "proxy", "replay", "scale", "server", "testing",
})  # fmt: skip
"""Pages that take more than a second: `make torture` has them, and `pytest tests/docs -m '' -k NAME` one of them."""


PLAYED = [
    pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.torture] if page.stem in LONG else [])
    for page in EXECUTED
]


@pytest.mark.parametrize("page", PLAYED)
def test_blocks_run_and_print_what_the_page_shows(page: Path, tmp_path: Path, warm: Warm) -> None:
    if "\n$ curl " in page.read_text(encoding="utf-8") and shutil.which("curl") is None:
        pytest.skip("the page calls curl, which is not installed")
    check_page(page, tmp_path, warm)


def check_page(page: Path, directory: Path, warm: Warm) -> None:
    """Play a page and compare each output with what the page shows."""
    page_blocks = list(blocks(page.read_text(encoding="utf-8")))
    played = [block for block in page_blocks if block.runs]
    outputs = play(page, played, directory, warm) if played else []
    for block, printed in zip(played, outputs, strict=True):
        shown = expected(page_blocks, block)
        message = f"{page}:{block.line + 1}: the page shows\n{shown}\nand this came:\n{printed}"
        assert shown is None or shows(shown, printed), message


LIES = {
    "output": "```python\nprint(16)\n```\n\n```text\n17\n```\n",
    "exception": "```python\nraise ValueError\n```\n",
    "namespace": "```python\nx = 1\n```\n```python\ny\n```\n",
    "import": "```python\nimport micro_agent\n\nmicro_agent.testing\n```\n",
    "console": "```console\n$ micro-agent --help\nno such line\n```\n",
    "server": "```console\n$ micro-agent serve --no-such-option &\nmicro-agent listens on …\n```\n",
    "exit code": "```console\n$ micro-agent no-such-command\n…\n```\n",
    "exit code shown": "```console\n$ micro-agent no-such-command\n…\n$ echo $?\n0\n```\n",
}


@pytest.mark.parametrize("text", LIES.values(), ids=LIES.keys())
def test_a_page_that_is_wrong_is_noticed(text: str, tmp_path: Path, warm: Warm) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page\.md"):
        check_page(page, tmp_path, warm)


def test_a_page_that_is_right_passes(tmp_path: Path, warm: Warm) -> None:
    page = tmp_path / "page.md"
    page.write_text(RIGHT, encoding="utf-8")
    check_page(page, tmp_path, warm)


RIGHT = """
```python
# pack/one.py
x = 16
```

<!-- not run: it would wait for a server -->
```python
raise SystemExit(1)
```

```python
from pack.one import x as again

print(x, again)
print("a line", 3.25, "s")
```

```text
16 16
a line … s
```

```console
$ micro-agent no-such-command
…
$ echo $?
2
```
"""


@each("page", EXECUTED, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_block_that_is_left_out_says_why(page: Path) -> None:
    unexplained = [b.line + 1 for b in blocks(page.read_text(encoding="utf-8")) if b.not_run == ""]
    assert unexplained == []


@each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    broken = [target for target in links(page.read_text(encoding="utf-8")) if not _leads_somewhere(page, target)]
    assert broken == []


def _leads_somewhere(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page
    return file.exists() and (not anchor or anchor in anchors(file.read_text(encoding="utf-8")))


def test_the_index_lists_every_page_of_the_docs() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / target).resolve() for target in links(index.read_text(encoding="utf-8"))}
    assert sorted(set(EXECUTED) - {ROOT / "README.md", index} - listed) == []


def test_make_commands_of_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {
        (page.name, target)
        for page in PAGES
        for target in re.findall(r"(?:^|`|\$ |&& )make ([a-z]+)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert {(page, target) for page, target in named if target not in targets} == set()
    assert ("README.md", "test") in named


def test_a_line_of_the_changelog_has_at_most_25_words() -> None:
    entries = re.findall(r"^- (.*(?:\n  .*)*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert entries
    assert [entry for entry in entries if len(entry.split()) > 25] == []


def test_the_rules_for_contributors_stay_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 110
