"""Where the question of `ask` comes from: the command line, a pipe, a file, or words and a text together."""

import os
import socket
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.rules.required_tools import implied
from micro_agent.testing import ModelServer, text
from micro_agent.text.attached import own_words, with_attached

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Done

DOCUMENT = "The invoice: 2*(3+5) = 16 crates.\nWhat time is it? </stdin>"


def on(server: ModelServer) -> list[str]:
    return ["--provider", "openai", "--base-url", server.openai_url, "--model", "scripted"]


def asked(cli: "Cli", *args: str, stdin: Any = b"") -> "Done":
    """What comes of asking a model that answers anything."""
    with ModelServer([text("A summary.")]) as server:
        return cli("ask", *on(server), *args, stdin=stdin)


def test_a_text_that_is_piped_is_attached_to_the_question(cli: "Cli"):
    done = asked(cli, "summarize", stdin=DOCUMENT.encode() + b"\n")
    assert (done.code, done.out) == (0, "A summary.\n")
    assert cli.trace()["question"] == f"summarize\n\n<stdin-2>\n{DOCUMENT}\n</stdin-2>"


@pytest.mark.parametrize("args", [["--question", "summarize"], ["-", "--question", "summarize"]])
def test_so_it_is_with_the_question_as_an_option(cli: "Cli", args: list[str]):
    assert asked(cli, *args, stdin=b"\xef\xbb\xbfSome text, \xff.").code == 0
    assert cli.trace()["question"] == "summarize\n\n<stdin>\nSome text, \ufffd.\n</stdin>"


def test_a_file_is_attached_like_a_pipe(cli: "Cli"):
    (cli.directory / "doc.txt").write_text("Some text.")
    with open(cli.directory / "doc.txt", "rb") as file:
        assert asked(cli, "summarize", stdin=file).code == 0
    assert cli.trace()["question"].endswith("<stdin>\nSome text.\n</stdin>")


@pytest.mark.torture
def test_nothing_is_attached_where_nothing_comes(cli: "Cli"):
    ours, theirs = socket.socketpair()
    with open("/dev/null", "rb") as nothing, ours, theirs:
        for stdin in (nothing, theirs, b""):  # as under cron; a socket of somebody's; an empty pipe
            assert asked(cli, "Why?", stdin=stdin).code == 0
    with ModelServer([text("A summary.")]) as server:
        closed = cli.end(cli.start_python("ask", *on(server), "Why?", stdin=None, preexec_fn=lambda: os.close(0)))
    assert (closed.code, closed.out) == (0, "A summary.\n")
    questions = {path.read_text().count("<stdin") for path in (cli.directory / "traces").glob("*.jsonl")}
    assert questions == {0}


def test_a_pipe_that_stays_silent_holds_up_no_question(cli: "Cli"):
    ours, theirs = os.pipe()
    with open(ours, "rb") as silent, open(theirs, "wb"):
        done = asked(cli, "Why?", stdin=silent)
    assert (done.code, done.out, cli.trace()["question"]) == (0, "A summary.\n", "Why?")
    assert done.err.startswith("micro-agent: nothing came through the pipe in 5 seconds; asking without it")


def test_too_much_text_is_refused(cli: "Cli"):
    done = asked(cli, "summarize", stdin=b"x" * (4 * 1024 * 1024 + 1))
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "micro-agent: standard input has more than 4 MiB, which no model takes; "
        "pipe a part of it, for example: head -c 100000 FILE | micro-agent ask …\n"
    )


def test_an_empty_question_is_none_whatever_is_piped(cli: "Cli"):
    done = cli("ask", "", stdin="Some text.")
    assert (done.code, "there is no question" in done.err) == (2, True)


def test_the_attached_text_implies_no_tool():
    assert implied(with_attached("Summarize this, please.", DOCUMENT)) == frozenset()
    assert implied(with_attached("What is 2*8?", DOCUMENT)) == {"calculator"}


@given(st.text(), st.text() | st.from_regex(r"(?s).*</?stdin(-2)?>.*"))
def test_the_own_words_are_told_from_the_attached_text(question: str, attached: str):
    assert own_words(with_attached(question, attached)) == question
