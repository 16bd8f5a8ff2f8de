"""Pushing and pull requests: real repositories, real remotes, and a `gh` that records what it is asked."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding import github
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from tests.coding.plain_sandbox import PlainSandbox
from tests.each import each

GH = """#!/bin/sh
{ for one in "$@"; do printf '%s\\0' "$one"; done; } > "$0.args"
env -0 > "$0.env"
pwd > "$0.cwd"
echo https://github.com/me/project/pull/7
exit "$(cat "$0.exit" 2>/dev/null || echo 0)"
"""
HUB = "https://me:secret@github.com/me/project.git"
PR = {"title": "-t: a title", "body": "--draft=false\nsecond line", "branch": "topic"}


def git(where: Path, *args: str) -> str:
    given = ["-c", "user.name=me", "-c", "user.email=me@example.com", *args]
    return subprocess.run(["git", *given], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository and the remote that each desk has copies of: to make them takes nine programs."""
    where = tmp_path_factory.mktemp("model")
    root, bare = where / "repo", where / "bare.git"
    root.mkdir()
    git(root, "init", "-q", "--bare", "-b", "main", str(bare))
    git(root, "init", "-q", "-b", "main", ".")
    git(root, "remote", "add", "origin", str(bare))
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    git(root, "push", "-q", "origin", "main")
    git(root, "checkout", "-q", "-b", "topic")
    git(root, "commit", "-q", "--allow-empty", "-m", "the subject")
    return where


