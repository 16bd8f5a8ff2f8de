"""What is shown of a run: every reply and step once, in order, whole where a person decides."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent, Run, Step, tool
from micro_agent.page.items import ReplyItem, StepItem
from micro_agent.page.view import view_of
from micro_agent.run import LMCall
from micro_agent.testing import ScriptedLM, text
from micro_agent.traces import TraceStore

MENDED = """I will add.\n```json\n{"name": "add", "arguments": {"a": 1, 'b': 2,}\n```"""


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_a_run_is_shown_with_its_replies_as_they_came(store: TraceStore) -> None:
    lm = ScriptedLM([text(MENDED), text("Three.")])
    run = MicroAgent(tools=[add], lm=lm, rules=[], traces=store).ask("What is 1 + 2?")
    shown = view_of(store.load(run.id))
    assert (shown.question, shown.status, shown.total, shown.repaired) == ("What is 1 + 2?", "completed", 3, 1)
    assert shown.answer is not None
    assert shown.answer.text == "Three."
    first, step, last = shown.items
    assert isinstance(first, ReplyItem)
    assert "".join(piece.text for piece in first.text if piece.mark != "added") == MENDED
    assert '"b"' in "".join(piece.text for piece in first.text if piece.mark != "removed")
    assert [one.kind for one in first.repairs] == ["closing_brackets", "python_literal"]
    assert first.read is not None
    assert first.read.text == 'add {"a": 1, "b": 2}'
    assert isinstance(step, StepItem)
    assert [(words.name, words.text) for words in step.args] == [("a", "1"), ("b", "2")]
    assert [(words.name, words.text) for words in step.observation] == [("", "3")]
    assert isinstance(last, ReplyItem)
    assert ([piece.text for piece in last.text], last.read, last.repairs) == (["Three."], None, [])


@given(st.lists(st.one_of(st.none(), st.integers(0, 6)), max_size=8), st.integers(0, 5), st.integers(0, 12))
def test_each_reply_and_step_is_there_once_and_parts_make_up_the_whole(made: list[Any], calls: int, cut: int) -> None:
    run = Run(question="?", calls=[LMCall(reply={}) for _ in range(calls)])
    run.steps = [Step(tool="look", call=at) for at in made]
    every = view_of(run).items
    assert [item.number for item in every if item.kind == "step"] == list(range(1, len(made) + 1))
    assert [item.number for item in every if item.kind == "reply"] == list(range(1, calls + 1))
    assert [*view_of(run, count=cut).items, *view_of(run, first=cut).items] == every
    place = {(item.kind, item.number): at for at, item in enumerate(every)}
    for number, step in enumerate(run.steps, 1):
        if step.call is not None and step.call < calls:
            assert place["reply", step.call + 1] < place["step", number]


def test_repairs_are_marked_in_the_arguments_of_native_calls() -> None:
    made = [{"name": "f", "arguments": "{'a': 1}"}]
    repairs = [{"kind": "python_literal", "before": "{'a': 1}", "after": '{"a": 1}'}]
    (item,) = view_of(Run(question="?", calls=[LMCall(reply={"tool_calls": made}, repairs=repairs)])).items
    assert isinstance(item, ReplyItem)
    (call,) = item.calls
    assert "".join(piece.text for piece in call.text if piece.mark != "added") == "{'a': 1}"
    assert "".join(piece.text for piece in call.text if piece.mark != "removed") == '{"a": 1}'


def test_an_open_question_is_whole_and_hides_nothing() -> None:
    shown = {"kind": "patch", "id": "patch_0", "text": "+ a\u202eb\u200b" + "x" * 9000, "files": ["a"]}
    question = {
        "tool": "write", "args": {"text": "п\u202e"}, "reason": "It writes.", "shown": shown, "ungrounded": ["text"],
        "edited": {"text": ""}, "fault": "no\nsuch", "expires": None, "sha256": "0" * 64,
    }  # fmt: skip
    run = Run(question="?", status="confirmation_required", confirmation=question)
    asked = view_of(run, longest=10, decision="approve").confirmation
    assert asked is not None
    assert asked.call == 'write {"text": "\\u043f\\u202e"}'
    assert asked.text == "+ a\\u202eb\\u200b" + "x" * 9000
    assert json.loads(asked.args) == {"text": "п\u202e"}
    assert asked.args.isascii()
    assert [(words.name, words.text) for words in asked.more] == [("files", '["a"]')]
    assert (asked.edited, asked.fault, asked.ungrounded, asked.decision) == (
        '{"text": ""}', "no\nsuch", ["text"], "approve",
    )  # fmt: skip
    bare = {"tool": "write", "args": {}, "reason": "?", "shown": {"text": 5}}
    asked = view_of(run.model_copy(update={"confirmation": bare})).confirmation
    assert asked is not None
    assert (asked.text, asked.kind, asked.id, asked.edited, asked.sha256) == (None, "tool", None, None, None)
    assert [(words.name, words.text) for words in asked.more] == [("text", "5")]


def test_what_else_there_is_to_tell() -> None:
    thrown = LMCall(reply={"text": "No."}, fault=Step(tool="x", observation={"error": "BAD"}))
    unheard = LMCall(reply={"tool_calls": [{"name": "f", "arguments": "{}"}], "reasoning": "hm"})
    last = LMCall(reply={"text": "?"}, error={"reason": "no_decision"}, samples=[thrown, unheard])
    step = Step(
        tool="write", args={"a": "x" * 200}, ok=False, error="TOOL_TIMEOUT", edited={"a": "y"}, state="1 of 3",
        coercions=[{"path": "a"}], approval={"granted": True, "kind": "patch", "id": "patch_0", "feedback": "fine"},
    )  # fmt: skip
    run = Run(
        question="?", answer="\x1b[2J5", model_answer="4", outputs={"n": 5, "why": "so"}, system="Be brief.",
        steps=[step, Step(tool="other", ok=False)], calls=[unheard, last], error={"code": "x", "message": "no\x07"},
        fallback_from=[{"provider": "ollama", "reason": "down"}], gates={},
        follows="0" * 32, earlier=(Run(question="First?", answer="Yes."), Run(question="And?")),
    )  # fmt: skip
    shown = view_of(run, longest=10)
    assert shown.answer is not None
    assert shown.model_answer is not None
    assert (shown.answer.text, shown.model_answer.text, shown.error) == ("\\x1b[2J5", "4", "no\\x07")
    assert [words.name for words in shown.outputs] == ["n", "why"]
    assert shown.instead == ["ollama (down)"]
    assert [(turn.question, turn.said) for turn in shown.earlier] == [("First?", "Yes."), ("And?", None)]
    first, second, heard, tried = shown.items
    assert isinstance(first, StepItem)
    assert (first.args[0].text, first.args[0].left, first.fault) == ("x" * 10, 190, "TOOL_TIMEOUT")
    assert first.approval is not None
    assert (first.approval.granted, first.approval.id, first.state) == (True, "patch_0", "1 of 3")
    assert [words.text for words in first.read_as] == ['{"path": "a"}']
    assert isinstance(second, StepItem)
    assert (second.fault, second.observation) == ("failed", [])
    assert isinstance(heard, ReplyItem)
    assert heard.reasoning is not None
    assert (heard.reasoning.text, [(one.name, one.text[0].text) for one in heard.calls]) == ("hm", [("f", "{}")])
    assert isinstance(tried, ReplyItem)
    assert tried.fault is not None
    assert (tried.fault.text, tried.choice) == ("no_decision", "3 replies: 1 was thrown away")
    assert [(one.said, one.why) for one in tried.others] == [("No.", '{"error": "BAD"}'), ("f {}", None)]


def test_nothing_of_a_run_reorders_what_stands_beside_it() -> None:
    evil = "a\u202eb"
    run = Run(
        question=evil, provider=evil, model=evil, fallback_from=[{"provider": evil, "reason": evil}],
        termination_reason=evil, calls=[LMCall(reply={"text": evil}, model=evil)],
        steps=[Step(tool=evil, args={evil: evil}, observation={evil: evil}, ok=False, error=evil, state=evil)],
        confirmation={"tool": evil, "args": {evil: evil}, "reason": evil, "expires": evil, "sha256": "0"},
    )  # fmt: skip
    told = json.dumps(view_of(run).model_dump(), ensure_ascii=False)
    assert ("\u202e" in told, told.count("\\u202e") > 10) == (False, True)
