"""Which repository a folder is in, and where its state lies."""

import os
import subprocess
from pathlib import Path

import pytest

from micro_agent.coding.sandbox import Stage
from micro_agent.coding.workplace import open_workplace, root_of, state_of, store_of
from micro_agent.errors import ConfigurationError


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of git's, with the folder ``a/b`` in it, beside the folder of state."""
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    (tmp_path / "repo/a/b").mkdir(parents=True)
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "repo"


def test_the_root_is_the_top_of_the_work_tree_that_a_folder_is_in(repo: Path, monkeypatch: pytest.MonkeyPatch):
    (repo.parent / "link").symlink_to(repo / "a")
    assert [root_of(place) for place in (repo, repo / "a/b", str(repo / "a"), repo.parent / "link/b")] == [repo] * 4
    monkeypatch.chdir(repo / "a")
    assert [root_of("."), root_of("b"), root_of("..")] == [repo] * 3
    assert root_of(repo.parent) == repo.parent  # it is in none
    (repo / "a/.git").mkdir()  # as git, we do not take it for one
    assert root_of(repo / "a/b") == repo
    (repo / "a/.git").rmdir()
    (repo / "a/.git").write_text("gitdir: ../.git/worktrees/a\n")
    assert root_of(repo / "a/b") == repo / "a"


@pytest.mark.parametrize(("name", "told"), [("none", "is not there"), ("file", "is not a folder")])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str, told: str):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError) as refused:
        root_of(tmp_path / name)
    assert str(refused.value) == f"the repository '{tmp_path / name}' {told}: name the folder of one"


def test_state_and_traces_of_each_repository_lie_apart_and_outside(repo: Path, tmp_path: Path):
    store, other = store_of(repo / "a"), store_of(tmp_path / "repo/a/b")
    assert store.directory == other.directory == store.state_dir / "traces"
    assert store.state_dir == state_of(repo, tmp_path / "state")
    assert store.state_dir.parent == tmp_path / "state/repos"
    (tmp_path / "second").mkdir()
    assert store_of(tmp_path / "second").state_dir not in (store.state_dir, tmp_path / "state")
    given = store_of(repo, state_dir=tmp_path / "mine", traces_dir=tmp_path / "traces")
    assert (given.directory, given.state_dir.parent) == (tmp_path / "traces", tmp_path / "mine/repos")


def test_state_and_traces_inside_the_repository_are_refused(repo: Path, monkeypatch: pytest.MonkeyPatch):
    (repo / "out").symlink_to("..")
    (repo.parent / "in").symlink_to("repo")
    monkeypatch.chdir(repo)
    for inside in (Path("traces"), repo / "a", repo / "out/traces", repo.parent / "in/traces", Path()):
        with pytest.raises(ConfigurationError, match=r"the folder of traces \(--traces-dir, TRACES_DIR\) is"):
            store_of(repo, traces_dir=inside)
        with pytest.raises(ConfigurationError, match=r"MICRO_AGENT_STATE_DIR is .* inside the repository"):
            store_of(repo, state_dir=inside)
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(repo / ".state"))
    with pytest.raises(ConfigurationError, match="name a place outside it"):
        store_of(repo)
    with pytest.raises(ConfigurationError, match="is inside MICRO_AGENT_STATE_DIR, which is closed to the model"):
        store_of(repo, state_dir=repo.parent)


def test_all_state_and_the_traces_are_closed_to_what_runs(repo: Path, tmp_path: Path):
    for name in ("state/runs/journal", "state/repos/of-another/trace", "traces/trace"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("what was asked")
    place = open_workplace(repo / "a", masked=[tmp_path / "traces"])
    assert place.sandbox.enforces, "no sandbox holds here: this test needs bubblewrap"
    assert (place.root, place.state) == (repo, state_of(repo, tmp_path / "state"))
    looks = Stage(
        ("sh", "-c", f"cat $(find {tmp_path} -type f); cat {tmp_path}/state/runs/journal {tmp_path}/traces/*")
    )
    ran = place.sandbox.run([looks], "ro")
    assert b"what was asked" not in ran.stdout
    assert ran.exit, ran


def test_a_repository_whose_name_is_not_utf_8_has_a_state(tmp_path: Path):
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    assert store_of(odd, state_dir=tmp_path / "state").state_dir.name == state_of(odd, tmp_path / "state").name
