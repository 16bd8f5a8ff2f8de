"""The doubles answer the question whether a call inside a text shall be made by its structure."""

from micro_agent import MicroAgent, configure_lm, tool
from micro_agent.run import MAKE_ASKED
from micro_agent.testing import FaultyLM, Received, Reply, ScriptedLM, text

INSIDE = text('I note it: {"name": "note", "arguments": {"words": "milk"}} All right?')


@tool
def calculator(expression: str) -> int:
    """Compute, and charge for it."""
    return 6


@tool
def note(words: str) -> str:
    """Write words down."""
    return f"noted {words}"


def test_the_mock_says_yes() -> None:
    lm = FaultyLM(configure_lm("mock"), rate=1, classes=["prose"])
    run = MicroAgent([calculator], lm, "json", demos=[]).ask("What is 2*3?")
    assert [step.tool for step in run.steps] == [MAKE_ASKED, "calculator"]
    assert (run.answer, run.steps[0].args["make"]) == ("The answer is 6.", True)


def test_a_list_says_yes_unless_its_next_reply_says_otherwise() -> None:
    for script, made in (([INSIDE, text("So.")], ["note"]), ([INSIDE, text('{"make":false}')], [])):
        run = MicroAgent([note], ScriptedLM(script), rules=[], demos=[]).ask("?")
        assert [step.tool for step in run.steps] == [MAKE_ASKED, *made]


def test_a_function_sees_what_is_asked() -> None:
    seen: list[tuple[bool, bool, str | None]] = []

    def script(request: Received) -> Reply:
        seen.append((request.asks_if_final, request.asks_to_make, request.yes))
        return text(request.yes) if request.yes else INSIDE if len(seen) == 1 else text("So.")

    MicroAgent([note], ScriptedLM(script), rules=[], demos=[], finish="ask").ask("?")
    assert seen == [
        (False, False, None),
        (False, True, '{"make": true}'),
        (False, False, None),
        (True, False, '{"done": true}'),
    ]
    nothing = Received("/", "GET", {}, None, b"")
    assert (nothing.asks_if_final, nothing.asks_to_make, nothing.yes) == (False, False, None)
