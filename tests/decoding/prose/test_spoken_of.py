"""Calls that a text speaks of are not made; prose alone does not make one of them out of a call."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ModelReply, ToolCall, ToolCalls, decode, decode_text
from micro_agent.tools import Tool

Tools = Sequence[Tool]
CALL = '{"name": "calculator", "arguments": {"expression": "1+1"}}'
OTHER = CALL.replace("1+1", "2+2")
FENCED = f"```json\n{CALL}\n```"
ADD_UP = [ToolCall("calculator", {"expression": "1+1"})]
BOTH = [*ADD_UP, ToolCall("calculator", {"expression": "2+2"})]


@pytest.mark.parametrize(
    "text",
    [
        "Let me add these: {} That gives us the sum.",
        "Sure, here is the call: {} Tell me if you need more.",
        "I can't add in my head, but there is a tool for it:\n{}",
        "I cannot run code but I will use {}",
        "I am sorry, I do not know that without a tool. {}",
        "No problem, this won't take long! {}",
        "I'm not sure, so let me check: {}",
        "The function call would be:\n{}",
        "To add them, I would call this function:\n\n{}\n\nIt returns the sum.",
        "{}\n\nPlease confirm that the sum is right.",
        "{}\n\nWould you like me to add anything else?",
        "{}\nThis call has not been executed yet, I wait for its result.",
        "Should I use a tool? Yes.\n{}",
        "Based on the format that you asked for:\n{}",
        "Never mind the details. {}",
        "It looks like we need the calculator.\n{}\nI will format the answer.",
    ],
)
def test_prose_around_a_call_does_not_keep_it_from_being_made(text: str, tools: Tools) -> None:
    for call in (CALL, FENCED, f"<tool_call>{CALL}</tool_call>"):
        decision = decode_text(text.replace("{}", call), tools)
        assert isinstance(decision, ToolCalls), decision
        assert decision.calls == ADD_UP


@pytest.mark.parametrize(
    "text",
    [
        "I won't add them. If you insisted, the call would be {}, but please confirm first.",
        "I will not run {} because the numbers are wrong.",
        "You should never send {} to a server.",
        "I ran {} yesterday and it worked.",
        "The previous call {} failed.",
        "What does {} mean?",
        "Do you want me to run {}?",
        "So, shall I call this?\n{}",
        "Once you confirm, I'll run:\n{}",
        "With your permission I'd send {}",
        "This is what I have in mind:\n{}\nShall I proceed?",
        "{}\nI need your approval before I go on.",
        "{}\n\nIs that okay?",
        "I'm not allowed to add. The call might be: {}",
        "If you ask what I made of it, I will never run {}",
        "Calls are JSON, for example:\n{}\nNothing was executed.",
        "Here is an example of a call:\n{}\nHere the `name` field is the tool.",
        "Like so:\n{}\nThis is only an example.",
    ],
)
def test_a_call_that_is_only_spoken_of_is_part_of_the_answer(text: str, tools: Tools) -> None:
    for call in (CALL, FENCED, f"<tool_call>{CALL}</tool_call>"):
        shown = text.replace("{}", call)
        assert decode_text(shown, tools) == Final(shown)
        cut = decode(ModelReply(text=shown, finish_reason="length"), tools)
        assert isinstance(cut, DecodeError)
        assert cut.reason == "cut_off"


@pytest.mark.parametrize(
    "text",
    [
        "I can suggest one of these:\n[{}, {other}]",
        "Choose one of the following:\n{}\n{other}",
        "The options are:\n<tool_call>{}</tool_call>\n<tool_call>{other}</tool_call>",
        "{}\n{other}\nWhich one do you want?",
        "First option: {}\nThen the second option: {other}",
        "First, either {} Then {other}",
        "First {} Then, once I have the result, {other}",
        "1. {}\n2. {other}",
    ],
)
def test_calls_to_choose_from_are_asked_about(text: str, tools: Tools) -> None:
    decision = decode_text(text.replace("{}", CALL).replace("{other}", OTHER), tools)
    assert isinstance(decision, DecodeError), decision
    assert decision.reason == "ambiguous"


@pytest.mark.parametrize(
    "text",
    [
        "First I add these:\n{}\nThen the others:\n{other}",
        "Step 1: the small ones\n```json\n{}\n```\nStep 2: the big ones\n```json\n{other}\n```",
        "I start with the small ones. {} Next, the big ones. {other}",
    ],
)
def test_calls_in_a_stated_order_are_all_made(text: str, tools: Tools) -> None:
    decision = decode_text(text.replace("{}", CALL).replace("{other}", OTHER), tools)
    assert isinstance(decision, ToolCalls), decision
    assert decision.calls == BOTH


def test_a_call_without_its_last_bracket_may_be_spoken_of_too(tools: Tools) -> None:
    assert isinstance(decode_text(f"I add: {CALL[:-1]}", tools), ToolCalls)
    text = f"I will not run {CALL[:-1]}"
    assert decode_text(text, tools) == Final(text)


def test_what_follows_an_imagined_result_is_not_made(tools: Tools) -> None:
    for rest in (OTHER, OTHER[:-10], OTHER.replace('"name"', "name: x")):
        decision = decode_text(f"{CALL}\nObservation: 2\n{rest}", tools)
        assert isinstance(decision, ToolCalls), decision
        assert decision.calls == ADD_UP


@pytest.mark.parametrize(
    "text",
    [
        "A client sends a body such as `{}`. The server adds the numbers up and returns them.",
        "The older model answered: `{}`. I think it was right.",
        "In the docs, agents often write `{}` and wait for the sum.",
        "You could send `{}` yourself; I have no access.",
        "Post it with `curl -s example.org/run -d '{}'` and wait.",
        "Run this:\n```bash\ncurl -X POST example.org --data '{}'\n```\nIt prints the sum.",
        "```python\nrequests.post(url, json={})\n```\nThis is how a program asks for it.",
        "The last step was {}. That would have been wrong, so I stopped.",
        "It wanted {}\nThis call was rightly refused.",
        "Somebody asked for {}. I did not run it.",
        "I am unable to run {} here.",
        "It is unsafe to execute {} on this machine.",
        "{}\nShall I run it on main.py?",
    ],
)
def test_a_call_of_somebody_else_or_a_refused_one_is_an_answer(text: str, tools: Tools) -> None:
    for call in (CALL, CALL.replace("calculator", "delete_all")):
        assert decode_text(text.replace("{}", call), tools) == Final(text.replace("{}", call))


@pytest.mark.parametrize(
    "text",
    [
        "I send `{}` to add them. It takes a moment.",
        "The user wants a sum: `{}`",
        "The model needs a sum, so I use `{}` now.",
        "The tool returns the sum:\n`{}`\nLet me look.",
        "For example, we can add these.\n\n`{}`",
        "The previous result was refused, so I try again: {} This will do.",
        "Here is the data:\n{}",
    ],
)
def test_inline_code_alone_does_not_keep_a_call_from_being_made(text: str, tools: Tools) -> None:
    found = decode_text(text.replace("{}", CALL), tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == ADD_UP


def test_an_unknown_call_in_a_reply_that_was_cut_off_is_no_answer(tools: Tools) -> None:
    text = 'I will not run {"name": "delete_all", "arguments": {}} because'
    found = decode(ModelReply(text=text, finish_reason="length"), tools)
    assert isinstance(found, DecodeError)


@pytest.mark.parametrize(
    "text",
    [
        'For example, if you said "add them", I would answer with {}. What shall I do?',
        "If you asked for a sum, I'd call {} and tell you.",
        "I can add numbers: {}".replace("{}", CALL.replace("1+1", "...")),
        f"I can add: <tool_call>{CALL.replace('1+1', '...')}</tool_call>",
    ],
)
def test_what_the_model_would_say_to_something_else_is_an_answer(text: str, tools: Tools) -> None:
    said = text.replace("{}", CALL)
    assert decode_text(said, tools) == Final(said)


def test_what_the_model_would_do_now_is_a_call(tools: Tools) -> None:
    for text in ("To answer this I would call {}", "If you want the sum, I would use {}", "For example:\n{}"):
        found = decode_text(text.replace("{}", CALL), tools)
        assert isinstance(found, ToolCalls)
        assert found.calls == ADD_UP
