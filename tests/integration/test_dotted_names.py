"""Tools with dots in their names, on servers that refuse dots: another name on the wire, their own everywhere else."""

import pytest

from micro_agent import MicroAgent, Tool, configure_lm
from micro_agent.replay import verify
from micro_agent.testing import ModelServer, call, calls, error, text

pytestmark = pytest.mark.usefixtures("prose_is_final")

NO_DOTS = "Invalid 'tools[0].function.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'."
WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def said(name: str) -> Tool:
    def says(word: str) -> str:
        return f"{name} got {word}"

    return Tool(name, "Says a word.", WORD, says, read_only=True)


def agent(server: ModelServer, names: list[str]) -> MicroAgent:
    lm = configure_lm("openai", "scripted", server.openai_url, fallback=False)
    return MicroAgent(tools=[said(name) for name in names], lm=lm, rules=[])


def offered(server: ModelServer, index: int) -> list[str]:
    return [one["function"]["name"] for one in (server.chats[index].body or {})["tools"]]


def test_a_name_that_was_refused_is_sent_without_dots_and_comes_back() -> None:
    script = [error(400, NO_DOTS), call("files_read", {"word": "a"}), text("Read."), text("Again.")]
    with ModelServer(script) as server:
        asked = agent(server, ["files.read"])
        run, later = asked.ask("Read a."), asked.ask("Read it again.")
        assert [offered(server, index) for index in range(4)] == [["files.read"], *[["files_read"]] * 3]
        (said_before,) = [message for message in server.messages(2) if message.get("tool_calls")]
    assert said_before["tool_calls"][0]["function"]["name"] == "files_read"
    assert (run.answer, run.mode, later.answer) == ("Read.", "native", "Again.")
    assert [(step.tool, step.observation) for step in run.steps] == [("files.read", "files.read got a")]
    assert run.calls[0].decision is not None
    assert run.calls[0].decision["tool_calls"][0]["name"] == "files.read"
    assert {"kind": "tool_name", "before": "files_read", "after": "files.read"} in run.calls[0].repairs


def test_of_two_that_would_be_one_name_each_comes_back_as_itself() -> None:
    three = calls(("a_b", {"word": "1"}), ("a_b_2", {"word": "2"}), ("a_b_3", {"word": "3"}))
    with ModelServer([error(400, NO_DOTS), three, text("Done.")]) as server:
        run = agent(server, ["a_b", "a.b", "a_b_2"]).ask("All of them.")
        assert offered(server, 1) == ["a_b", "a_b_3", "a_b_2"]
    assert [(step.tool, step.args["word"]) for step in run.steps] == [("a_b", "1"), ("a_b_2", "2"), ("a.b", "3")]


def test_the_name_with_its_dots_is_read_as_well() -> None:
    with ModelServer([error(400, NO_DOTS), call("files.read", {"word": "a"}), text("Read.")]) as server:
        run = agent(server, ["files.read", "files.list"]).ask("Read a.")
    assert [step.tool for step in run.steps] == ["files.read"]


def test_a_server_that_takes_dots_gets_them() -> None:
    with ModelServer([call("files.read", {"word": "a"}), text("Read.")]) as server:
        run = agent(server, ["files.read"]).ask("Read a.")
        assert offered(server, 0) == ["files.read"]
    assert (run.answer, run.calls[0].repairs) == ("Read.", [])


def test_names_without_dots_that_are_refused_end_the_run() -> None:
    with ModelServer([error(400, NO_DOTS)]) as server:
        run = agent(server, ["files_read"]).ask("Read a.")
    assert (run.status, len(server.chats)) == ("failed", 1)
    assert run.error is not None
    assert "does not match pattern" in run.error["message"]


@pytest.mark.parametrize("names", [["files.read"], ["files.read", "files_read"]])
def test_a_run_with_other_names_on_the_wire_is_verified(names: list[str]) -> None:
    wired = "files_read" if len(names) == 1 else "files_read_2"
    script = [error(400, NO_DOTS), call(wired, {"word": "a"}), text("Read."), text("None.")]
    with ModelServer(script) as server:
        asked = agent(server, names)
        runs = [asked.ask("Read a."), asked.ask("Read nothing.")]
    assert [step.tool for step in runs[0].steps] == ["files.read"]
    assert [verdict.outcome for verdict in verify(runs, asked)] == ["same", "same"]
