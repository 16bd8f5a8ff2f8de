"""CPU that the coach of the coding agent takes per step: gates, warnings, corrections and the detailed line of state.

A run of 25 steps is built step by step as the loop builds it, with results of 2 KB. Beside each step stands what the
loop asks the coach: the line, the rules before a request, after a tool and before a finish, and at the end the status.
Each figure is the least of the rounds.
"""

import argparse
from time import process_time
from typing import Any

from micro_agent.coding.coach import CoachSettings, GateMode, coding_coach
from micro_agent.rules import AfterStep, BeforeFinish, BeforePlan
from micro_agent.rules.coach import Coach
from micro_agent.rules.verdict import verdicts_of
from micro_agent.run import Run, Step

STEPS = 25
SIZE = 2_000
TOOLS = frozenset({"rg_search", "read_file", "edit_file", "run_tests"})
TASK = "Fix `parse_date` in dates.py: it takes the day for the month. " * 4


def steps() -> list[Step]:
    """Searches, reads, edits and tests that fail, in turns."""
    text = "x" * (SIZE - 200)
    kinds: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("list_files", {}, {"files": ["dates.py"], "more": text}),
        ("rg_search", {"pattern": "parse_date"}, {"matches": [{"path": "dates.py", "line": 1, "text": text}]}),
        ("read_file", {"path": "dates.py"}, {"path": "dates.py", "lines": [text]}),
        ("edit_file", {"path": "dates.py"}, {"ok": True, "path": "dates.py"}),
        ("run_tests", {}, {"ok": False, "exit": 1, "passed": 3, "failed": 1, "stdout_tail": text,
                           "failures": [{"test": "t", "assertion": "1 == 2", "place": "tests/t.py:3"}]}),
    ]  # fmt: skip
    return [Step(tool=tool, args=args, observation=seen) for tool, args, seen in kinds * (STEPS // len(kinds))]


def spent(coach: Coach, parts: list[Step]) -> tuple[float, int]:
    """Seconds for one run, and how many words were said in it."""
    run, said = Run(question=TASK, limits={"max_steps": STEPS}), 0
    begun = process_time()
    for step in parts:
        run.steps.append(step)
        step.state = coach.state(run)
        for event in (AfterStep(step), BeforePlan(), BeforePlan(), BeforeFinish("Done.", TOOLS)):
            said += len(verdicts_of(coach.rules, run, event))
    coach.status(run)
    return process_time() - begun, said


def main() -> None:
    """Print microseconds a step by the mode of the gates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds, parts = parser.parse_args().rounds, steps()
    modes: tuple[GateMode, ...] = ("off", "warn", "block")
    for mode in modes:
        coach = coding_coach(CoachSettings(gates=mode, state="detailed", corrections=100))
        least, said = min(spent(coach, parts) for _ in range(rounds))
        print(f"gates {mode:6} {least / STEPS * 1e6:8.1f} µs CPU a step over {STEPS} steps, {said} verdicts")


if __name__ == "__main__":
    main()
