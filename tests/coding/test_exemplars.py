"""What a coding agent is told of past runs: those of its own repository, as they stand now."""

import json
from pathlib import Path
from typing import Any

from micro_agent.coding.exemplars import exemplars_for
from micro_agent.coding.patches import check
from micro_agent.coding.patches.store import Patches
from micro_agent.coding.workplace import root_of, store_of
from micro_agent.run import Run, Step, new_id

TASK = "Fix the off by one in the pager"


def test_similar_successes_are_told_for_a_first_question_only(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "pager.py").write_text("x = 1\n")
    store = store_of(root, state_dir=tmp_path / "state")
    given = exemplars_for(store)
    assert given(Run(question=TASK)) is None

    def ran(question: str, *steps: Step, **more: Any) -> Run:
        read = Step(tool="read_file", args={"path": "pager.py"})
        made = Run(
            question=question,
            steps=[read, *steps],
            answer="Done.",
            status="completed",
            coach={"kind": "coding"},
            **more,
        )
        store.append(made)
        return made

    past = ran(TASK)
    text = given(Run(question=f"{TASK}, please"))
    assert text is not None
    assert text.split("\n")[1:] == [f"- {json.dumps(TASK)}", '  read_file("pager.py")']
    assert given(past) is None
    assert given(Run(question=TASK, parent=past.id)) is None
    assert given(Run(question=TASK, follows=new_id())) is None
    assert exemplars_for(store, 0)(Run(question=TASK)) is None

    patches = Patches(root_of(root), store.state_dir)
    planned = check(root_of(root), "--- a/pager.py\n+++ b/pager.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")
    patch = patches.propose(planned, "one more")
    applied = Step(tool="apply_patch", args={"patch_id": patch.id}, observation={"ok": True, "patch_id": patch.id})
    patches.decide(patch.id, approved=True)
    patches.apply(patch.id)
    ran("The pager loses its last line", applied)
    ran("The pager forgets a patch", Step(tool="apply_patch", observation={"ok": True, "patch_id": "patch_0123456789"}))
    shown = given(Run(question="The pager loses its last line now"))
    assert shown is not None
    assert "loses its last line" in shown
    assert "forgets a patch" in shown
    patches.undo(patch.id)
    undone = given(Run(question="The pager loses its last line now"))
    assert undone is not None
    assert "loses its last line" not in undone
