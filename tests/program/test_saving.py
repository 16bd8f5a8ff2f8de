# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUntypedBaseClass=false
"""An agent in a file: the whole program or its state, with a model set, and never with a key."""

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from micro_agent import Limits, MicroAgent, configure_lm
from micro_agent.testing import ModelServer, ScriptedLM, call, text
from micro_agent.traces import TraceStore
from tests.warm import Warm

KEY = "sk-canary-4711-abcdef"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def loaded_from(folder: Path) -> Any:
    return dspy.load(str(folder / "program"), allow_pickle=True)


def served() -> ModelServer:
    return ModelServer([call("add", {"a": 1, "b": 2}), text("It is 3.")], repeat=True)


def of_configure_lm(server: ModelServer, provider: Any) -> Any:
    url = server.url if provider == "ollama" else server.openai_url
    return configure_lm(provider, model="scripted", base_url=url, api_key=KEY if provider == "openai" else None)


def of_dspy(server: ModelServer) -> Any:
    headers = {"Authorization": f"Bearer {KEY}"}
    return dspy.LM("openai/m", api_base=server.openai_url, api_key=KEY, extra_headers=headers, cache=False)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
@pytest.mark.parametrize("where", ["lm", "set_lm"])
def test_a_program_is_saved_with_its_model_and_without_its_key(
    provider: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served() as server:
        lm = of_configure_lm(server, provider)
        traces = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state", environ={"OPENAI_API_KEY": KEY})
        agent = MicroAgent([add], lm if where == "lm" else None, limits=Limits(max_steps=3), traces=traces)
        if where == "set_lm":
            agent.set_lm(lm)
        agent.save(tmp_path / "program", save_program=True)
        assert KEY.encode() not in written(tmp_path / "program")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        loaded = loaded_from(tmp_path)
        run = loaded.ask("1+2?")
        assert (run.answer, run.limits["max_steps"], run.provider) == ("It is 3.", 3, provider)
        assert server.chats[0].headers.get("authorization") == (f"Bearer {KEY}" if provider == "openai" else None)
        assert [record.stem for record in (tmp_path / "traces").iterdir()] == [run.id]
        assert asyncio.run(loaded.aask("1+2?")).answer == "It is 3."
        assert len({chat.headers.get("authorization") for chat in server.chats}) == 1


def test_a_server_that_nobody_names_today_gets_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as server:
        MicroAgent([add], of_configure_lm(server, "openai")).save(tmp_path / "program", save_program=True)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        loaded_from(tmp_path).ask("1+2?")
        assert "authorization" not in server.chats[0].headers


def test_a_model_on_several_servers_gets_its_key_where_all_of_them_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served() as server, served() as other:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        for provider, urls, key in (
            ("openai", [server.openai_url, server.url], f"Bearer {KEY}"),
            ("openai", [server.openai_url, other.openai_url], None),
            ("ollama", [server.url, other.url], None),
        ):
            lm: Any = configure_lm(provider, "scripted", urls)
            MicroAgent([add], lm).save(tmp_path / "program", save_program=True)
            with monkeypatch.context() as later:
                later.setenv("OPENAI_API_KEY", KEY)
                loaded = loaded_from(tmp_path)
            assert loaded.lm.engine.base_urls == lm.engine.base_urls
            assert loaded.ask("1+2?").answer == "It is 3."
            assert server.chats[-1].headers.get("authorization") == key


def test_a_model_of_dspys_is_saved_without_its_keys(tmp_path: Path) -> None:
    with ModelServer() as server:
        agent: Any = MicroAgent([add], of_dspy(server))
        agent.save(tmp_path / "program", save_program=True)
        assert KEY.encode() not in written(tmp_path / "program")
        loaded = loaded_from(tmp_path)
        assert (loaded.lm.model, loaded.lm.kwargs["api_base"]) == ("openai/m", server.openai_url)
        assert agent.lm.kwargs["api_key"] == KEY


def test_the_built_in_tools_the_demos_and_the_default_rules_are_saved(tmp_path: Path) -> None:
    agent = MicroAgent()
    agent.plan.demos = [{"question": "?", "steps": [], "decision": {"final": {"answer": "!"}}}]
    agent.save(tmp_path / "program", save_program=True)
    loaded = loaded_from(tmp_path)
    loaded.lm = agent.lm = ScriptedLM([text("Well."), text("Well.")])
    before, after = agent.ask("?"), loaded.ask("?")
    assert after.digests == before.digests
    assert loaded.plan.demos == agent.plan.demos


def test_an_agent_inside_of_a_program_is_saved_without_its_key(tmp_path: Path) -> None:
    class Outer(dspy.Module):
        def __init__(self, agent: MicroAgent) -> None:
            super().__init__()
            self.agent = agent

        def forward(self, question: str) -> dspy.Prediction:
            return self.agent(question=question)

    with served() as server:
        Outer(MicroAgent([add], of_configure_lm(server, "ollama"))).save(tmp_path / "program", save_program=True)
        loaded = loaded_from(tmp_path)
        assert loaded(question="1+2?").answer == "It is 3."


def test_a_program_is_loaded_in_another_process(tmp_path: Path, warm: Warm) -> None:
    with served() as server:
        agent = MicroAgent([local_add()], of_configure_lm(server, "ollama"))
        agent.save(tmp_path / "program", save_program=True)
        code = "import dspy, sys; print(dspy.load(sys.argv[1], allow_pickle=True)(question='1+2?').answer)"
        done = warm.run("-c", code, tmp_path / "program", fresh=True)
        assert done.stdout.split("\n")[0] == "It is 3.", done.stderr


def local_add() -> Any:
    """A tool that the other process cannot import: it travels in the file."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return add


def test_copies_in_the_process_keep_the_key() -> None:
    with ModelServer() as server:
        agent: Any = MicroAgent([add], of_dspy(server))
        for copied in (agent.deepcopy(), copy.deepcopy(agent), copy.copy(agent)):
            assert copied.lm.kwargs["api_key"] == KEY


def test_the_state_alone_is_saved_as_before(tmp_path: Path) -> None:
    lm = ScriptedLM([text("Well.")])
    agent = MicroAgent([add], lm)
    agent.plan.demos = [{"question": "?", "steps": [], "decision": {"final": {"answer": "!"}}}]
    agent.save(tmp_path / "state.json")
    fresh = MicroAgent([add], lm)
    fresh.load(tmp_path / "state.json")
    assert [dict(demo) for demo in fresh.plan.demos] == json.loads((tmp_path / "state.json").read_text())["plan"][
        "demos"
    ]
    assert fresh.ask("?").answer == "Well."


def test_the_state_holds_no_key_of_a_model_that_was_set(tmp_path: Path) -> None:
    with ModelServer() as server:
        agent = MicroAgent([add])
        agent.set_lm(of_dspy(server))
        agent.save(tmp_path / "state.json")
        assert KEY.encode() not in written(tmp_path)
        fresh: Any = MicroAgent([add])
        fresh.load(tmp_path / "state.json", allow_unsafe_lm_state=True)
        assert fresh.plan.lm.kwargs["api_base"] == server.openai_url


def test_a_model_that_cannot_be_saved_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="engine=ScriptedEngine cannot be saved"):
        MicroAgent([add], ScriptedLM([])).save(tmp_path / "program", save_program=True)
