"""`ask` against a scripted server on both wires, and what it does when the model cannot be asked."""

import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.testing import ModelServer, call, decision, error, final, hang, text

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

Soon = Callable[[Callable[[], object]], None]


def openai(server: ModelServer) -> list[str]:
    return ["--provider", "openai", "--base-url", server.openai_url, "--model", "scripted"]


def ollama(server: ModelServer) -> list[str]:
    return ["--provider", "ollama", "--base-url", server.url, "--model", "scripted"]


@pytest.fixture
def nobody() -> str:
    """The address of a server that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_the_answer_goes_to_stdout_alone_and_the_run_on_record(cli: "Cli"):
    script = [call("calculator", {"expression": "2*(3+5)"}), text("\x1b[1mIt is 16.\x1b[0m")]
    with ModelServer(script) as server:
        done = cli("ask", *openai(server), "What is 2*(3+5)?")
        assert all(chat.path == "/v1/chat/completions" and chat.body and chat.body["tools"] for chat in server.chats)
    record = cli.trace()
    assert (done.code, done.out) == (0, "\x1b[1mIt is 16.\x1b[0m\n")
    assert done.err == f"Trace: traces/{record['id']}.jsonl\n"
    assert [step["tool"] for step in record["steps"]] == ["calculator", "❓finish_asked"]
    assert (record["provider"], record["mode"], record["status"]) == ("openai", "native", "completed")


def test_json_prints_the_record_as_it_stands_in_the_trace(cli: "Cli"):
    script = [decision("calculator", {"expression": "2*8"}), final("16 and half a pair: \ud83d")]
    with ModelServer(script) as server:
        env = {"MICRO_AGENT_QUESTION": "Not this one", "OPENAI_API_KEY": "sk-a-secret-of-somebody"}
        done = cli("ask", *openai(server), "--json", "--stream", "--mode", "json", "--", "- 2*8?", env=env)
        assert server.messages(0)[-1]["content"].endswith("- 2*8?")
        assert server.chats[0].headers["authorization"] == "Bearer sk-a-secret-of-somebody"
    (path,) = (cli.directory / "traces").glob("*.jsonl")
    assert done.out == path.read_text()
    assert (done.code, done.record["question"], done.record["mode"]) == (0, "- 2*8?", "json")
    assert done.record["answer"] == "16 and half a pair: \ud83d"


def test_ollama_by_the_environment_with_a_question_from_a_pipe_that_is_not_all_utf8(cli: "Cli"):
    script = [decision("calculator", {"expression": "2*8"}), final("16 and half a pair: \ud83d")]
    with ModelServer(script, context_length=300_000) as server:
        env = {"LLM_PROVIDER": "ollama", "OLLAMA_HOST": server.url.removeprefix("http://"), "MICRO_AGENT_LOG": "info",
               "OLLAMA_NUM_CTX": "300000"}  # fmt: skip
        done = cli("ask", "-", stdin=b"\xef\xbb\xbfWhat is 2*8, \xff?\n" + b"x" * 200_000, env=env)
        assert server.chats[0].path == "/api/chat"
        assert "What is 2*8, \ufffd?\nxxx" in server.messages(0)[-1]["content"]
    assert (done.code, done.out) == (0, "16 and half a pair: \\ud83d\n")
    assert "standard input is not all UTF-8" in done.err
    assert "OLLAMA_MODEL is not set: using scripted" in done.err
    assert cli.trace()["mode"] == "json"


def test_a_reply_that_is_cut_off_is_a_matter_of_the_run_and_no_warning(cli: "Cli"):
    with ModelServer([text("It is", finish_reason="length"), text("A good day.")]) as server:
        done = cli("ask", "What is it like?", "--base-url", server.openai_url, "--model", "scripted")
    assert (done.code, done.out) == (0, "A good day.\n")
    assert "truncated" not in done.err
    assert [step["tool"] for step in cli.trace()["steps"]] == ["⛔️malformed_decision", "❓finish_asked"]


def test_a_stream_prints_text_as_it_comes_and_steps_aside(cli: "Cli"):
    script = [call("calculator", {"expression": "2*8"}, text="Let me see."), text("It is 16.")]
    with ModelServer(script) as server:
        env = {"USE_TOOL_CALLS": "1", "MICRO_AGENT_STREAM": "1"}
        done = cli("ask", *ollama(server), stdin="What is 2*8?", env=env)
        assert [chat.body["stream"] for chat in server.chats if chat.body] == [True, True]
    assert (done.code, done.out) == (0, "Let me see.\nIt is 16.\n")
    assert done.err.startswith('calculator {"expression": "2*8"} -> {"result": 16')
    assert cli.trace()["mode"] == "native"


def test_what_cannot_be_used_ends_with_2_and_says_what_to_do(cli: "Cli"):
    no_key = cli("ask", "--provider", "openai", "Why?")
    assert (no_key.code, no_key.out, no_key.err.count("\n")) == (2, "", 1)
    assert "OPENAI_API_KEY is not set: set it" in no_key.err
    with ModelServer() as server:
        unknown = cli("ask", "Why?", "--provider", "ollama", "--base-url", server.url, "--model", "llama9")
    assert (unknown.code, unknown.out, unknown.err.count("\n")) == (2, "", 1)
    assert "has no model 'llama9': run `ollama pull llama9`, or use one of scripted" in unknown.err
    assert not (cli.directory / "traces").exists()


def test_a_server_that_refuses_or_is_gone_fails_the_run(cli: "Cli", nobody: str):
    with ModelServer([error(401, "Incorrect API key provided", code="invalid_api_key")]) as server:
        refused = cli("ask", *openai(server), "--json", "Why?")
    assert (refused.code, refused.record["status"], refused.record["error"]["code"]) == (1, "failed", "AUTH")
    assert "check the API key" in refused.err
    gone = cli("ask", "Why?", "--base-url", f"{nobody}/v1", env={"LLM_TIMEOUT": "0.4"})
    assert (gone.code, gone.out) == (1, "")
    assert gone.err.startswith("Failed (lm_error): ")
    assert f"{nobody}/v1" in gone.err


def test_a_run_that_reaches_a_limit_is_stopped(cli: "Cli"):
    with ModelServer([decision("calculator", {"expression": "1+1"})], repeat=True) as server:
        done = cli("ask", *ollama(server), "--max-steps", "2", "What is 1+1?")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("Stopped (max_steps): 2 steps were taken without an answer")
    assert cli.trace()["answer"] is None


def test_a_run_that_grows_too_large_is_stopped(cli: "Cli"):
    with ModelServer([decision("calculator", {"expression": "1+1"})], repeat=True) as server:
        done = cli("ask", *ollama(server), "--max-bytes", "100", "What is 1+1?")
    assert (done.code, done.out) == (3, "")
    assert "bytes of replies and results are on record; max_bytes is 100" in done.err
    assert cli.trace()["limits"]["max_bytes"] == 100
    assert cli.trace()["usage"]["recorded_bytes"] >= 100


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_a_model_call_ends_the_run_on_record(cli: "Cli", soon: Soon, number: signal.Signals, code: int):
    with ModelServer([hang(60)]) as server:
        process = cli.start("ask", *openai(server), "Why?")
        soon(lambda: server.chats)
        process.send_signal(number)
        done = cli.end(process)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("Stopped (cancelled): The run was cancelled.\nTrace: ")
    assert (cli.trace()["status"], cli.trace()["termination_reason"]) == ("stopped", "cancelled")


def test_more_than_one_signal_during_a_tool_loses_nothing(cli: "Cli", soon: Soon):
    with ModelServer([call("wait", {"seconds": 60})]) as server:
        process = cli.start("ask", *openai(server), "--json", "Why?", env=cli.plugin)
        soon((cli.directory / "waiting").exists)
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
        done = cli.end(process)
    assert done.code in (130, 143)  # the kernel may hand them to two threads, in either order
    assert done.record == cli.trace()
    assert done.record["termination_reason"] == "cancelled"
    assert done.record["steps"][0]["observation"]["error"] == "INTERRUPTED"


@pytest.mark.torture
def test_a_signal_that_whoever_started_us_ignores_stays_ignored(cli: "Cli", soon: Soon):
    with ModelServer([text("Because.", delay_s=0.5)]) as server:
        process = cli.start_python("ask", *openai(server), "Why?",
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))  # fmt: skip
        soon(lambda: server.chats)
        process.send_signal(signal.SIGINT)
        assert cli.end(process).code == 0


def test_an_answer_that_cannot_be_printed_is_in_the_trace(cli: "Cli"):
    with ModelServer([text("Because.")]) as server, open("/dev/full", "wb") as full:
        done = cli.end(cli.start("ask", *openai(server), "Why?", stdout=full, stdin=None))
    assert (done.code, done.err) == (1, "micro-agent: [Errno 28] No space left on device\n")
    assert cli.trace()["answer"] == "Because."


def test_closed_standard_streams_are_no_fault(cli: "Cli"):
    def close() -> None:
        os.close(0)
        os.close(2)

    options: dict[str, Any] = {"stdin": None, "stderr": None, "preexec_fn": close}
    assert cli.end(cli.start_python("ask", **options)).code == 2
