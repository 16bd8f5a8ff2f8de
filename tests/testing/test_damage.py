"""The classes of damage: what each does to a reply, and that it takes nothing away that it should not."""

import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.errors import ConfigurationError
from micro_agent.testing.damage import CLASSES, LOSES, checked, damaged
from micro_agent.testing.damage.dialect import FORMS
from micro_agent.testing.damage.spelling import Spelling
from tests.each import each

SEEDS = range(120)
CALL: tuple[str, dict[str, Any]] = ("find_books", {"query": "sea *", "limit": 2, "new": True, "tags": ["a"]})
NATIVE = ModelReply("", "I think.", (RawCall(CALL[0], json.dumps(CALL[1]), "c1"),), "tool_calls")
OBJECT = ModelReply(json.dumps({"tool": {"name": CALL[0], "args": CALL[1]}}), finish_reason="stop")
ANSWER = ModelReply("The book is by V. Woolf.", finish_reason="stop")
FINAL = ModelReply(json.dumps({"final": {"answer": ANSWER.text}}), finish_reason="stop")
EMPTY_ARGS = ModelReply(calls=(RawCall("now", {}),))
TWO = ModelReply(calls=(RawCall("now", "{}"), RawCall("now", '{"zone": "utc"}')))
UNREADABLE = ModelReply(calls=(RawCall("now", "{zone"),))
TALK = ModelReply("Sure! I look it up.")
NESTED = ModelReply('{"tool": {"name": 1, "args": {}}}')


def outcomes(name: str, reply: ModelReply, *, native: bool) -> list[ModelReply]:
    """All that a class makes of a reply."""
    made = [damaged(reply, [name], Random(seed), native=native) for seed in SEEDS]
    found: list[ModelReply] = []
    for one in made:
        if one is not None and one[1] not in found:
            found.append(one[1])
    return found


def texts(name: str, reply: ModelReply, *, native: bool) -> list[str]:
    """The same as text; of those that still call natively the calls."""
    return [
        " ".join(f"{call.name} {call.arguments}" for call in after.calls) or after.text
        for after in outcomes(name, reply, native=native)
    ]


ARGS = json.dumps(CALL[1])
IN_TEXT = f'{{"name": "find_books", "arguments": {ARGS}}}'
BARE = '{query: "sea *", limit: 2, new: true, tags: ["a"]}'
THOUGHT = "The user asks something. I have to be careful and do one thing at a time."
IN_NATIVE = {
    "prose": f"Okay, here is what I do next: {IN_TEXT} I hope this helps.",
    "python_literals": f"{{'name': 'find_books', 'arguments': {CALL[1]}}}",
    "in_a_string": json.dumps(IN_TEXT),
    "code_fences": f"```json\n{IN_TEXT}\n```",
    "arguments_as_text": f'{{"name": "find_books", "arguments": {json.dumps(ARGS)}}}',
    "double_encoding": f"find_books {json.dumps(ARGS)}",
    "positional": f"find_books({CALL[1]})",
    "markdown_escapes": IN_TEXT.replace("_", r"\_").replace("*", r"\*"),
    "broken_json": f"find_books {BARE}",
    "wrong_types": "find_books {'query': 'sea *', 'limit': '2', 'new': 'true', 'tags': 'a'}",
    "misplaced_arguments": f'{{"name": "find_books", {ARGS[1:]}',
    "other_keys": f'{{"action": "find_books", "action_input": {ARGS}}}',
    "tool_name": f"functions.find_books {CALL[1]}",
    "extra_arguments": f"find_books {CALL[1] | {'verbose': 'true'}}",
    "thinking": f"<think>\n{THOUGHT}\n</think>\n{IN_TEXT}",
    "endless_thinking": f"<think>\n{THOUGHT}",
    "answer_beside_call": f'{IN_TEXT[:-1]}, "final": {{"answer": "The tool will tell."}}}}',
    "repetition": f"{IN_TEXT}\n{IN_TEXT}\n{IN_TEXT}",
    "cut_off": 'find_books {"query": "sea *", "limit": 2, "new": true, "ta',
    "empty": " ",
    "dialect": "[find_books(query='sea *', limit=2, new=True, tags=['a'])]",
}


