"""The tiny model on the command line: a real model, offline, with tools of its own where none are named."""

from typing import TYPE_CHECKING

import pytest

from micro_agent.testing import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

TINY = ("--provider", "tiny")
OWN = "micro_agent.models.tiny.toolset"
TOOLS = """
from micro_agent import tool

@tool(requires_confirmation=True)
def order(product: str, pieces: int) -> dict:
    \"""Order pieces of a product.\"""
    return {"ordered": pieces, "product": product}

TOOLS = [order]
"""


@pytest.mark.parametrize("mode", ["native", "json"])
def test_it_answers_with_its_own_tools(cli: "Cli", mode: str) -> None:
    done = cli("ask", *TINY, "--mode", mode, "What does the kettle cost?", env={"TEMPERATURE": "0"})
    assert (done.code, done.out) == (0, "The price of kettle is 28.\n")
    assert "a real but tiny model" in done.err
    run = cli.trace()
    assert [(step["tool"], step["args"]) for step in run["steps"]] == [("price", {"product": "kettle"})]
    assert (run["provider"], run["mode"], run["usage"]["cost_usd"]) == ("tiny", mode, None)
    assert run["usage"]["input_tokens"] > 100


def test_the_environment_names_it_too_and_streams(cli: "Cli") -> None:
    env = {"LLM_PROVIDER": "tiny", "TEMPERATURE": "0"}
    done = cli("ask", "--stream", "What does the kettle cost?", env=env)
    assert (done.code, done.out) == (0, "The price of kettle is 28.\n")


def test_a_question_of_no_kind_ends_with_an_answer(cli: "Cli") -> None:
    done = cli("ask", *TINY, "Explain gravity to me.", env={"TEMPERATURE": "0"})
    assert (done.code, done.out) == (0, "I do not know that. I am a tiny model and can only use my tools.\n")


def test_tools_that_are_named_go_before_its_own(cli: "Cli") -> None:
    (cli.directory / "own.py").write_text(TOOLS)
    done = cli("ask", *TINY, "--tools", "own.py", "Order 3 lamp", env={"TEMPERATURE": "0"})
    assert done.code == 4, done.err
    assert 'order {"product": "lamp", "pieces": 3}' in done.err
    assert "--tools own.py" in done.err
    run = cli.trace()["id"]
    assert cli("approve", run).code == 0
    assert cli("resume", run, "--tools", "own.py").out == "I ordered 3 lamp.\n"


def test_what_to_type_next_names_its_tools(cli: "Cli") -> None:
    done = cli("chat", *TINY, stdin="What does the kettle cost?\n", env={"TEMPERATURE": "0"})
    assert done.out == "The price of kettle is 28.\n"
    assert f"--tools {OWN}" in done.err


def test_an_eval_asks_it(cli: "Cli") -> None:
    (cli.directory / "tasks.yaml").write_text(
        "- {id: kettle, question: What does the kettle cost?, expect_number: 28}\n"
    )
    done = cli("eval", "run", *TINY, "--tasks", "tasks.yaml", "--json", env={"TEMPERATURE": "0"})
    assert done.code == 0, done.err
    assert done.record["success_rate"]["value"] == 1


def test_an_optimization_asks_it(cli: "Cli") -> None:
    done = cli("optimize", *TINY, "--n", "4", "--json")
    assert done.code in (0, 3), done.err
    assert done.record["held_out_tasks"]


def test_the_doctor_looks_at_it(cli: "Cli") -> None:
    done = cli("doctor", *TINY, "--json")
    assert done.code == 0, done.err
    found = {check["name"]: check for check in done.record["checks"]}
    assert found["provider"]["told"] == "tiny: it computes in this process"
    assert found["context"]["data"] == {"context_length": 4096}
    assert [found[name]["state"] for name in ("tools", "schema", "speed", "price")] == ["skip", "skip", "ok", "ok"]
    assert "order" in found["toolset"]["data"]["tools"]


def test_it_has_no_other_model_and_takes_no_ones_place(cli: "Cli") -> None:
    done = cli("ask", *TINY, "--model", "llama3.2:3b", "Hello!")
    assert (done.code, done.out) == (2, "")
    assert "the tiny provider has no model 'llama3.2:3b': leave --model out, or name errands-1m" in done.err
    with ModelServer([]) as server:
        done = cli(
            "ask", "--fallback", "--provider", "ollama", "--base-url", server.url, "--model", "none", "What is 2+3?"
        )
    assert cli.trace()["provider"] == "mock"
