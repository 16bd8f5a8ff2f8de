"""Many tools are found by a search, called as themselves, and cost a small share of the context."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from micro_agent import MicroAgent, Run
from micro_agent.effects import Approval
from micro_agent.mcp import mcp_tools
from micro_agent.replay import verify
from micro_agent.run import Mode
from micro_agent.testing import Reply, ScriptedLM, call, decision, final, text
from micro_agent.tools import load_tools
from micro_agent.tools.registry import digest
from tests.each import each
from tests.mcp.conftest import Spec, seen

CONTEXT_LENGTH = 8192
WHERE = {"owner": "ann", "repo": "tools"}


def tokens(script: list[Reply], mode: Mode, **options: Any) -> int:
    run = MicroAgent(lm=ScriptedLM(script, mode=mode), mode=mode, rules=[], **options).ask("What is there?")
    assert run.calls[0].request is not None
    return run.calls[0].request["tokens"]


def test_178_tools_cost_a_twentieth_of_the_context_at_most(rude: Callable[..., Spec]) -> None:
    with mcp_tools(rude("gh", "crowd")) as tools:
        assert (len(tools.offered), [tool.name for tool in tools]) == (178, ["find_tools", "call_tool"])
        replies: dict[Mode, Reply] = {"native": text("Nothing."), "json": final("Nothing.")}
        for mode, reply in replies.items():
            usual = list(load_tools().values())
            without = tokens([reply], mode, tools=usual)
            cost = tokens([reply], mode, tools=[*usual, *tools]) - without
            all_of_them = tokens([reply], mode, tools=[*usual, *tools.offered.values()]) - without
            assert 0 < cost <= CONTEXT_LENGTH / 20 < all_of_them, (mode, cost)


def test_what_is_behind_a_search_counts_in_the_digest_of_tools(rude: Callable[..., Spec]) -> None:
    with mcp_tools(rude("gh", "crowd")) as tools:
        find, through = tools
    fewer = {name: tool for name, tool in tools.offered.items() if name != "gh__search_issues"}
    assert digest(tools) != digest([find, replace(through, behind=fewer)])


def test_a_search_finds_by_words(rude: Callable[..., Spec]) -> None:
    with mcp_tools(rude("gh", "crowd")) as tools:
        find = tools[0]
    assert "Find 178 more tools by words: gh" in find.description
    found = seen(find, query="I want to search an issue")
    assert found["tools"][0]["name"] == "gh__search_issues"
    assert found["tools"][0]["parameters"]["required"] == ["owner", "repo"]
    assert len(found["more"]) == 15
    assert found["note"] == (
        'To call the first: call_tool with {"tool": "gh__search_issues", "arguments": {"owner": "<text>", "repo": '
        '"<text>", "number": <integer>}}.'
    )
    assert [tool["name"] for tool in seen(find, query="milestone")["tools"][:1]] == ["gh__list_milestones"]
    assert seen(find, query="weather") == {"tools": [], "note": "None of 178 tools has these words; try other words."}


@each(("mode", "reply"), [
    ("native", call("gh__search_issues", WHERE)),  # as it was found
    ("native", call("call_tool", {"tool": "gh__search_issues", "arguments": {**WHERE, "number": "3"}})),
    ("native", call("call_tool", {"tool": "search_issues", "arguments": '{"owner": "ann", "repo": "tools"}'})),
    ("native", call("call_tool", {"tool": "gh__search_issues", **WHERE})),  # not nested
    ("native", call("gh.search_issues", WHERE)),
    ("json", decision("call_tool", {"tool": "gh__search_issues", "arguments": WHERE})),
])  # fmt: skip
def test_what_was_found_is_called_as_itself(
    mode: Mode, reply: Reply, rude: Callable[..., Spec], tmp_path: Path
) -> None:
    last = text("None.") if mode == "native" else final("None.")
    with mcp_tools(rude("gh", "crowd", trust=["search_issues"])) as tools:
        agent = MicroAgent(tools=tools, lm=ScriptedLM([reply, last], mode=mode), mode=mode, rules=[])
        run = agent.ask("Are there issues in ann/tools?")
        again = next(verify([run], agent))
    assert [(step.tool, step.observation) for step in run.steps] == [("gh__search_issues", "no issues")], run.steps
    assert run.answer == "None."
    assert again.outcome == "same"


def test_what_a_call_through_another_gets_wrong_is_told_of_the_tool_behind(rude: Callable[..., Spec]) -> None:
    script = [
        call("call_tool", {"tool": "gh__search_issues", "arguments": {"owner": "ann"}}),
        call("call_tool", {"tool": "gh__serch_isues", "arguments": WHERE}),
        call("weather", {}),
        text("I cannot."),
    ]
    with mcp_tools(rude("gh", "crowd")) as tools:
        run = MicroAgent(tools=tools, lm=ScriptedLM(script), rules=[]).ask("Are there issues?")
    told = [step.observation for step in run.steps]
    assert [one["error"] for one in told] == ["VALIDATION_FAILED", "UNKNOWN_TOOL", "UNKNOWN_TOOL"]
    assert told[0]["expected"].startswith("Call gh__search_issues with")
    assert "gh__search_issues" in told[1]["closest"]
    assert told[2]["tools"] == ["call_tool", "find_tools"]


def test_a_person_is_asked_about_the_tool_behind(rude: Callable[..., Spec]) -> None:
    asked: list[Any] = []

    def confirm(question: Any) -> Approval:
        asked.append((question.tool, question.args))
        return Approval("reject", "not those")

    script = [call("call_tool", {"tool": "delete_files", "arguments": WHERE}), text("They are still there.")]
    with mcp_tools(rude("gh", "crowd")) as tools:
        run: Run = MicroAgent(tools=tools, lm=ScriptedLM(script), rules=[], confirm=confirm).ask("Delete the files.")
    assert asked == [("gh__delete_files", WHERE)]
    assert run.steps[0].error == "APPROVAL_REJECTED"


def test_few_tools_are_simply_there(rude: Callable[..., Spec], tmp_path: Path) -> None:
    script = [call("few__reads", {"text": "hi"}), text("Hi.")]
    agent = MicroAgent(lm=ScriptedLM(script), rules=[], confirm="all", mcp=[rude("few", "hints")])
    assert agent.ask("Say hi.").steps[0].observation == "hi"
    with mcp_tools(rude("gh", "crowd"), context_length=400_000) as tools:
        assert len(tools) == 178
        assert [tool.name for tool in tools[:1]] == ["gh__list_issues"]
    with mcp_tools(rude("gh", "crowd")) as tools:  # the function of the tool, as Python calls it
        assert asyncio.run(tools[1](tool="gh__search_issues", arguments=WHERE)) == "no issues"
