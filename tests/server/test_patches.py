"""The queue of patches over HTTP: shown whole, decided once, applied to real files and taken back."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.coding.patches import check
from micro_agent.coding.patches.store import Patch, Patches
from micro_agent.coding.workplace import state_of

if TYPE_CHECKING:
    from tests.server.conftest import Start

DIFF = "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-one\n+two\n"


@pytest.fixture
def queue(tmp_path: Path) -> Patches:
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "f.txt").write_text("one\n")
    return Patches(root, state_of(root, tmp_path / "state"))


def proposed(queue: Patches, diff: str = DIFF, intent: str = "two") -> Patch:
    return queue.propose(check(queue.root, diff), intent)


def test_a_patch_is_shown_applied_and_taken_back(start: "Start", queue: Patches) -> None:
    client, patch = start(queue=queue).client, proposed(queue)
    listed = client.get("/patches").json()
    assert (listed["repository"], listed["damaged"]) == (str(queue.root), [])
    assert [(one["id"], one["status"], one["intent"], one["files"]) for one in listed["patches"]] == [
        (patch.id, "proposed", "two", ["f.txt"])
    ]
    shown = client.get(f"/patches/{patch.id}").json()
    assert (shown["diff"], shown["sha256"]) == (patch.diff, patch.digest)
    seen = {"seen": shown["status"], "sha256": shown["sha256"]}
    done = client.post(f"/patches/{patch.id}/apply", json=seen)
    assert (done.status_code, done.json()["status"]) == (200, "applied")
    assert (queue.root / "f.txt").read_text() == "two\n"
    back = client.post(f"/patches/{patch.id}/undo")
    assert (back.status_code, back.json()["status"], (queue.root / "f.txt").read_text()) == (200, "undone", "one\n")


def test_of_two_that_decide_the_first_counts_and_the_other_is_told(start: "Start", queue: Patches) -> None:
    client, patch = start(queue=queue).client, proposed(queue)
    seen = {"seen": "proposed", "sha256": patch.digest}
    refused = client.post(f"/patches/{patch.id}/reject", json={**seen, "feedback": "not so"})
    assert (refused.status_code, refused.json()["status"], refused.json()["feedback"]) == (200, "rejected", "not so")
    late = client.post(f"/patches/{patch.id}/apply", json=seen)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "patch_refused")
    assert f"somebody else decided first, {patch.id} is rejected by now" in late.json()["error"]["message"]
    assert (queue.root / "f.txt").read_text() == "one\n"
    other = client.post(f"/patches/{patch.id}/apply", json={"sha256": "0" * 64})
    assert other.status_code == 409
    assert client.post(f"/patches/{patch.id}/apply", json={}).json()["status"] == "applied"
    late = client.post(f"/patches/{patch.id}/reject", json={})
    assert (late.status_code, late.json()["error"]["message"]) == (409, f"{patch.id} is applied: undo it instead")
    (queue.root / "f.txt").write_text("three\n")
    changed = client.post(f"/patches/{patch.id}/undo")
    assert (changed.status_code, "has changed since" in changed.json()["error"]["message"]) == (409, True)


def test_what_does_not_show_in_a_diff_is_told(start: "Start", queue: Patches) -> None:
    client = start(queue=queue).client
    patch = proposed(queue, DIFF.replace("two", "t\u202ewo"), "an \u200bintent")
    shown = client.get(f"/patches/{patch.id}").json()
    assert "+t\\u202ewo" in shown["diff"]
    assert shown["intent"] == "an \\u200bintent"


def test_what_is_not_there_is_not_found(start: "Start", queue: Patches) -> None:
    client = start(queue=queue).client
    assert client.get("/patches/patch_0123456789").json()["error"]["code"] == "patch_not_found"
    assert client.get("/patches/patch_x").status_code == 422
    bare = start().client
    assert bare.get("/patches").json() == {"repository": None, "patches": [], "damaged": []}
    told = bare.get("/patches/patch_0123456789").json()["error"]
    assert told == {
        "code": "patch_not_found", "message": "no repository is served: start with `serve --repo DIR`",
    }  # fmt: skip
