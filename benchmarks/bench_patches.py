"""What it costs to check a patch, over a plain ``git apply --check``: in a repository of 5,000 files, interleaved."""

import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from micro_agent.coding.patches import check

FILES, ROUNDS = 5_000, 60
LINES = [f"line {number} of a file that has some hundred of them" for number in range(200)]


def build(root: Path) -> str:
    """A repository, and a diff of three of its files, one of them made."""
    subprocess.run(["git", "init", "--quiet", root], check=True)
    for number in range(FILES):
        folder = root / f"folder{number % 50}"
        folder.mkdir(exist_ok=True)
        (folder / f"file{number}.txt").write_text("\n".join(LINES) + "\n")
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    for name in ("folder1/file1.txt", "folder2/file2.txt"):
        (root / name).write_text("\n".join([*LINES[:50], "another line", *LINES[51:150], *LINES[152:]]) + "\n")
    diff = subprocess.run(["git", "diff"], cwd=root, check=True, capture_output=True, text=True).stdout
    subprocess.run(["git", "checkout", "--quiet", "."], cwd=root, check=True)
    return diff + "--- /dev/null\n+++ b/folder3/new.txt\n@@ -0,0 +1 @@\n+new\n"


def main() -> None:
    """Print medians over interleaved rounds."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        diff = build(root)
        repairable = "```diff\n" + diff.replace("@@ -48,7 +48,7 @@", "@@ -1,9 +1,9 @@").replace("a/", "") + "```\n"
        ways = {
            "git apply --check": lambda: subprocess.run(
                ["git", "apply", "--check"], cwd=root, input=diff.encode(), check=True, capture_output=True
            ),
            "check of the same diff": lambda: check(root, diff),
            "check of one that is repaired": lambda: check(root, repairable),
        }
        taken = {name: list[float]() for name in ways}
        for turn in range(ROUNDS + 1):
            for name, way in ways.items():
                begun = perf_counter()
                way()
                if turn:
                    taken[name].append((perf_counter() - begun) * 1000)
    plain = median(taken["git apply --check"])
    for name, times in taken.items():
        print(f"{name}: {median(times):.1f} ms, {median(times) - plain:+.1f} ms")


if __name__ == "__main__":
    main()