def decision(args: str, name: str = "find_books", key: str = "args") -> str:
    return f'{{"tool": {{"name": "{name}", "{key}": {args}}}}}'


IN_JSON = {
    "prose": f"Sure! I can help with that.\n\n{OBJECT.text}",
    "arguments_as_text": decision(json.dumps(ARGS)),
    "double_encoding": decision(json.dumps(json.dumps(ARGS))),
    "broken_json": f'{{tool: {{name: "find_books", args: {BARE}}}}}',
    "wrong_types": decision('{"query": "sea *", "limit": "2", "new": "true", "tags": "a"}'),
    "misplaced_arguments": decision(f'{{"parameters": {ARGS}}}'),
    "other_keys": f'{{"name": "find_books", "kwargs": {ARGS}}}',
    "tool_name": decision(ARGS, name="Find_Books"),
    "extra_arguments": decision(f'{ARGS[:-1]}, "step": "1"}}'),
    "answer_beside_call": f'{OBJECT.text}\n{{"final": {{"answer": "Here is the answer."}}}}',
    "dialect": f'<|python_tag|>{{"name": "find_books", "parameters": {ARGS}}}',
}


@each("name", IN_NATIVE)
def test_what_it_does_to_a_native_call(name: str):
    assert IN_NATIVE[name] in texts(name, NATIVE, native=True)


@pytest.mark.parametrize("name", IN_JSON)
def test_what_it_does_to_a_decision(name: str):
    assert IN_JSON[name] in texts(name, OBJECT, native=False)


def test_calls_in_a_row_can_have_text_between_them():
    first, *_ = texts("text_between_calls", TWO, native=True)
    assert first.count("<tool_call>") == 2
    assert outcomes("text_between_calls", NATIVE, native=True) == []


def test_every_dialect_is_drawn():
    assert len(texts("dialect", NATIVE, native=True)) == len(FORMS)


def test_several_calls_stay_several():
    assert json.loads(texts("arguments_as_text", TWO, native=True).pop())[1]["arguments"] == '{"zone": "utc"}'
    assert texts("dialect", TWO, native=True).pop().count("<tool_call>") == 2
    assert outcomes("positional", TWO, native=True) == outcomes("answer_beside_call", TWO, native=True) == []


APPLY_TO_PROSE = {
    "prose", "in_a_string", "code_fences", "thinking", "endless_thinking", "cut_off", "empty",
}  # fmt: skip


@each("name", CLASSES)
def test_what_applies_to_an_answer(name: str):
    assert bool(outcomes(name, ANSWER, native=True)) == (name in APPLY_TO_PROSE)
    assert bool(outcomes(name, TALK, native=False)) == (name in APPLY_TO_PROSE)
    of_objects = {"python_literals", "broken_json", "repetition"}
    assert bool(outcomes(name, FINAL, native=False)) == (name in APPLY_TO_PROSE | of_objects)


@each("name", CLASSES)
def test_it_is_the_same_for_the_same_seed_and_never_nothing(name: str):
    for reply, native in ((NATIVE, True), (OBJECT, False), (ANSWER, True), (EMPTY_ARGS, True), (TWO, True)):
        for seed in SEEDS[::3]:
            made = damaged(reply, [name], Random(seed), native=native)
            assert made == damaged(reply, [name], Random(seed), native=native)
            assert made is None or made[1] != reply


def test_what_says_nothing_and_what_is_broken_already_is_left_alone():
    for reply in (ModelReply(), ModelReply(" \n"), UNREADABLE):
        assert damaged(reply, CLASSES, Random(1), native=True) is None
    assert outcomes("other_keys", NESTED, native=False) == []


def test_a_call_without_arguments_has_none_that_can_be_broken_or_misplaced():
    assert outcomes("misplaced_arguments", EMPTY_ARGS, native=True) == []
    assert outcomes("wrong_types", EMPTY_ARGS, native=True) == []
    assert all(not after.calls for after in outcomes("broken_json", EMPTY_ARGS, native=True))


