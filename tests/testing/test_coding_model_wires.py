"""The scripted coding model, asked directly and over HTTP: what it makes of tools, messages and words on both wires."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from micro_agent import MicroAgent, configure_lm
from micro_agent.models.settings import Provider, Settings
from micro_agent.testing import ModelServer, Received, Reply
from micro_agent.testing.coding_model import CodingModel, Edit, Plan
from micro_agent.tools import tool
from tests.each import each

Args = dict[str, Any]
Turn = tuple[str, Args, Any]
"""A call, and what the model was told of it."""


def schema(*names: str, **more: Any) -> Args:
    return {"properties": {name: {"type": "string"} for name in names} | more}


TOOLS: dict[str, Args] = {
    "list_files": schema("glob"),
    "rg_search": schema("pattern"),
    "read_file": schema("path", start_line={"type": "integer"}, end_line={"type": "integer"}),
    "read_file_snippet": schema("path", "query"),
    "edit_file": schema("path", "target", "replacement"),
    "run_tests": schema("test_cmd"),
}
TAGGED = schema("path", edits={"type": "array", "items": schema("start", "end", "text")})
NUMBERED = schema("path", "new_text", start_line={"type": "integer"}, end_line={"type": "integer"})
DIFF = schema("intent", "unified_diff")
PROPOSE = schema("intent", "file_path", "original_content", "new_content")
APPLY = schema("patch_id")
ONE = Edit(path="a.py", target="one = 1", replacement="one = 2")
TWO = Edit(path="a.py", target="two = 1\n", replacement="two = 2\n")
PLAN = Plan(search="one", read=("a.py",), edits=(ONE, TWO), answer="Both are two.")
FOUND: Turn = ("rg_search", {"pattern": "one"}, {"matches": []})
READ: Turn = ("read_file", {"path": "a.py"}, {"path": "a.py", "lines": ["1: one = 1", "2: two = 1", "3: "]})
TESTS: Turn = ("run_tests", {}, {"ok": True})
RAN = "run_tests"


def without(*names: str, **more: Args) -> dict[str, Args]:
    return {name: one for name, one in TOOLS.items() if name not in names} | more


def request(
    *turns: Turn | str, tools: Mapping[str, Args] = TOOLS, notes: Sequence[str] = (), question: Any = "Do it.",
    **options: Any,
) -> Received:  # fmt: skip
    """What the model is sent after these turns: calls with their results, or words."""
    messages: list[Args] = [{"role": "user", "content": question}]
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": "assistant", "content": turn})
            continue
        name, args, result = turn
        call = {"id": f"c{number}", "function": {"name": name, "arguments": json.dumps(args)}}
        said = result if isinstance(result, str) else json.dumps(result)
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": said},
        ]
    messages += [{"role": "user", "content": note} for note in notes]
    offered = [{"function": {"name": name, "parameters": parameters}} for name, parameters in tools.items()]
    return Received("", "POST", {}, {"messages": messages, "tools": offered, **options}, b"")


def says(received: Received, plan: Plan = PLAN, **options: Any) -> tuple[str, Args] | str:
    """What a model without faults replies."""
    settings: dict[str, Any] = {"faults": 0, "follows": 1, "seed": 1, "alone": 1, **options}
    return said(CodingModel(plan, **settings)(received))


def said(reply: Reply) -> tuple[str, Args] | str:
    return (reply.calls[0].name, reply.calls[0].arguments) if reply.calls else reply.text


def test_edits_by_tags_use_those_that_were_read_and_read_again_after_a_change():
    tools = without("edit_file", edit_lines=TAGGED)
    read: Turn = (*READ[:2], {"path": "a.py", "lines": ["1:a3|one = 1", "2:b4|two = 1"]})
    first = {"path": "a.py", "edits": [{"start": "1:a3", "end": "1:a3", "text": "one = 2"}]}
    assert says(request(FOUND, read, tools=tools)) == ("edit_lines", first)
    changed = [FOUND, read, ("edit_lines", first, {"ok": True})]
    assert says(request(*changed, tools=tools)) == READ[:2]
    read = (*READ[:2], {"path": "a.py", "lines": ["1:c5|one = 2", "2:b4|two = 1"]})
    second = {"path": "a.py", "edits": [{"start": "2:b4", "end": "2:b4", "text": "two = 2"}]}
    assert says(request(*changed, read, tools=tools)) == ("edit_lines", second)
    changed += [read, ("edit_lines", second, {"ok": True})]
    assert says(request(*changed, tools=tools)) == (RAN, {})
    assert says(request(*changed, TESTS, tools=tools)) == PLAN.answer


def test_edits_by_numbers_of_lines():
    wanted = {"path": "a.py", "start_line": 1, "end_line": 1, "new_text": "one = 2"}
    tools = without("edit_file", put_lines=NUMBERED)
    assert says(request(FOUND, READ, tools=tools)) == ("put_lines", wanted)


def test_a_place_that_was_not_shown_is_looked_for_by_its_text():
    tools = without("edit_file", propose_diff=DIFF)
    short: Turn = (*READ[:2], {"path": "a.py", "lines": ["1: zero = 0"]})
    looks = ("read_file_snippet", {"path": "a.py", "query": "one = 1"})
    assert says(request(FOUND, short, tools=tools)) == looks
    found: Turn = (*looks, {"path": "a.py", "lines": ["…", "7: one = 1", "8: two = 1"]})
    name, args = says(request(FOUND, short, found, tools=tools))
    assert (name, args["unified_diff"].split("\n")[2]) == ("propose_diff", "@@ -1,3 +1,3 @@")  # pyright: ignore
    nothing = {name: one for name, one in tools.items() if name != "read_file_snippet"}
    assert says(request(FOUND, short, tools=nothing)) == PLAN.answer


def test_a_new_file_is_made_with_a_tool_that_can():
    plan = Plan(edits=(Edit(path="new.py", target="", replacement="x = 1\n"),), answer="It is there.")
    tools = without("run_tests", propose_patch=PROPOSE)
    args = {"file_path": "new.py", "intent": "Change new.py", "original_content": "", "new_content": "x = 1\n"}
    assert says(request(tools=tools), plan) == ("propose_patch", args)
    diff = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1 @@\n+x = 1\n"
    tools = without("edit_file", "run_tests", propose_diff=DIFF, apply_patch=APPLY)
    call = ("propose_diff", {"intent": "Change new.py", "unified_diff": diff})
    assert says(request(tools=tools), plan) == call
    proposed: Turn = (*call, {"patch_id": "patch_7", "approved": True})
    apply = ("apply_patch", {"patch_id": "patch_7"})
    assert says(request(proposed, tools=tools), plan) == apply
    done: Turn = (*apply, {"ok": True, "files_changed": ["new.py"]})
    assert says(request(proposed, done, tools=tools), plan) == "It is there."


def test_it_does_what_can_be_done_with_the_tools_that_there_are():
    assert says(request(tools={"list_files": schema("glob")})) == ("list_files", {})
    listed: Turn = ("list_files", {}, {"files": ["a.py"]})
    assert says(request(listed, tools={"list_files": schema("glob")})) == PLAN.answer
    assert says(request(tools={"now": schema()})) == PLAN.answer
    shell = without("run_tests", run_cmd=schema("cmd"))
    done = ("edit_file", ONE.model_dump(), {"ok": True}), ("edit_file", TWO.model_dump(), {"ok": True})
    assert says(request(FOUND, READ, *done, tools=shell)) == PLAN.answer
    assert says(request(FOUND, READ, *done, tools=shell), PLAN.model_copy(update={"test": "make test"})) == (
        "run_cmd", {"cmd": "make test"},
    )  # fmt: skip
    failed: Turn = ("run_cmd", {"cmd": "make test"}, {"error": "COMMAND_DENIED"})
    assert says(request(FOUND, READ, *done, failed, tools=shell), PLAN.model_copy(update={"test": "make test"})) == (
        PLAN.answer
    )


def test_what_needs_no_change_gets_an_answer_and_no_edit():
    plan = Plan(search="one", read=("a.py",), needs_change=False, answer="It is right as it is.")
    assert says(request(FOUND, READ), plan) == plan.answer
    refused = "Policy: You changed nothing: call edit_file, or say why nothing has to change."
    assert says(request(FOUND, READ, plan.answer, notes=[refused]), plan) == plan.answer
    assert says(request(FOUND, READ), plan.model_copy(update={"test": "make test"})) == (RAN, {"test_cmd": "make test"})


def test_an_edit_that_is_seen_in_the_file_is_not_made_again():
    done: Turn = (*READ[:2], {"path": "a.py", "lines": ["1: one = 2", "2: two = 1"]})
    assert says(request(FOUND, done)) == ("edit_file", TWO.model_dump())


NAMED: list[tuple[str, tuple[str, Args]]] = [
    ("rg_search", FOUND[:2]),
    ("read_file", READ[:2]),
    ("edit_file", ("edit_file", ONE.model_dump())),
    (RAN, (RAN, {})),
    ("list_files", ("list_files", {})),
    ("apply_patch", ("apply_patch", {"patch_id": "patch_1"})),
    ("show_patch", ("apply_patch", {"patch_id": "patch_1"})),
    ("anything", ("apply_patch", {"patch_id": "patch_1"})),
]


@each(["name", "does"], NAMED)
def test_it_calls_the_tool_that_a_refusal_names(name: str, does: tuple[str, Args]):
    tools = {**TOOLS, "propose_patch": PROPOSE, "apply_patch": APPLY, "show_patch": APPLY}
    wrote = {"file_path": "a.py", "original_content": "two = 1\n", "new_content": "two = 2\n", "intent": "So."}
    proposed: Turn = ("propose_patch", wrote, {"patch_id": "patch_1", "approved": True})
    refused = f"Policy: That is not all. Call {name} first."
    assert says(request(FOUND, READ, proposed, "Done.", notes=[refused], tools=tools)) == does


def test_a_rejected_patch_is_proposed_better_where_there_is_feedback():
    tools = without("edit_file", propose_patch=PROPOSE)
    wrote = {"file_path": "a.py", "original_content": "one", "new_content": "won", "intent": "So."}
    rejected: Turn = ("propose_patch", wrote, {"patch_id": "patch_1", "approved": False, "feedback": "No: two."})
    name, args = says(request(FOUND, READ, rejected, tools=tools))
    assert (name, args["new_content"]) == ("propose_patch", "one = 2")  # pyright: ignore
    again = says(
        request(FOUND, READ, (*rejected[:2], {**rejected[2], "feedback": None}), tools=tools), alone=0, stuck=1
    )
    assert again == rejected[:2]


def test_what_it_did_by_itself_is_taken_back_when_the_tests_fail():
    wrote = {"path": "a.py", "target": "three = 1", "replacement": "three = 4"}
    turns: list[Turn] = [FOUND, READ, *(("edit_file", args, {"ok": True}) for args in (wrote, ONE.model_dump()))]
    turns += [("edit_file", TWO.model_dump(), {"ok": True}), (RAN, {}, {"ok": False, "failed": 1})]
    back = {"path": "a.py", "target": "three = 4", "replacement": "three = 1"}
    assert says(request(*turns)) == ("edit_file", back)
    assert says(request(*turns, ("edit_file", back, {"ok": True}))) == (RAN, {})


def test_the_same_call_that_fails_again_and_again_is_given_up():
    denied: Turn = ("edit_file", ONE.model_dump(), {"error": "APPROVAL_REQUIRED"})
    assert says(request(FOUND, READ, denied)) == denied[:2]
    assert says(request(FOUND, READ, denied, denied)) == PLAN.answer


def test_a_warning_is_followed_or_not_heeded_and_a_result_that_was_cut_counts():
    warned = (*READ[:2], '{"path": "a.py", "lines": ["1: one')
    notes = ["Note: You have looked around. Call list_files."]
    assert says(request(FOUND, warned, notes=notes)) == ("list_files", {})
    assert says(request(FOUND, warned, notes=notes), follows=0) == ("edit_file", ONE.model_dump())
    assert says(request(FOUND, (*READ[:2], '{"error": "FILE_'), notes=[])) == READ[:2]
    assert says(request(FOUND, (*READ[:2], "Policy: Call rg_search first."))) == FOUND[:2]


def test_in_json_mode_the_tools_stand_in_a_schema_or_in_the_prompt():
    listed = "- rg_search(pattern: str, limit: int = 50): Search.\n- read_file(path: str): Read.\n- now(): Now."
    decided = {"role": "assistant", "content": json.dumps({"tool": {"name": "rg_search", "args": {"pattern": "one"}}})}
    messages = [
        {"role": "system", "content": listed},
        {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
        decided,
        {"role": "user", "content": 'Tool [rg_search] output:\n{"matches": []}\nSteps: 1/25 | ✓ rg_search'},
    ]
    reply = CodingModel(PLAN, faults=0, follows=1, seed=1)(Received("", "POST", {}, {"messages": messages}, b""))
    assert json.loads(reply.text) == {"tool": {"name": "read_file", "args": {"path": "a.py"}}}
    choice: Args = {
        "properties": {"tool": {"properties": {"name": {"const": "rg_search"}, "args": TOOLS["rg_search"]}}}
    }
    body: Args = {"messages": messages[:2], "format": {"anyOf": [choice, {"properties": {"final": {}}}]}}
    reply = CodingModel(PLAN, faults=0, follows=1, seed=1)(Received("", "POST", {}, body, b""))
    assert json.loads(reply.text) == {"tool": {"name": "rg_search", "args": {"pattern": "one"}}}


def test_asked_whether_it_is_done_it_says_no_to_an_announcement():
    final = 'Is that your final answer? Reply {"done": true}, or {"done": false} if you still have to call a tool.'
    make = 'Your reply holds a call of x inside text. Shall it be made now? Reply {"make": true} or {"make": false}.'
    announced = said(CodingModel(PLAN, faults=1, follows=1, seed=1, only=["announce"])(request()))
    assert isinstance(announced, str)
    assert says(request(announced, notes=[final])) == '{"done": false}'
    assert says(request(PLAN.answer, notes=[final])) == '{"done": true}'
    assert says(request("call x()", notes=[make])) == '{"make": true}'


NOWHERE: list[tuple[str, Received, Any]] = [
    *(
        (fault, request(tools={"now": schema()}), PLAN.answer)
        for fault in ("call_in_prose", "unknown_tool", "unknown_argument", "wander", "finish", "same_again")
    ),
    *((fault, request(FOUND, tools={"now": schema()}), PLAN.answer) for fault in ("wrong_path", "bad_range")),
    *((fault, request(FOUND, READ, tools={"say": schema("text")}), PLAN.answer) for fault in ("not_found", "bad_diff")),
    ("wrong_path", request(tools=TOOLS), FOUND[:2]),
    ("wrong_edit", request(FOUND, READ), ("edit_file", ONE.model_dump())),
    ("ambiguous", request(FOUND, (*READ[:2], {"path": "a.py"})), ("edit_file", ONE.model_dump())),
    ("bad_diff", request(FOUND, (*READ[:2], {"path": "b.py"}), tools=without("edit_file", propose=DIFF)), READ[:2]),
    ("bad_range", request(FOUND, tools={"read_file": schema("path")}), READ[:2]),
]  # fmt: skip


@each(["fault", "received", "reply"], NOWHERE)
def test_a_fault_that_cannot_happen_here_does_not(fault: str, received: Received, reply: Any):
    assert says(received, faults=1, only=[fault]) == reply


def test_a_text_without_a_word_is_not_told_from_memory_and_no_patch_is_named_without_a_tool():
    edit = Edit(path="a.py", target="= 1", replacement="= 2")
    plan = Plan(edits=(edit,), answer="Done.")
    assert says(request(), plan, faults=1, only=["not_found"]) == ("edit_file", edit.model_dump())
    wrote = {"intent": "So.", "file_path": "a.py", "original_content": "= 1", "new_content": "= 2"}
    proposed: Turn = ("propose_patch", wrote, {"patch_id": "patch_1", "approved": True})
    tools = {"propose_patch": PROPOSE}
    assert says(request(proposed, tools=tools), plan, faults=1, only=["wrong_patch"]) == "Done."


def test_calls_and_results_without_ids_belong_together_in_their_order():
    calls = [{"function": {"name": name, "arguments": args}} for name, args in (FOUND[:2], READ[:2])]
    messages = [
        {"role": "user", "content": "Do it."},
        {"role": "user", "content": "Note: You have done this already:"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": json.dumps(FOUND[2])},
        {"role": "tool", "content": json.dumps(READ[2])},
    ]
    offered = [{"function": {"name": name, "parameters": parameters}} for name, parameters in TOOLS.items()]
    body: Args = {"messages": messages, "tools": offered, "options": {"seed": 3}}
    reply = CodingModel(PLAN, faults=0, follows=1, seed=1)(Received("", "POST", {}, body, b""))
    assert said(reply) == ("edit_file", ONE.model_dump())


def test_a_question_without_a_plan_is_an_error():
    with pytest.raises(LookupError, match="no message asks one of the 1 tasks"):
        CodingModel({"Fix b": PLAN}, faults=0, follows=1, seed=1)(request())


@tool(read_only=True)
def rg_search(pattern: str) -> dict[str, Any]:
    """Search."""
    return {"matches": [pattern]}


def test_one_server_plays_several_tasks_on_both_wires_at_once():
    plans = {f"Task {name}": Plan(search=name, needs_change=False, answer=f"It is {name}.") for name in ("one", "two")}
    model = CodingModel(plans, faults=0, follows=1, seed=1)
    settings = Settings()

    def asked(work: tuple[Provider, str]) -> tuple[Any, str | None]:
        provider, name = work
        url = server.openai_url if provider == "openai" else server.url
        lm = configure_lm(provider, "scripted", url, "none", settings=settings)
        run = MicroAgent([rg_search], lm).ask(f"You have\nTask   {name} to do.")
        return [step.observation for step in run.steps if step.is_tool], run.answer

    works: list[tuple[Provider, str]] = [(wire, name) for wire in ("openai", "ollama") for name in ("one", "two")]
    with ModelServer(model) as server, ThreadPoolExecutor(4) as pool:
        done = list(pool.map(asked, works))
    assert done == [([{"matches": [name]}], f"It is {name}.") for _, name in works]
    assert {decided.task for decided in model.decisions} == set(plans)
