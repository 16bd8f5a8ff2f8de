"""What is read without the readers is read by them in the same way."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from micro_agent.decoding import ModelReply, RawCall
from micro_agent.decoding.clean import clean
from micro_agent.decoding.native import read_calls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.text import read_text
from micro_agent.tools import Tool
from tests.decoding.conftest import TOOLS
from tests.warm import Warm

OUTPUTS = Path(__file__).parent / "outputs"
WORDS = (
    "calculator", "now", "search_code", "Action", "Final Answer", "tool", "call", "null", "answer", "I", "will", "use",
    "the", "think", "assistant", "user", "python", "to", "functions", "json", "2", "3.5", "-5", "--city",
    "it's",
    "commentary", "analysis", "analysisI", "assistantfinal", "assistantcommentary", "25%",
    "€", ",", ".", "!", "?", ";", "…", "Ärger", "得", "_", "__",
)  # fmt: skip


def said(words: list[str], gap: str, end: str) -> str:
    return gap.join(words) + end


SENTENCE = st.builds(
    said,
    st.lists(st.sampled_from(WORDS) | st.text(max_size=3), min_size=1, max_size=8),
    st.sampled_from([" ", "  ", "", "-"]),
    st.sampled_from([".", "!", "?", "", " "]),
)
VALUE = st.sampled_from([1, -1, "", "x", '{"a": 1}', "</b>", [], [1], {}, {"value": 1}, None, True])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["expression", "timezone", "arguments", "values", "pattern", "name", "x"]), VALUE, max_size=3
)
CALL = st.builds(
    RawCall,
    st.sampled_from([tool.name for tool in TOOLS] + ["Now", "functions.now", ""]),
    ARGUMENTS | ARGUMENTS.map(json.dumps) | st.sampled_from(["", "{", None, '{"a": 1, "a": 2}', '{"a": NaN}', "[]"]),
    st.sampled_from([None, "", "a", "b"]),
)


def recorded() -> list[str]:
    files = sorted(OUTPUTS.glob("*.jsonl"))
    return [json.loads(line)["text"] for file in files for line in file.read_text("utf-8").splitlines()]


@settings(max_examples=120)
@given(text=SENTENCE, offered=st.sampled_from([TOOLS, (), None]), finish=st.sampled_from([None, "stop", "length"]))
@example(text="get_weather --city Rome.", offered=TOOLS, finish=None)
@example(text="calculator --expression 2.", offered=TOOLS, finish="stop")
def test_words_are_the_answer_that_the_readers_take_them_for(
    text: str, offered: Sequence[Tool] | None, finish: str | None
) -> None:
    found = clean(ModelReply(text=text, finish_reason=finish), Offer(offered))
    assert found is None or found == read_text(text, finish, Offer(offered))


def test_recorded_texts_are_read_alike() -> None:
    texts = recorded()
    found = [(text, clean(ModelReply(text=text), Offer(TOOLS))) for text in texts]
    assert all(one is None or one == read_text(text, None, Offer(TOOLS)) for text, one in found)
    assert any(one is not None for _, one in found)


@settings(max_examples=120)
@given(calls=st.lists(CALL, min_size=1, max_size=3), finish=st.sampled_from([None, "tool_calls", "length"]))
def test_native_calls_are_those_that_the_reader_finds(calls: list[RawCall], finish: str | None) -> None:
    reply = ModelReply(calls=tuple(calls), finish_reason=finish)
    found = clean(reply, Offer(TOOLS, native=True))
    assert found is None or found == read_calls(reply, Offer(TOOLS, native=True))


@pytest.mark.parametrize(
    "reply",
    [
        {"text": "It is 16."},
        {"calls": ({"name": "now", "arguments": '{"timezone": "utc"}', "id": "a"},)},
    ],
    ids=["words", "call"],
)
def test_the_readers_are_not_loaded_for_what_has_no_defect(reply: dict[str, Any], warm: Warm) -> None:
    code = """if True:
        import sys, json
        from micro_agent.decoding import ModelReply, RawCall, decode
        from micro_agent.tools import load_tools
        said = json.loads(sys.argv[1])
        calls = tuple(RawCall(**call) for call in said.pop("calls", ()))
        found = decode(ModelReply(calls=calls, **said), [load_tools()["now"]])
        print(type(found).__name__, "micro_agent.decoding.text" in sys.modules)
    """
    told = warm.run("-c", code, json.dumps(reply), fresh=True)
    assert told.stdout.split() in (["Final", "False"], ["ToolCalls", "False"])