def test_arguments_with_the_names_of_the_frame_are_not_put_beside_it():
    taken = ModelReply(calls=(RawCall("rename", {"name": "x"}),))
    assert outcomes("misplaced_arguments", taken, native=True) == []
    every = ModelReply(calls=(RawCall("f", {"reason": "", "step": "", "verbose": ""}),))
    assert outcomes("extra_arguments", every, native=True) == []


def test_a_name_that_no_way_changes_is_left_alone():
    assert all(
        after.calls[0].name != "X"
        for after in outcomes("tool_name", ModelReply(calls=(RawCall("X", {}),)), native=True)
    )


def test_cut_off_says_so():
    for reply, native in ((NATIVE, True), (OBJECT, False), (ANSWER, True)):
        assert {after.finish_reason for after in outcomes("cut_off", reply, native=native)} == {"length"}
    whole, broken = next(after for after in outcomes("cut_off", TWO, native=True) if after.calls).calls
    assert (whole.arguments, json.dumps({"zone": "utc"}).startswith(broken.arguments)) == ({}, True)


def test_a_native_call_can_keep_its_place_beside_thoughts():
    beside = [after for after in outcomes("thinking", NATIVE, native=True) if after.calls]
    assert beside
    assert all("</think>" in after.text and after.calls == NATIVE.calls for after in beside)


words = st.text(alphabet="abcdefghij", min_size=3, max_size=12)
arguments = st.dictionaries(
    st.sampled_from(["q", "to", "body", "lines"]), words | st.lists(words, min_size=2), min_size=1
)


@given(words, arguments, st.sampled_from(sorted(CLASSES)), st.booleans(), st.integers(0, 999))
def test_all_words_of_a_call_are_still_there_unless_it_loses_them(
    name: str, args: dict[str, Any], damage: str, native: bool, seed: int
):
    reply = (
        ModelReply(calls=(RawCall(name, json.dumps(args)),))
        if native
        else ModelReply(json.dumps({"tool": {"name": name, "args": args}}))
    )
    made = damaged(reply, [damage], Random(seed), native=native)
    if made is None:
        return
    after = made[1].text + " ".join(f"{call.name} {call.arguments}" for call in made[1].calls)
    if damage in LOSES:
        assert len(after) < 200 + len(json.dumps(args))
        return
    said = [name, *(word for value in args.values() for word in ([value] if isinstance(value, str) else value))]
    assert all(word in after.lower() for word in said)


def test_spellings_keep_what_is_in_a_string():
    value: dict[str, Any] = {"a-b": 'it\'s "so"\nthere', "none": [None, True, {}, []]}
    assert Spelling().write(value) == json.dumps(value)
    assert Spelling("'", "'").write(value) == "{'a-b': 'it\\'s \"so\"\\nthere', 'none': [null, true, {}, []]}"
    assert Spelling(bare_keys=True).write(value).startswith('{"a-b": ')
    assert Spelling(raw_newlines=True).write({"a": "x\ny"}) == '{"a": "x\ny"}'
    assert Spelling(comments=True).write({"a": 1, "b": 2}) == '{"a": 1, // next\n"b": 2 /* done */ }'
    assert Spelling("“", "”").write({"a": 1}) == "{“a”: 1}"
    assert Spelling(trailing_commas=True).write([1]) == "[1,]"


def test_all_that_apply_are_as_likely():
    drawn = Counter(made[0] for seed in range(2000) if (made := damaged(OBJECT, CLASSES, Random(seed), native=False)))
    assert set(drawn) == set(CLASSES) - {"text_between_calls"}
    assert max(drawn.values()) < 2 * min(drawn.values())


def test_classes_are_named_as_they_are():
    assert checked(None) == tuple(CLASSES)
    assert checked(["empty", "prose", "empty"]) == ("empty", "prose")
    with pytest.raises(ConfigurationError, match="there is no class of damage 'salt': use some of prose, "):
        checked(["prose", "salt"])
    with pytest.raises(ConfigurationError, match="no class of damage was named"):
        checked([])
