"""A named provider is never left: a private question goes to the server it was meant for, or nowhere."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.testing import ModelServer, decision, error, final, text

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Done

DIARY = "my private diary"
DOWN = "http://127.0.0.1:1"


@pytest.fixture
def canary() -> Any:
    """Who must not be asked: a server on OpenAI's wire that answers anything."""
    with ModelServer([text("I know it all now.")], repeat=True) as server:
        yield server


@dataclass
class Inside:
    """Runs ``micro-agent`` in this process and in an empty directory, with an environment of its own each time."""

    command: "Command"
    monkeypatch: pytest.MonkeyPatch
    directory: Path

    def __call__(self, *args: str, env: dict[str, str]) -> "Done":
        """Run it to its end."""
        with self.monkeypatch.context() as patched:
            for name, value in {"MICRO_AGENT_STATE_DIR": str(self.directory / "state"), **env}.items():
                patched.setenv(name, value)
            return self.command(*args)

    def trace(self) -> Any:
        """The only record on disk."""
        (path,) = (self.directory / "traces").glob("*.jsonl")
        return json.loads(path.read_text())


@pytest.fixture
def cli(command: "Command", monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Inside:
    return Inside(command, monkeypatch, tmp_path)


def tempting(canary: ModelServer, **more: str) -> dict[str, str]:
    """An environment in which OpenAI could be asked."""
    return {"OPENAI_API_KEY": "sk-a-secret-of-somebody", "OPENAI_BASE_URL": canary.openai_url, **more}


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (["--provider", "ollama"], {"OLLAMA_HOST": DOWN}),
        (["--provider", "ollama", "--base-url", DOWN, "--model", "llama3"], {}),
        ([], {"LLM_PROVIDER": "ollama", "OLLAMA_HOST": DOWN}),
    ],
)
@pytest.mark.parametrize(
    "asking", [["ask", DIARY], ["serve", "--port", "0"], ["doctor"]], ids=["ask", "serve", "doctor"]
)
def test_with_ollama_down_nobody_else_is_asked(
    cli: Inside, canary: ModelServer, asking: list[str], options: list[str], environment: dict[str, str]
):
    done = cli(*asking, *options, env=tempting(canary, **environment))
    assert done.code == (1 if asking == ["doctor"] else 2)
    assert "no Ollama answers at http://127.0.0.1:1 (Connection refused)" in done.out + done.err
    assert "start it with `ollama serve`" in done.out + done.err
    assert canary.requests == []
    assert not (cli.directory / "traces").exists()


def test_an_option_can_take_the_fall_back_of_the_environment_back(cli: Inside, canary: ModelServer):
    env = tempting(canary, LLM_PROVIDER="ollama", OLLAMA_HOST=DOWN, LLM_FALLBACK="1")
    assert cli("ask", "--no-fallback", DIARY, env=env).code == 2
    assert canary.requests == []


def test_the_env_file_names_a_provider_too_and_a_mistyped_model_is_no_reason_to_leave_it(
    cli: Inside, canary: ModelServer
):
    with ModelServer(models=("llama3.2:3b",)) as ollama:
        (cli.directory / ".env").write_text(f"LLM_PROVIDER=ollama\nOLLAMA_HOST={ollama.url}\n")
        done = cli("ask", "--model", "lama3.2:3b", DIARY, env=tempting(canary))
        assert done.err == (
            f"micro-agent: Ollama at {ollama.url} has no model 'lama3.2:3b': run `ollama pull lama3.2:3b`, "
            "or use one of llama3.2:3b\n"
        )
        assert ollama.chats == []
    assert (done.code, canary.requests) == (2, [])


def test_two_addresses_are_not_chosen_between(cli: Inside, canary: ModelServer):
    done = cli("ask", DIARY, env=tempting(canary, OLLAMA_HOST=DOWN))
    assert (done.code, done.err) == (
        2,
        "micro-agent: OLLAMA_HOST names ollama and OPENAI_BASE_URL names openai: "
        "say which with --provider or LLM_PROVIDER\n",
    )
    assert canary.requests == []


@pytest.mark.parametrize("fallback", [["--fallback"], []])
def test_another_provider_is_asked_where_that_is_wanted(cli: Inside, canary: ModelServer, fallback: list[str]):
    env = tempting(canary, OLLAMA_HOST=DOWN) | ({} if fallback else {"LLM_FALLBACK": "1"})
    done = cli("ask", "--provider", "ollama", *fallback, "Hello?", env=env)
    assert (done.code, done.out) == (0, "I know it all now.\n")
    assert done.err.splitlines()[:2] == [
        "micro-agent: ollama is not used: no Ollama answers at http://127.0.0.1:1 (Connection refused); "
        "trying openai instead",
        f"micro-agent: asking gpt-4o-mini at {canary.openai_url}",
    ]
    assert [passed["provider"] for passed in cli.trace()["fallback_from"]] == ["ollama"]


@pytest.mark.parametrize("reply", [error(404, "model not found"), error(400, "broken"), error(401, "who?")])
def test_what_fails_in_the_middle_of_a_run_is_asked_nowhere_else(cli: Inside, canary: ModelServer, reply: Any):
    with ModelServer([decision("calculator", {"expression": "2*8"}), reply]) as ollama:
        env = tempting(canary, OLLAMA_HOST=ollama.url, LLM_FALLBACK="1")
        done = cli("ask", "--provider", "ollama", f"{DIARY}: what is 2*8?", env=env)
        assert len(ollama.chats) == 2
    assert done.code == 1
    assert (cli.trace()["status"], cli.trace()["fallback_from"]) == ("failed", [])
    assert canary.requests == []


