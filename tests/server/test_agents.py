"""The agents of a server: by the way to ask its model, and by the run that goes on."""

import pytest

from micro_agent import Run, configure_lm
from micro_agent.errors import ConfigurationError
from micro_agent.models import load_settings
from micro_agent.server.agents import Agents
from micro_agent.testing import ModelServer, final, text
from micro_agent.tools import load_tools
from micro_agent.traces import TraceStore


def agents_of(server: ModelServer, store: TraceStore, model: str = "scripted") -> Agents:
    settings = load_settings()
    lm = configure_lm("openai", model, server.openai_url, settings=settings, fallback=False)
    return Agents(lm, list(load_tools().values()), mode="auto", store=store, settings=settings)


def test_a_question_can_choose_how_the_model_is_asked(store: TraceStore) -> None:
    with ModelServer([text("One."), text("Two."), final("Three.")]) as server:
        agents = agents_of(server, store)
        runs = [agents(way).ask("What is the capital of France?") for way in (None, True, False)]
        assert [bool(chat.body and chat.body.get("tools")) for chat in server.chats] == [True, True, False]
    assert [(run.mode, run.answer) for run in runs] == [("native", "One."), ("native", "Two."), ("json", "Three.")]
    assert agents(True) is agents(True)


def test_a_run_goes_on_with_the_model_it_began_with(store: TraceStore) -> None:
    with ModelServer() as ours, ModelServer() as other:
        agents = agents_of(ours, store)
        mine = Run(question="?", provider="openai", model="openai/scripted", base_url=ours.openai_url)
        theirs = Run(question="?", provider="openai", model="openai/larger", base_url=other.openai_url)
        assert agents.of(mine) is agents()
        assert agents.of(theirs).lm.model == "openai/larger"  # pyright: ignore[reportOptionalMemberAccess, reportUnknownMemberType]
        assert other.requests == []
        with pytest.raises(ConfigurationError, match="resume it in Python"):
            agents.of(Run(question="?", provider="of_mine", model="of_mine/own"))


def test_a_run_that_goes_on_takes_the_key_to_our_own_server_alone(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-of-somebody")
    with ModelServer([text("One.")]) as ours, ModelServer([text("Two.")]) as other:
        agents = agents_of(ours, store)
        for server in (ours, other):
            run = Run(question="?", provider="openai", model="openai/larger", base_url=server.openai_url, mode="native")
            store.start(run).close()
            agents.of(run).resume(run.id)
        sent = [server.chats[0].headers.get("authorization") for server in (ours, other)]
    assert sent == ["Bearer sk-a-secret-of-somebody", None]
    assert capsys.readouterr().err.count("which the record names and today's settings do not") == 1
