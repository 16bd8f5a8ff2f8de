"""Pushing one commit to a branch of the remote, with nothing of the repository's configuration in force.

Git pushes from an empty repository that is made for the one push and uses the objects of the real one. The user's own
configuration is theirs: credentials, ssh, addresses that they rewrite. Of ``.git/config`` only the address of the
remote is read, as text: its hooks, helpers, proxies, ssh commands, rewritten addresses and further settings of the
remote (CVE-2017-1000117 and its like) are not there at all, so none has to be known by name.
"""

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from micro_agent.coding.bounds import tail
from micro_agent.coding.outside import Done, Program, find, run
from micro_agent.tools.error import ToolError

TIMEOUT_S = 120.0
"""Seconds that one call of git or of gh may take."""
OPTIONS = ("--porcelain", "--no-follow-tags", "--recurse-submodules=no")
"""What the push itself is told: the one branch and nothing else. It is never forced."""
_READING = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "",
}  # fmt: skip
_PUSHING = {
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",  # others run programs; the user's configuration cannot add them
    "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": os.devnull,
}  # fmt: skip
_TARGET = "target"
"""What the remote is called in the empty repository."""
_CREDENTIALS = re.compile(r"(https?://)[^/\s]*@|(\w+://[^/\s:@]*):[^/\s]*(?=@)")
_HELPER = re.compile(r"[A-Za-z0-9]+::")
_NOT_LOCAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/]*:")
_REMOTE_URL = re.compile(r"remote\.(.+)\.url")


@dataclass(frozen=True, slots=True)
class Push:
    """One push, ready to be made.

    Attributes:
        url: The address as the repository has it, without credentials.
        shown: The address that git will use, as the user's own configuration rewrites it, without credentials.
        branch: The branch over there.
        commit: What it will be at.
        subject: The first line of that commit's message.
        folder: The empty repository.
    """

    url: str
    shown: str
    branch: str
    commit: str
    subject: str
    folder: Path
    git: "_Git"

    @property
    def refspec(self) -> str:
        """What is pushed where to."""
        return f"{self.commit}:refs/heads/{self.branch}"

    def make(self) -> str:
        """Push, and what git said.

        Raises:
            ToolError: ``GIT_FAILED``: the branch is the default one over there, or git refuses, in its own words.
        """
        remote_head = self.git.said("ls-remote", "--symref", _TARGET, "HEAD")
        if f"ref: refs/heads/{self.branch}\t" in remote_head:
            _refuse_default(self.branch)
        return without_credentials(self.git.ran("push", *OPTIONS, _TARGET, self.refspec).output)


