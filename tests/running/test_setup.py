"""What an agent is made of: demos that were asked for, digests, a run's provenance."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Run
from micro_agent.errors import ConfigurationError, DemosError
from micro_agent.models.settings import load_settings
from micro_agent.planning.given_demos import given_demos
from micro_agent.rules import Rule, repetition
from micro_agent.rules.limits import Limits
from micro_agent.run import Usage
from micro_agent.testing import ScriptedLM, text

DEMO: dict[str, Any] = {"question": "1 + 2?", "steps": [], "decision": {"final": {"answer": "3"}}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_demos_come_from_a_list_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "demos.json"
    path.write_text(json.dumps({"demos": [DEMO]}), encoding="utf-8")
    settings = load_settings()
    assert [demo.plain() for demo in given_demos([DEMO], settings).compiled.demos] == [DEMO]
    assert [demo.plain() for demo in given_demos(path, settings).compiled.demos] == [DEMO]
    assert [demo.plain() for demo in given_demos(str(path), settings).compiled.demos] == [DEMO]
    assert given_demos([], settings).compiled.demos == []
    monkeypatch.setenv("COMPILED_DEMOS_PATH", str(path))
    assert [demo.plain() for demo in given_demos(None, load_settings()).compiled.demos] == [DEMO]


def test_the_default_file_may_be_missing_but_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert given_demos(None, load_settings()).compiled.demos == []
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt" / "plan_demos.json").write_text("{", encoding="utf-8")
    with pytest.raises(DemosError, match=r"opt/plan_demos\.json"):
        given_demos(None, load_settings())
    with pytest.raises(DemosError):
        MicroAgent(tools=[add], lm=ScriptedLM([]))


def test_a_file_that_was_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILED_DEMOS_PATH", str(tmp_path / "missing.json"))
    with pytest.raises(DemosError, match=r"missing\.json"):
        given_demos(None, load_settings())


def test_bad_demos_in_a_list_are_named() -> None:
    with pytest.raises(DemosError, match=r"demos\.0\.decision"):
        given_demos([{"question": "?"}], load_settings())


def test_digests_tell_tools_rules_and_demos_apart() -> None:
    def digests(*, rules: list[Rule], demos: list[dict[str, object]] | None = None) -> dict[str, str]:
        lm = ScriptedLM([text("3")])
        return MicroAgent(tools=[add], lm=lm, rules=rules, demos=demos).ask("?").digests

    plain = digests(rules=[])
    assert digests(rules=[]) == plain
    assert {key for key, value in digests(rules=[repetition.check]).items() if value != plain[key]} == {"rules"}
    assert {key for key, value in digests(rules=[], demos=[]).items() if value != plain[key]} == {"demos"}


def test_a_rule_without_a_name_is_told_apart_by_what_it_is() -> None:
    from functools import partial

    def rule(words: str, run: object, event: object) -> None:
        return None

    run = MicroAgent(tools=[add], lm=ScriptedLM([text("3")]), rules=[partial(rule, "x")]).ask("?")
    assert len(run.digests["rules"]) == 64


def test_a_run_with_a_limit_of_another_version_is_not_gone_on_with_as_if_it_had_none() -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM([text("3")]), rules=[])
    run = Run(question="?", status="confirmation_required", limits={"max_steps": 6, "max_moons": 1})
    with pytest.raises(ConfigurationError, match="max_moons"):
        agent.resume(run)


def test_an_older_run_is_not_held_to_a_limit_that_came_later() -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM([text("x" * 200), text("3")]), rules=[], limits=Limits(max_bytes=100))
    old = Run(question="?", status="confirmation_required", limits={"max_steps": 6}, usage=Usage(lm_calls=1))
    assert agent.resume(old).answer == "x" * 200
    assert agent.ask("?").usage.recorded_bytes is not None


def test_copies_of_an_agent_share_what_cannot_be_copied() -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM([text("3")]), rules=[])
    assert copy.deepcopy(agent)._setup is agent._setup  # pyright: ignore[reportPrivateUsage]
