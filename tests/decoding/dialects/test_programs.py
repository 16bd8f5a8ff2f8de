"""Programs that call tools where one call is wanted: an error. Code that is shown to a user: the answer."""

from collections.abc import Callable, Sequence

import pytest

from micro_agent.decoding import DecodeError, decode_text
from micro_agent.tools import Tool

Read = Callable[..., object]
LINKED = 'found = search_code(pattern="x")\nadd(values=found["numbers"])'
PRINTED = 'sum = calculator(expression="1+1")\nprint(f"It is {sum}")'


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


@pytest.mark.parametrize(
    "code",
    [
        LINKED,
        f"{LINKED}\nprint(done)",
        'found = search_code(pattern="x")\n# then\nprint("so")\nadd(values=found["numbers"])',
        'found = search_code("x")["numbers"]\nadd(found)',
        'found: list = search_code(pattern="x")\nadd(values=found)',
        'text: str = "x"\nprint(search_code(pattern=text))',
        "def main():\n    found = search_code(pattern='x')\n    return add(values=found)\n\nmain()",
        "import asyncio\nasync def main():\n    print(await search_code(pattern='x'))\nasyncio.run(main())",
        "if True:\n    print(search_code(pattern='x'))",
        "if __name__ == '__main__':\n    search_code(pattern='x')",
        "try:\n    search_code(pattern='x')\nexcept Exception as why:\n    print(why)",
        "for one in ['x', 'y']:\n    print(search_code(pattern=one, max_results=-1))",
        "text = 'x'\nprint(search_code(pattern=text))",
        "from tools import search_code\nfound = tools.search_code(pattern='x')\njson.dumps(add(values=found['a']))",
        'found = search_code(pattern=\'Write {"name": "now", "arguments": {}}\')\nadd(values=found["n"])',
    ],
)
def test_a_program_is_asked_about_and_no_part_of_it_is_run(code: str, read: Read) -> None:
    for text in (code, fenced(code), f"I will do it for you step by step:\n{fenced(code)}\nThis does it."):
        assert read(text) == "malformed"
    assert read(fenced(code), "length") == "cut_off"


def test_what_prints_a_result_is_a_program_in_a_fence_and_a_call_with_text_behind_it_elsewhere(read: Read) -> None:
    for code in (PRINTED, PRINTED.replace('f"It is {sum}"', "sum[0]")):
        assert read(fenced(code)) == "malformed"
        assert read(code) == [("calculator", {"expression": "1+1"})]


def test_where_the_tools_are_not_known_nothing_is_a_program(read: Read) -> None:
    assert read(fenced(LINKED), tools=None) == (fenced(LINKED),)


def test_the_error_says_what_is_wrong_and_shows_the_tool(tools: Sequence[Tool]) -> None:
    decision = decode_text(fenced(LINKED), tools)
    assert isinstance(decision, DecodeError)
    assert decision.seen == "A program that calls 'search_code', and no tool call."
    assert "search_code" in decision.expected


@pytest.mark.parametrize(
    "text",
    [
        f"Let me look first:\n{LINKED}\n\nNow the sum is known.",
        f"Sure! Here is the plan:\n{fenced(LINKED)}",
        f"{fenced('ls')}\nI will run Python:\n{fenced(LINKED)}",
        f"I will write a script:\n{fenced(LINKED)}",
    ],
)
def test_words_that_announce_it_make_it_no_answer(text: str, read: Read) -> None:
    assert read(text) == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        f"You can call them like this:\n{fenced(LINKED)}",
        f"Usage:\n{fenced(LINKED)}",
        f"Here is a script that adds:\n{fenced(LINKED)}",
        f"I'll write a script for you:\n{fenced(LINKED)}",
        f"To add in your app:\n{fenced(LINKED)}",
        f"So rechnet man:\n{fenced(LINKED)}",
        f"Here is the code I ran:\n{fenced(LINKED)}\nThe sum is 2.",
        f"{fenced(LINKED)}\nThis code looks first.",
        f"This is how the tools are declared:\n{fenced(LINKED)}",
        f"```js\n{LINKED}\n```",
        f"Keep it:\n```\nnote\n{fenced(LINKED)}",
    ],
)
def test_code_with_words_that_show_it_is_the_answer(text: str, read: Read) -> None:
    assert read(text) == (text,)


@pytest.mark.parametrize(
    "code",
    [
        "search_code(pattern)",
        "found = search_code(pattern=text)\nprint(found)",
        "found = search_code(pattern=...)\nprint(found[0])",
        "found = search_code(pattern='<text>')\nprint(found[0])",
        "found = search_code(file='x')\nprint(found[0])",
        "now()\nfound = search_code(pattern='x')\nprint(found[0])",
        "def search_code(pattern):\n    return 1\nprint(search_code(pattern='x')[0])",
        "def test_it():\n    found = search_code(pattern='x')\n    print(found)",
        "def report(text):\n    return search_code(pattern=text)",
        "@app.get('/')\ndef index():\n    return search_code(pattern='x')",
        "found = search_code(pattern='x')\nassert found[0] == 1",
        "import requests\nfound = search_code(pattern='x')\nprint(found[0])",
        "from code_search import search_code\nfound = search_code(pattern='x')\nprint(found[0])",
        "found = client.search_code(pattern='x')\nprint(found[0])",
        "found = load()(search_code(pattern='x'))\nprint(found[0])",
        "text = input()\nprint(search_code(pattern='x')[0])",
        "found = search_code(pattern='x)\nprint(found[0])",
        "found = search_code(pattern='x')\nthen print found",
        "found = search_code(pattern='x')\nprint(" + "(" * 20 + "found" + ")" * 20 + ")",
        "found = search_code(pattern='x')\nsomething_else(1)",
        "if done:\n    search_code(pattern='x')",
        "if now() > 5:\n    search_code(pattern='x')",
        "a.b = search_code(pattern='x')\nprint(1 + 1)",
    ],
)
def test_code_that_a_user_may_have_asked_for_is_the_answer(code: str, read: Read) -> None:
    assert read(fenced(code)) == (fenced(code),)


def test_a_json_call_beside_a_program_is_read(read: Read) -> None:
    assert read(f"I will look:\n{fenced(LINKED)}\n$CALL") == [("calculator", {"expression": "1+1"})]


def test_a_long_text_is_no_program(read: Read) -> None:
    text = fenced(LINKED + "\n# more" * 4000)
    assert read(text) == (text,)


def test_a_call_alone_is_still_a_call(read: Read) -> None:
    assert read(fenced("found = search_code(pattern='x')\nprint(found)")) == [("search_code", {"pattern": "x"})]
    assert read("Next:\n    search_code(pattern='x')") == [("search_code", {"pattern": "x"})]