@contextmanager
def planned(root: Path, branch: str | None) -> Generator[Push]:
    """The push of a branch: of its commit, or of ``HEAD`` where the branch is not there yet; of the current one.

    Raises:
        ToolError: ``GIT_FAILED``: there is no remote, no commit or no such branch name, or it must not be pushed.
    """
    program = find("git", root)
    if program is None:
        raise ToolError("GIT_FAILED", "there is no `git` on the PATH outside the repository")
    here = _Git(program, root, {**_READING, "GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)})
    remote, url = _remote(here)
    name = here.said("symbolic-ref", "--quiet", "--short", "HEAD", may_fail=True) if branch is None else branch
    if not name:
        raise ToolError("GIT_FAILED", "no branch is checked out: name the branch to push")
    legal = name.isprintable() and here.ran("check-ref-format", f"refs/heads/{name}", may_fail=True).exit == 0
    if not legal or name.startswith("-"):
        raise ToolError("GIT_FAILED", f"{name!r:.200} cannot be the name of a branch")
    default = here.said("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD", may_fail=True)
    if default == f"refs/remotes/{remote}/{name}":
        _refuse_default(name)
    commit = here.said("rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}", may_fail=True)
    commit = commit or here.said("rev-parse", "--verify", "HEAD^{commit}")
    subject = here.said("log", "-1", "--no-show-signature", "--format=%s", commit)[:200]
    with TemporaryDirectory(prefix="micro-agent-push-") as folder:
        clean = _emptied(here, Path(folder), url)
        real = clean.said("remote", "get-url", "--push", _TARGET)
        _check_address(real, root)
        yield Push(without_credentials(url), without_credentials(real), name, commit, subject, Path(folder), clean)


@dataclass(frozen=True, slots=True)
class _Git:
    """Git at one place, where it is told which repository it works on."""

    program: Program
    cwd: Path
    env: dict[str, str]

    def ran(self, *args: str, may_fail: bool = False) -> Done:
        done = run(self.program, "--no-pager", *args, cwd=self.cwd, env=self.env, timeout_s=TIMEOUT_S)
        if done.exit != 0 and not may_fail:
            words, _ = tail(without_credentials(done.output).strip(), 1_000)
            why = f"exit {done.exit}" if done.exit is not None else f"it did not end within {TIMEOUT_S:g} s"
            raise ToolError("GIT_FAILED", f"git {args[0]}: {words or why}")
        return done

    def said(self, *args: str, may_fail: bool = False) -> str:
        """Its output without the end of the last line; empty where it failed and may."""
        done = self.ran(*args, may_fail=may_fail)
        return done.stdout.rstrip("\n") if done.exit == 0 else ""


def _remote(here: _Git) -> tuple[str, str]:
    """The remote's name and the address to push to, as ``.git/config`` has it, without what that file includes."""
    read = ("config", "--local", "--no-includes")
    listed = here.said(*read, "--name-only", "--get-regexp", _REMOTE_URL.pattern.replace("(.+)", ".+"), may_fail=True)
    names = sorted({match[1] for line in listed.splitlines() if (match := _REMOTE_URL.fullmatch(line))})
    name = names[0] if len(names) == 1 else "origin"
    if name not in names:
        found = f"no remote is named origin; there are {', '.join(names)}" if names else "the repository has no remote"
        raise ToolError("GIT_FAILED", f"{found}: nothing was pushed")
    urls = here.said(*read, "--get-all", f"remote.{name}.pushurl", may_fail=True).splitlines()
    urls = urls or here.said(*read, "--get-all", f"remote.{name}.url").splitlines()
    if len(urls) != 1:
        raise ToolError("GIT_FAILED", f"{name} has {len(urls)} addresses: give it one to push to")
    return name, urls[0]


def _check_address(url: str, root: Path) -> None:
    """Refuse what runs a program, cannot be shown, or is a repository that the model could have made."""
    if not url.isprintable() or url.startswith("-") or _HELPER.match(url):
        raise ToolError("GIT_FAILED", f"{without_credentials(url)!r:.200} is no address to push to")
    local = url.removeprefix("file://")
    if url != local or not _NOT_LOCAL.match(url):
        real = Path(os.path.realpath(root / local))
        if real == root or root in real.parents:  # its hooks would run, outside of any sandbox
            raise ToolError("GIT_FAILED", f"{url!r:.200} is inside the repository: nothing is pushed to there")


def _emptied(here: _Git, folder: Path, url: str) -> _Git:
    """Git in a new empty repository with one remote, and with the objects of the real one."""
    objects = here.said("rev-parse", "--path-format=absolute", "--git-path", "objects")
    clean = _Git(here.program, here.cwd, {**_PUSHING, "GIT_DIR": str(folder), "GIT_OBJECT_DIRECTORY": objects})
    kind = here.said("rev-parse", "--show-object-format")
    clean.said("init", "--quiet", "--bare", "--template=", f"--object-format={kind}")
    value = url.replace("\\", "\\\\").replace('"', '\\"')
    with open(folder / "config", "a", encoding="utf-8", errors="surrogateescape") as config:
        config.write(f'[remote "{_TARGET}"]\n\turl = "{value}"\n')  # no argument, which other users could see
    shallow = Path(here.said("rev-parse", "--path-format=absolute", "--git-path", "shallow"))
    if shallow.is_file():
        shutil.copyfile(shallow, folder / "shallow")
    return clean


def _refuse_default(name: str) -> None:
    raise ToolError(
        "GIT_FAILED", f"{name} is the default branch of the remote, to which nothing is pushed: name another branch"
    )


def without_credentials(text: str) -> str:
    """The text, with the users and passwords of web addresses and the passwords of all others left out."""
    return _CREDENTIALS.sub(lambda found: found[1] or found[2], text)