# With nothing named


def test_ollama_is_asked_first_although_there_is_a_key(cli: Inside, ollamas_port: int):
    with ModelServer([final("Hello.")], port=ollamas_port) as ollama:
        done = cli("ask", DIARY, env={"OPENAI_API_KEY": "sk-a-secret-of-somebody", "OPENAI_MODEL": "gpt-4o"})
        assert len(ollama.chats) == 1
    assert (done.code, done.out) == (0, "Hello.\n")
    assert done.err.startswith("micro-agent: OLLAMA_MODEL is not set: using scripted, the first model that http://127.")
    assert (cli.trace()["provider"], cli.trace()["fallback_from"]) == ("ollama", [])


def test_then_the_mock_which_is_announced_and_recorded(cli: Inside, ollamas_port: int):
    done = cli("ask", "--question", "What time is it in Tokyo?", env={"MICRO_AGENT_UTC": "1"})
    assert done.code == 0
    lines = done.err.splitlines()
    assert lines[0].startswith(f"micro-agent: ollama is not used: no Ollama answers at http://127.0.0.1:{ollamas_port}")
    assert lines[1] == "micro-agent: openai is not used: OPENAI_API_KEY is not set; trying mock instead"
    assert lines[2].startswith("micro-agent: the mock provider is not a model")
    record = cli.trace()
    assert [passed["provider"] for passed in record["fallback_from"]] == ["ollama", "openai"]
    assert [step["observation"]["timezone"] for step in record["steps"] if step["tool"] == "now"] == ["UTC"]


def test_a_mistyped_model_is_replaced_by_no_other(cli: Inside, ollamas_port: int):
    with ModelServer(models=("llama3.2:3b",), port=ollamas_port) as ollama:
        done = cli("ask", "--model", "lama3.2:3b", DIARY, env={"OPENAI_API_KEY": "sk-a-secret-of-somebody"})
        assert ollama.chats == []
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "or use one of llama3.2:3b, or name another provider with --provider" in done.err


def test_an_eval_decides_once_before_the_first_task_and_says_so(cli: Inside, ollamas_port: int):
    tasks = [{"id": str(number), "question": f"What is {number}+1?", "expect_number": number + 1} for number in (1, 2)]
    (cli.directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    more = ["--tasks", "tasks.jsonl", "--out", "r.jsonl"]
    done = cli("eval", "run", *more, env={"LLM_FALLBACK": "1"})
    assert done.code == 0, done.err
    said = [line for line in done.err.splitlines() if line.startswith("micro-agent: ")]
    assert [line.split()[1] for line in said] == ["ollama", "openai", "the"]
    header = json.loads((cli.directory / "r.jsonl").read_text().splitlines()[0])
    assert header["settings"]["provider"] == "mock"
    assert [passed["provider"] for passed in header["settings"]["fallback_from"]] == ["ollama", "openai"]
    (cli.directory / "r.jsonl").unlink()
    for env in ({"LLM_PROVIDER": "ollama", "LLM_FALLBACK": "1"}, {"LLM_FALLBACK": "0"}):
        done = cli("eval", "run", *more, env=env)
        assert (done.code, "`ollama serve`" in done.err) == (2, True)
    assert not (cli.directory / "r.jsonl").exists()


def test_an_optimization_decides_once_too(cli: Inside, ollamas_port: int):
    tasks = [{"id": str(number), "question": f"What is {number}+1?", "expect_number": number + 1} for number in (1, 2)]
    (cli.directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    with ModelServer([final("7")], repeat=True, port=ollamas_port) as ollama:
        done = cli("optimize", "--tasks", "tasks.jsonl", "--n", "2", env={})
        assert ollama.chats
    assert done.err.count("OLLAMA_MODEL is not set: using scripted") == 1
    assert "ollama/scripted in json mode" in done.err


def test_a_bare_doctor_looks_at_the_one_that_a_question_would_go_to(cli: Inside, ollamas_port: int):
    alone = cli("doctor", env={})
    assert (alone.code, [line.split()[:3] for line in alone.out.splitlines() if "provider  " in line]) == (
        1, [["warn", "provider", "ollama"], ["warn", "provider", "openai"], ["fail", "provider", "no"]],
    )  # fmt: skip
    with ModelServer([text("One.")], repeat=True, port=ollamas_port) as ollama:
        done = cli("doctor", env={"OPENAI_API_KEY": "sk-a-secret-of-somebody"})
        assert done.out.startswith(
            f"ok    provider  Ollama answers at {ollama.url}\nok    model     scripted is there\n"
        )


def test_the_library_is_the_same(ollamas_port: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from micro_agent import MicroAgent, configure_lm

    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-of-somebody")
    with ModelServer([final("Hello.")], port=ollamas_port):
        lm: Any = configure_lm(announce=list[str]().append)
        assert (lm.provider_name, lm.fallback_from) == ("ollama", [])
        assert MicroAgent(tools=[], rules=[]).ask(DIARY).provider == "ollama"