class Desk:
    """A repository with one commit on ``main``, a bare one as its remote, a home and a folder of programs."""

    def __init__(self, where: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A copy of what is in ``model``."""
        self.root, self.bare, self.home, self.bin = (where / name for name in ("repo", "bare.git", "home", "bin"))
        for folder in (self.home, self.bin):
            folder.mkdir(parents=True)
        for name in [name for name in os.environ if name.startswith(("GIT_", "GH_", "GITHUB_", "SSH_", "XDG_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/local/bin:/usr/bin:/bin")
        for folder in (self.root, self.bare):
            shutil.copytree(model / folder.name, folder)
        config = self.root / ".git" / "config"
        config.write_text(config.read_text().replace(str(model), str(where)))
        self.first = (self.bare / "refs" / "heads" / "main").read_text().strip()
        place = Workplace(self.root, where / "state", PlainSandbox(self.root))
        self.tools = {tool.name: tool for tool in github.tools(place)}

    def git(self, *args: str) -> str:
        return git(self.root, *args)

    def commit(self, message: str) -> None:
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def there(self) -> dict[str, str]:
        """The branches of the remote, and the commit of each."""
        listed = subprocess.run(
            ["git", "show-ref", "--heads"], cwd=self.bare, capture_output=True, text=True, check=False
        )
        return {name.removeprefix("refs/heads/"): commit for commit, name in map(str.split, listed.stdout.splitlines())}

    def program(self, name: str, text: str, *, folder: Path | None = None) -> Path:
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def preview(self, tool: str, **args: Any) -> dict[str, Any]:
        made = self.tools[tool].preview
        assert made is not None
        return made(args)

    def refused(self, tool: str, **args: Any) -> ToolError:
        """The error of a call and of its preview, which are the same; nothing was pushed."""
        before = self.there()
        with pytest.raises(ToolError) as shown:
            self.preview(tool, **args)
        with pytest.raises(ToolError) as made:
            self.tools[tool].handler(**args)
        assert (shown.value.code, shown.value.message) == (made.value.code, made.value.message)
        assert self.there() == before
        return made.value


@pytest.fixture
def desk(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, model, monkeypatch)


def test_the_current_branch_is_pushed(desk: Desk) -> None:
    tool = desk.tools["git_push"]
    head = desk.git("rev-parse", "HEAD")
    shown = desk.preview("git_push")
    assert tool.needs_confirmation({})
    assert not tool.read_only
    assert {**shown, "id": ""} == {
        "kind": "command", "id": "", "cwd": str(desk.root),
        "sandbox": None, "remote": str(desk.bare), "branch": "topic",
        "commit": head, "subject": "the subject",
        "text": f"git push --porcelain --no-follow-tags --recurse-submodules=no {desk.bare} {head}:refs/heads/topic",
    }  # fmt: skip
    assert shown == desk.preview("git_push")
    done = tool.handler()
    assert done["success"] is True
    assert "refs/heads/topic" in done["output"]
    assert desk.there() == {"main": desk.first, "topic": head}
    assert set(done) == {"success", "output"}
    (desk.root / "new.txt").write_text("not committed")
    desk.commit("another")
    assert "not committed" in tool.handler()["note"]


def test_a_branch_is_pushed_by_its_name_and_a_new_one_from_head(desk: Desk) -> None:
    head = desk.git("rev-parse", "HEAD")
    desk.git("checkout", "-q", "--detach")
    desk.commit("without a branch")
    desk.tools["git_push"].handler(branch="topic")
    desk.tools["git_push"].handler(branch="feature/new-one")
    assert desk.there() == {"main": desk.first, "topic": head, "feature/new-one": desk.git("rev-parse", "HEAD")}
    assert "no branch is checked out" in desk.refused("git_push").message


def test_what_moved_over_there_is_never_overwritten(desk: Desk) -> None:
    desk.tools["git_push"].handler()
    before = desk.there()
    desk.git("reset", "-q", "--hard", desk.first)
    desk.commit("another history")
    with pytest.raises(ToolError, match="rejected") as refused:
        desk.tools["git_push"].handler()
    assert refused.value.code == "GIT_FAILED"
    assert desk.there() == before


def test_the_default_branch_is_not_pushed_to(desk: Desk) -> None:
    desk.preview("git_push", branch="main")  # nobody has said here yet which one it is
    with pytest.raises(ToolError, match="main is the default branch"):
        desk.tools["git_push"].handler(branch="main")
    desk.git("remote", "set-head", "origin", "-a")
    assert "main is the default branch" in desk.refused("git_push", branch="main").message
    desk.git("checkout", "-q", "main")
    assert "main is the default branch" in desk.refused("git_push").message


@each(
    "name", ["-f", "--mirror", "a..b", "a b", "x:refs/heads/main", "a\u202eb", "x\ny", "topic~1", "@{-1}", "", "a.lock"]
)
def test_what_is_no_name_of_a_branch_is_refused(name: str, desk: Desk) -> None:
    assert desk.refused("git_push", branch=name).code == "GIT_FAILED"


def test_without_a_remote_nothing_is_done(desk: Desk) -> None:
    desk.program("gh", GH)
    desk.git("remote", "add", "other", str(desk.bare))
    desk.git("remote", "rename", "origin", "mine")
    assert "there are mine, other" in desk.refused("git_push").message
    desk.git("remote", "remove", "other")
    desk.tools["git_push"].handler()  # the only one there is
    desk.git("remote", "remove", "mine")
    assert "no remote" in desk.refused("create_pr", **PR).message
    assert not (desk.bin / "gh.args").exists()


def test_a_remote_that_is_not_there_is_said_by_git(desk: Desk) -> None:
    desk.git("remote", "set-url", "origin", str(desk.bare) + "-gone")
    with pytest.raises(ToolError, match="does not appear to be a git repository") as failed:
        desk.tools["git_push"].handler()
    assert failed.value.code == "GIT_FAILED"


def test_without_gh_nothing_is_pushed(desk: Desk) -> None:
    found = desk.program("gh", GH, folder=desk.root / "bin")
    os.environ["PATH"] = f"{desk.root}/bin:bin:{desk.bin}"
    (desk.bin / "git").symlink_to("/usr/bin/git")
    assert desk.refused("create_pr", **PR).code == "GH_MISSING"
    (desk.bin / "gh").symlink_to(found)
    assert desk.refused("create_pr", **PR).code == "GH_MISSING"


def test_without_git_nothing_is_pushed(desk: Desk) -> None:
    os.environ["PATH"] = str(desk.bin)
    with pytest.raises(ToolError, match="no `git`"):
        desk.preview("git_push")


def test_a_pull_request_is_a_draft_with_its_branch_pushed_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    gh = desk.program("gh", GH)
    (desk.home / ".gitconfig").write_text(f'[url "{desk.bare}"]\n\tinsteadOf = {HUB}\n')
    desk.git("remote", "set-url", "origin", HUB)
    given = {"GH_TOKEN": "t1", "GITHUB_TOKEN": "t2", "SSH_AUTH_SOCK": "/s", "OPENAI_API_KEY": "k", "GIT_DIR": "/x"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{desk.root}/bin:.:{os.environ['PATH']}")
    shown = desk.preview("create_pr", **PR)
    head = shown["commit"]
    done = desk.tools["create_pr"].handler(**PR)
    monkeypatch.delenv("GIT_DIR")
    assert done["success"] is True
    assert "https://github.com/me/project/pull/7" in done["output"]
    assert desk.there()["topic"] == head
    asked = Path(f"{gh}.args").read_text().split("\0")[:-1]
    assert asked == [
        "pr", "create", "--repo=me/project", "--head=topic", "--title=-t: a title",
        "--body=--draft=false\nsecond line", "--draft",
    ]  # fmt: skip
    assert shown["draft"] is True
    assert shown["text"].splitlines()[0].endswith(f"{desk.bare} {head}:refs/heads/topic")
    assert "gh pr create --repo=me/project" in shown["text"]
    assert "secret" not in str(shown)
    assert "secret" not in str(done)
    env = dict(line.split("=", 1) for line in Path(f"{gh}.env").read_text().split("\0") if line)
    assert (env["GH_TOKEN"], env["GITHUB_TOKEN"], env["SSH_AUTH_SOCK"]) == ("t1", "t2", "/s")
    assert {"OPENAI_API_KEY", "GIT_DIR"}.isdisjoint(env)
    assert env["PATH"] == f"{desk.bin}:/usr/local/bin:/usr/bin:/bin"
    assert not Path(Path(f"{gh}.cwd").read_text().strip()).is_relative_to(desk.root)


def test_a_long_answer_is_cut_and_what_stays_in_the_background_is_not_waited_for(desk: Desk) -> None:
    desk.program("gh", '#!/bin/sh\nseq 1 2000\nsetsid sleep 60 &\necho $! > "$0.left"\n')
    done = desk.tools["create_pr"].handler(**PR)
    assert (done["success"], done["truncated"]) == (True, True)
    assert done["output"].endswith("1999\n2000\n")
    os.kill(int((desk.bin / "gh.left").read_text()), signal.SIGKILL)  # it was still there


def test_a_pull_request_that_gh_refuses_is_a_result_that_says_so(desk: Desk) -> None:
    gh = desk.program("gh", GH)
    Path(f"{gh}.exit").write_text("1")
    done = desk.tools["create_pr"].handler(**PR, draft=False)
    assert done["success"] is False
    assert "refs/heads/topic" in done["output"]
    assert "topic" in desk.there()
    assert "--draft" not in Path(f"{gh}.args").read_text().split("\0")
    assert desk.preview("create_pr", **PR, draft=False)["draft"] is False


@each(
    ("url", "repo"),
    [
        ("git@github.com:me/project.git", "me/project"),
        ("ssh://git@github.com:22/me/project", "me/project"),
        ("https://ghe.example.org/me/project/", "ghe.example.org/me/project"),
        ("https://github.com/me/project.js.git", "me/project.js"),
        ("https://github.com/only", None),
        ("ssh://me:secret@example.com/a/b", "example.com/a/b"),
    ],
)
def test_gh_is_told_which_repository(url: str, repo: str | None, desk: Desk) -> None:
    desk.program("gh", GH)
    desk.git("remote", "set-url", "origin", url)
    shown = desk.preview("create_pr", **PR)
    assert f" {url.replace(':secret', '')} " in shown["text"]
    assert (f"--repo={repo} " in shown["text"]) if repo else ("--repo" not in shown["text"])


@each(
    "url",
    [
        "ext::sh -c touch% /tmp/x",
        "-uevil",
        "inner.git",
        "./inner.git",
        "{root}/inner.git",
        "file://{root}/inner.git",
        ".",
        "{link}",
    ],
)
def test_an_address_that_would_run_something_is_refused(url: str, desk: Desk) -> None:
    desk.git("init", "-q", "--bare", "inner.git")
    link = desk.root.parent / "link"
    if not link.is_symlink():
        link.symlink_to(desk.root / "inner.git")
    desk.git("config", "remote.origin.url", url.format(root=desk.root, link=link))
    assert desk.refused("git_push").code == "GIT_FAILED"


def test_several_addresses_are_refused_and_a_push_address_is_taken(desk: Desk) -> None:
    desk.git("config", "remote.origin.url", "https://example.com/elsewhere.git")
    desk.git("config", "remote.origin.pushurl", str(desk.bare))
    assert desk.preview("git_push")["remote"] == str(desk.bare)
    desk.git("config", "--add", "remote.origin.pushurl", "https://example.com/second.git")
    assert "2 addresses" in desk.refused("git_push").message


def _evil(desk: Desk) -> Path:
    return desk.program("evil", f"#!/bin/sh\ntouch {desk.root.parent}/ran\nexit 0\n", folder=desk.root)


HOSTILE: dict[str, Callable[[Desk], object]] = {
    "a hook": lambda desk: desk.program("pre-push", _evil(desk).read_text(), folder=desk.root / ".git/hooks"),
    "hooks in the tree": lambda desk: (
        desk.program("pre-push", _evil(desk).read_text(), folder=desk.root / "hooks"),
        desk.git("config", "core.hooksPath", "hooks"),
    ),
    "receivepack": lambda desk: desk.git("config", "remote.origin.receivepack", str(_evil(desk))),
    "uploadpack": lambda desk: desk.git("config", "remote.origin.uploadpack", str(_evil(desk))),
    "vcs": lambda desk: desk.git("config", "remote.origin.vcs", "ext"),
    "fsmonitor": lambda desk: desk.git("config", "core.fsmonitor", str(_evil(desk))),
    "signatures": lambda desk: (
        desk.git("config", "push.gpgSign", "true"), desk.git("config", "log.showSignature", "true"),
        desk.git("config", "gpg.program", str(_evil(desk))),
    ),
    "pager": lambda desk: desk.git("config", "core.pager", str(_evil(desk))),
    "mirror": lambda desk: desk.git("config", "remote.origin.mirror", "true"),
    "push refspec": lambda desk: desk.git("config", "remote.origin.push", "+HEAD:refs/heads/main"),
    "rewritten": lambda desk: desk.git("config", f"url.{desk.root}/inner.git.insteadOf", str(desk.bare)),
    "rewritten for pushes": lambda desk: desk.git("config", f"url.{desk.root}/inner.git.pushInsteadOf", str(desk.bare)),
    "included": lambda desk: (
        (desk.root / "more").write_text(f"[remote \"origin\"]\n\tpushurl = {desk.root}/inner.git\n"),
        desk.git("config", "include.path", "../more"),
    ),
    "tags that follow": lambda desk: (
        desk.git("tag", "-a", "-m", "t", "v1"), desk.git("config", "push.followTags", "true"),
    ),
}  # fmt: skip


@each("name", HOSTILE)
def test_the_repositorys_configuration_decides_nothing(name: str, desk: Desk) -> None:
    ran, config = desk.root.parent / "ran", desk.root / ".git/config"
    before = config.read_bytes()
    if not (desk.root / "inner.git").exists():
        desk.git("init", "-q", "--bare", "inner.git")
    HOSTILE[name](desk)
    shown = desk.preview("git_push")
    assert desk.tools["git_push"].handler()["success"] is True
    assert not ran.exists()
    assert shown["remote"] == str(desk.bare)
    assert desk.there() == {"main": desk.first, "topic": shown["commit"]}
    assert subprocess.run(["git", "tag"], cwd=desk.bare, capture_output=True, check=True).stdout == b""
    config.write_bytes(before)
    (desk.root / ".git/hooks/pre-push").unlink(missing_ok=True)
    subprocess.run(["git", "branch", "-q", "-D", "topic"], cwd=desk.bare, check=True)


def test_plain_git_does_run_what_the_repository_names(desk: Desk) -> None:
    """What the test above tells apart: the same settings do something where git pushes from the repository itself."""
    for name in ("a hook", "hooks in the tree", "receivepack"):
        HOSTILE[name](desk)
        with suppress(subprocess.CalledProcessError):
            desk.git("push", "origin", "topic")
        (desk.root.parent / "ran").unlink()


def test_helpers_of_the_repository_see_no_password(desk: Desk) -> None:
    """Over HTTP, to a port where nobody listens: git would start these before it connects, or instead of it."""
    evil = _evil(desk)
    for key in ("core.askPass", "core.sshCommand", "core.gitProxy", "credential.helper"):
        desk.git("config", key, str(evil))
    desk.git("config", "http.proxy", "http://127.0.0.1:1")
    for url in ("http://127.0.0.1:9/a/b.git", "ssh://127.0.0.1:9/a/b.git"):
        desk.git("config", "remote.origin.url", url)
        with pytest.raises(ToolError, match="git ls-remote"):
            desk.tools["git_push"].handler()
    assert not (desk.root.parent / "ran").exists()


def test_settings_of_a_home_in_the_repository_are_not_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.root / ".gitconfig").write_text(f'[url "{desk.root}/inner.git"]\n\tinsteadOf = {desk.bare}\n')
    monkeypatch.setenv("HOME", str(desk.root))
    assert desk.preview("git_push")["remote"] == str(desk.bare)


def test_a_shallow_clone_is_pushed_from(
    desk: Desk, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.tools["git_push"].handler()
    (tmp_path / "second").mkdir()
    shallow = Desk(tmp_path / "second", model, monkeypatch)
    shallow.git("clone", "-q", "--depth=1", "--branch=topic", f"file://{desk.bare}", "clone")
    desk.commit("meanwhile")
    desk.tools["git_push"].handler()  # so that no branch over there is at the commit with which the clone begins
    place = Workplace(shallow.root / "clone", tmp_path / "state", PlainSandbox(shallow.root / "clone"))
    shallow.root = place.root
    shallow.commit("on top")
    push = github.tools(place)[0]
    assert push.handler(branch="second")["success"] is True
    assert desk.there()["second"] == shallow.git("rev-parse", "HEAD")


def test_a_remote_that_hangs_is_given_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("micro_agent.coding.pushing.TIMEOUT_S", 2.0)
    (desk.home / ".gitconfig").write_text(f'[core]\n\tsshCommand = "echo $$ > {desk.home}/pid; sleep 77; true"\n')
    desk.git("remote", "set-url", "origin", "git@example.com:me/project.git")
    with pytest.raises(ToolError, match="did not end within 2 s") as failed:
        desk.tools["git_push"].handler()
    assert failed.value.code == "GIT_FAILED"
    waiting = Path(f"/proc/{(desk.home / 'pid').read_text().strip()}/cmdline")
    for _ in range(1_000):
        if not waiting.exists() or not waiting.read_bytes():  # a process that has ended has no command line
            return
        time.sleep(0.01)
    pytest.fail("what git had started goes on")
