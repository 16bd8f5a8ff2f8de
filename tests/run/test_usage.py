"""What a run has used: sums, and what stays unknown."""

import pytest

from micro_agent.run import WARNING, LMCall, Step, Usage
from micro_agent.run.usage import NEVER_RAN, add_call, add_step


def test_calls_add_up() -> None:
    usage = Usage()
    add_call(usage, LMCall(reply={}, input_tokens=10, output_tokens=2, cost_usd=0.5, latency_s=1.0))
    add_call(usage, LMCall(reply={}, input_tokens=5, output_tokens=1, cost_usd=0.25, latency_s=0.5))
    assert usage == Usage(lm_calls=2, input_tokens=15, output_tokens=3, cost_usd=0.75, latency_s=1.5)


def test_a_total_with_one_unknown_part_is_unknown_for_good() -> None:
    usage = Usage()
    add_call(usage, LMCall(reply={}, input_tokens=None, output_tokens=2))
    add_call(usage, LMCall(reply={}, input_tokens=7, output_tokens=2, cost_usd=0.1))
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (None, 4, None)


def test_a_tool_that_ran_counts_with_its_time_whatever_came_of_it() -> None:
    usage = Usage()
    add_step(usage, Step(tool="search", call=0, latency_s=2.0))
    add_step(usage, Step(tool="search", call=0, latency_s=1.0, ok=False, error="TOOL_TIMEOUT"))
    add_step(usage, Step(tool="search", call=0, ok=False, error="INTERRUPTED"))
    assert usage == Usage(tool_calls=3, latency_s=3.0)


def test_bytes_are_those_of_replies_and_of_what_tools_returned() -> None:
    usage = Usage(recorded_bytes=0)
    add_call(usage, LMCall(reply={"text": "héé", "tool_calls": [{"name": "f", "arguments": {"n": 7}}]}))
    assert usage.recorded_bytes == len("texttool_callsnamefargumentsn") + len("héé".encode()) + 8
    add_step(usage, Step(tool="f", call=0, observation=("a\ud83d", None)))
    add_step(usage, Step(tool="f", call=0, observation="not run", ok=False, error="NOT_RUN"))
    assert usage.recorded_bytes == 42 + len("a\ud83d".encode(errors="surrogatepass")) + 8


@pytest.mark.parametrize(
    "step", [Step(tool=WARNING), *(Step(tool="search", ok=False, error=code) for code in sorted(NEVER_RAN))]
)
def test_what_did_not_run_counts_nothing(step: Step) -> None:
    usage = Usage()
    add_step(usage, step)
    assert usage == Usage()
