"""What an option changes in the request: the system prompt, the length of a reply, Ollama's thinking."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import MicroAgent
from micro_agent.testing import ModelServer, ScriptedLM, call, decision, error, final, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

PIRATE = "Answer like a pirate."


def openai(server: ModelServer) -> list[str]:
    return ["--provider", "openai", "--base-url", server.openai_url, "--model", "scripted"]


def ollama(server: ModelServer) -> list[str]:
    return ["--provider", "ollama", "--base-url", server.url, "--model", "scripted"]


def body(server: ModelServer, number: int = -1) -> dict[str, Any]:
    found = server.chats[number].body
    assert found is not None
    return found


@pytest.mark.parametrize(("on", "reply"), [(openai, text("Arr.")), (ollama, final("Arr."))])
def test_a_persona_stands_behind_the_instructions_and_on_record(
    cli: "Cli", on: Callable[[ModelServer], list[str]], reply: Any
):
    with ModelServer([reply, reply]) as server:
        assert cli("ask", *on(server), "Who are you?").code == 0
        plain = cli.trace()
        (cli.directory / "traces" / f"{plain['id']}.jsonl").unlink()
        assert cli("ask", *on(server), "--system", PIRATE, "Who are you?").out == "Arr.\n"
        first, second = (server.messages(number)[0] for number in (0, 1))
    assert (first["role"], second["role"]) == ("system", "system")
    assert PIRATE not in first["content"]
    assert PIRATE in second["content"]
    assert second["content"].replace(f"\n\n{PIRATE}", "") == first["content"]
    record = cli.trace()
    assert (plain["system"], record["system"]) == (None, PIRATE)
    assert plain["digests"]["demos"] != record["digests"]["demos"]
    assert f"\nSystem: {PIRATE}\nQuestion: Who are you?\n" in cli("replay", "last").out


def test_a_resumed_and_a_forked_run_keep_their_persona_and_it_verifies(cli: "Cli"):
    with ModelServer([call("delete", {"path": "a"}), text("Gone, arr."), text("Arr.")]) as server:
        env = {**cli.plugin, "OPENAI_BASE_URL": server.openai_url}
        assert cli("ask", *openai(server), "--system", PIRATE, "Delete it", env=env).code == 4
        assert cli("reject", "last", env=env).code == 0
        assert cli("resume", "last", env=env).out == "Gone, arr.\n"
        assert cli("replay", "--verify", "last", env=env).out.startswith("1 run: 1 the same")
        assert cli("replay", "last", "--fork-at", "0", env=env).out == "Arr.\n"
        assert [PIRATE in server.messages(number)[0]["content"] for number in range(3)] == [True] * 3


def test_the_library_has_the_same(tmp_path: Path):
    lm = ScriptedLM([text("Arr.")])
    run = MicroAgent(tools=[], lm=lm, system=PIRATE, traces=TraceStore(tmp_path)).ask("Who are you?")
    assert (run.answer, run.system) == ("Arr.", PIRATE)


def test_the_length_of_a_reply_is_an_option_and_a_setting(cli: "Cli"):
    with ModelServer([text("Yes.")], repeat=True) as server:
        for more, env in (([], {}), (["--max-tokens", "64"], {}), ([], {"MAX_TOKENS": "32"})):
            assert cli("ask", *openai(server), *more, "Well?", env=env).code == 0
        sent = [
            chat.body.get("max_tokens", chat.body.get("max_completion_tokens")) for chat in server.chats if chat.body
        ]
    assert sent == [1024, 64, 32]
    wrong = cli("ask", "--max-tokens", "0", "Well?")
    assert (wrong.code, "--max-tokens" in wrong.err) == (2, True)


def test_how_many_replies_are_asked_for_is_an_option_and_a_setting(cli: "Cli"):
    with ModelServer([text("Yes.")], repeat=True) as server:
        for more, setting, samples in (
            ([], "", 1), (["--samples", "3"], "", 3), ([], "5", 5), (["--samples", "1"], "5", 1),
        ):  # fmt: skip
            env = {"MICRO_AGENT_FINISH": "text", "SAMPLES": setting}
            assert cli("ask", *openai(server), *more, "Well?", env=env).code == 0
            assert cli.trace()["sampling"]["samples"] == samples
            (cli.directory / "traces" / f"{cli.trace()['id']}.jsonl").unlink()
        assert len(server.chats) == 1 + 2 + 2 + 1  # two that agree are enough


@pytest.mark.parametrize("command", ["ask", "chat", "serve", "eval"])
def test_a_number_of_replies_that_cannot_be_had_is_refused(command: str, cli: "Cli"):
    words = ["eval", "run"] if command == "eval" else [command]
    for wrong in ("0", "21", "many"):
        done = cli(*words, "--samples", wrong)
        assert (done.code, done.out, "--samples" in done.err) == (2, "", True)
        done = cli(*words, env={"SAMPLES": wrong})
        assert (done.code, done.out, "SAMPLES" in done.err or "--samples" in done.err) == (2, "", True)


def test_thinking_is_asked_for_where_it_is_wanted_and_only_of_ollama(cli: "Cli"):
    script = [decision("calculator", {"expression": "1+1"}), final("Two.")]
    with ModelServer(script * 4) as server:
        for more, env in ((["--think"], {}), (["--no-think"], {}), ([], {"OLLAMA_THINK": "true"}), ([], {})):
            assert cli("ask", *ollama(server), *more, "1+1?", env=env).code == 0
        assert [body(server, number).get("think") for number in (0, 2, 4, 6)] == [True, False, True, None]
        assert "think" not in body(server)
        other = cli("ask", *openai(server), "--think", "1+1?")
    with ModelServer([text("Two.")]) as server:
        assert cli("ask", *openai(server), "Hello?", env={"OLLAMA_THINK": "1"}).code == 0
        assert "think" not in body(server)
    assert (other.code, other.out) == (2, "")
    assert other.err == "micro-agent: --think and --no-think go with Ollama; the provider is openai\n"


def test_a_model_that_cannot_think_says_what_to_do(cli: "Cli"):
    with ModelServer([error(400, '"scripted" does not support thinking')]) as server:
        done = cli("ask", *ollama(server), "--think", "Why?")
    assert (done.code, done.out) == (1, "")
    told = (
        'answered 400: "scripted" does not support thinking: leave out --think and OLLAMA_THINK, or take a model that'
    )
    assert told in done.err
