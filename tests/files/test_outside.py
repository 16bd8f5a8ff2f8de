"""Whether a path is in a folder: as it stands, or by a link."""

from pathlib import Path

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.files.outside import is_inside, refuse_inside


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``repo`` beside ``elsewhere``, with links from each to the other; they are in the working directory."""
    for name in ("repo/sub", "elsewhere", "repository"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "elsewhere/in").symlink_to("../repo/sub")
    (tmp_path / "repo/out").symlink_to("../elsewhere")
    (tmp_path / "also").symlink_to("repo")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "repo"


def test_what_is_in_a_folder_however_it_is_reached(repo: Path):
    inside = ["repo", "repo/", "repo/sub/none/x", "elsewhere/in", "elsewhere/in/x", "elsewhere/../repo/x", "also/x"]
    inside += ["repo/out", "repo/out/x", "repo/sub/../x", "elsewhere/in/../x", str(repo), str(repo / "x")]
    outside = ["elsewhere", "elsewhere/x", "repository", ".", "..", "/", "none/x", str(repo.parent)]
    assert [path for path in inside if not is_inside(repo, Path(path))] == []
    assert [path for path in outside if is_inside(repo, Path(path))] == []
    assert is_inside(Path("also"), Path("repo/x"))


def test_the_working_directory_counts_for_a_relative_path(repo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(repo / "sub")
    assert is_inside(repo, Path())
    assert is_inside(repo, Path("traces"))
    assert not is_inside(repo, Path("../../elsewhere"))


def test_a_path_in_the_repository_is_refused_with_its_name(repo: Path):
    refuse_inside(repo, Path("elsewhere"), "the folder")
    with pytest.raises(ConfigurationError) as refused:
        refuse_inside(repo, Path("repo/x"), "the folder")
    told = f"the folder is 'repo/x', which is inside the repository {repo}, where the model can write"
    assert str(refused.value) == f"{told}: name a place outside it"
