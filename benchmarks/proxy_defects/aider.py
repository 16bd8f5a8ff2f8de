"""``aider``, headless: it offers no tools and edits files from the text, which has to come as it is."""

import os
import subprocess
from pathlib import Path

FILE, BEFORE = "shop.py", "def price(count):\n    return count * 2\n"
EDITS = {
    "dev-good-whole-edit": "def price(count):\n    return count * 3\n",
    "held-traps-code-with-call": (
        'ASKED = {"name": "find_part", "arguments": {"query": "M8 bolt", "limit": 3}}\n\n\n'
        "def price(count):\n    return count * 3\n"
    ),
}
QUIET = (
    "--yes-always", "--no-git", "--no-check-update", "--analytics-disable", "--no-show-model-warnings",
    "--no-show-release-notes", "--no-pretty", "--no-fancy-input", "--map-tokens", "0", "--edit-format", "whole",
)  # fmt: skip


def edited(program: str | Path, url: str, defect: str, folder: Path, *, streamed: bool) -> str:
    """Have it change one file in an empty folder; what the file says then.

    Raises:
        RuntimeError: It ended with an error.
    """
    (folder / FILE).write_text(BEFORE)
    command = [
        str(program), "--model", f"openai/weak:{defect}:raw:aider", "--openai-api-base", f"{url}/v1",
        "--openai-api-key", "sk-of-the-user", "--stream" if streamed else "--no-stream", *QUIET,
        "--message", "Triple the price.", FILE,
    ]  # fmt: skip
    environment = {
        "HOME": str(folder), "PATH": os.environ["PATH"], "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LANG": "C.UTF-8",
    }  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"aider broke: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return (folder / FILE).read_text()
