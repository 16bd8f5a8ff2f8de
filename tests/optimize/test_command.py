"""`micro-agent optimize`, as a user meets it; one that is killed goes on where it was."""

import json
import os
import re
import signal
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import pytest
from typer.testing import CliRunner

from micro_agent.cli import app
from micro_agent.errors import ConfigurationError, DemosError
from micro_agent.evaluation.results import read_results
from micro_agent.testing import ModelServer, Received, Reply
from tests.warm import Warm

pytestmark = pytest.mark.usefixtures("prose_is_final")

OPTIONS = ["optimize", "--tasks", "tasks.yaml", "--n", "16", "--concurrency", "1"]


def asked_of(server: ModelServer, *more: str) -> list[str]:
    return [*OPTIONS, "--provider", "openai", "--model", "scripted", "--base-url", server.openai_url, *more]


def invoke(*args: str) -> Any:
    """The command inside this process: exit code, stdout, stderr."""
    return CliRunner().invoke(app, args)


def test_demos_are_saved_where_every_later_question_finds_them(shop: Any) -> None:
    server = shop.server(shop.helped)
    done = invoke(*asked_of(server))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0] == "a: the agent as it is today; b: with what training made"
    assert "success_rate b: 1.000" in done.stdout
    assert "Saved: better than today, +50.0 points on 8 held-out tasks" in done.stdout
    assert re.search(r"^Training: \d runs, at most 8  \d+ model calls  cost unknown$", done.stderr, re.MULTILINE)
    assert "Held-out tasks, compiled:" in done.stderr
    assert done.stderr.splitlines()[-1] == "Demos: opt/plan_demos.json"
    asked = ["ask", "alpha of 30 and 31", "--provider", "openai", "--base-url", server.openai_url, "--model"]
    ask = invoke(*asked, "scripted")
    assert (ask.stdout, ask.stderr.count("is not used")) == ("It is 61.\n", 0)
    assert shop.seen(server.chats[-1]).shown == {"alpha", "beta"}


def test_another_model_goes_without_them_and_says_so_unless_they_are_forced(shop: Any) -> None:
    server = shop.server(shop.helped)
    assert invoke(*asked_of(server)).exit_code == 0
    asked = ["ask", "alpha of 30 and 31", "--provider", "openai", "--base-url", server.openai_url, "--model", "other"]
    without = invoke(*asked)
    assert without.stdout == "It is 0.\n"
    assert shop.seen(server.chats[-1]).shown == set()
    assert (
        "micro-agent: warning: opt/plan_demos.json is not used: it was made for openai/scripted in native mode, and "
        'openai/other in native mode is asked; --demos opt/plan_demos.json (demos="opt/plan_demos.json") uses it all '
        "the same\n"
    ) in without.stderr
    forced = invoke(*asked, "--demos", "opt/plan_demos.json")
    assert (forced.stdout, "is not used" in forced.stderr) == ("It is 61.\n", False)
    assert shop.seen(server.chats[-1]).shown == {"alpha", "beta"}


def test_an_eval_shows_the_demos_that_it_was_begun_with(shop: Any) -> None:
    server = shop.server(shop.helped)
    assert invoke(*asked_of(server)).exit_code == 0
    Path("one.yaml").write_text("- {id: alpha-30, question: alpha of 30 and 31, expect_number: 61}\n")
    model = ["--provider", "openai", "--base-url", server.openai_url, "--model", "other", "--out", "r.jsonl"]
    done = invoke("eval", "run", "--tasks", "one.yaml", *model, "--demos", "opt/plan_demos.json", "--json")
    assert json.loads(done.stdout)["success_rate"]["value"] == 1, done.stderr
    assert read_results("r.jsonl")[0].settings["demos"] == "opt/plan_demos.json"
    again = invoke("eval", "run", "--resume", "r.jsonl")
    assert again.exit_code == 0, again.stderr
    other = invoke("eval", "run", "--resume", "r.jsonl", "--demos", "none.json")
    assert "--demos is not what r.jsonl was begun with" in str(other.exception)


def test_it_begins_with_the_demos_of_another_model_if_that_is_asked_for(shop: Any) -> None:
    server = shop.server(shop.helped)
    assert invoke(*asked_of(server)).exit_code == 0
    shop.demos.rename(shop.folder / "other.json")
    other = ["--model", "other", "--save", "new.json"]
    forced = invoke(*asked_of(server, *other, "--demos", "other.json"))
    assert "success_rate a: 1.000" in forced.stdout
    (shop.folder / "other.json").rename(shop.demos)
    found = invoke(*asked_of(server, *other))
    assert "success_rate a: 0.500" in found.stdout
    missing = invoke(*asked_of(server, "--demos", "none.json"))
    assert isinstance(missing.exception, DemosError)


def test_demos_that_harm_leave_with_3(shop: Any) -> None:
    server = shop.server(shop.harmed)
    done = invoke(*asked_of(server, "--json"))
    report = json.loads(done.stdout)
    assert (done.exit_code, report["saved"]) == (3, None)
    assert report["why"].startswith("not saved: worse than today")
    assert report["compiled"]["rate"] == 0
    forced = invoke(*asked_of(server, "--resume", "--force", "--save", "opt/plan_demos.json"))
    assert forced.exit_code == 0
    assert shop.demos.exists()


def test_nothing_new_leaves_with_3_and_no_figures(shop: Any) -> None:
    done = invoke(*asked_of(shop.server(shop.hopeless)))
    assert (done.exit_code, done.stdout) == (
        3, "Not saved: training made nothing that differs from what the agent has today.\n",
    )  # fmt: skip


def test_demos_saved_elsewhere_come_with_the_setting_that_uses_them(shop: Any) -> None:
    done = invoke(*asked_of(shop.server(shop.helped), "--save", "mine.json", "--use-tool-calls"))
    assert done.stderr.splitlines()[-1] == "Demos: mine.json (used with COMPILED_DEMOS_PATH=mine.json)"
    assert json.loads(Path("mine.json").read_text())["evidence"]["mode"] == "native"


def test_another_model_writes_the_instructions(shop: Any) -> None:
    server = shop.server(shop.reflecting("Be excellent."))
    gepa = ("--optimizer", "gepa", "--max-metric-calls", "20", "--reflection-model", "writer", "--mode", "json")
    done = invoke(*asked_of(server, *gepa))
    assert done.exit_code == 0, done.stderr
    written = [request for request in server.chats if "new_instruction" in str(request.messages)]
    assert {(request.body or {})["model"] for request in written} == {"writer"}
    assert {(request.body or {})["model"] for request in server.chats if request not in written} == {"scripted"}


def test_no_other_provider_steps_in(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OLLAMA_HOST", shop.server(shop.helped).url)
    done = invoke(*OPTIONS, "--provider", "openai")
    assert isinstance(done.exception, ConfigurationError)
    assert not Path("opt").exists()


def test_killed_and_resumed_it_asks_for_no_more_than_was_lost(shop: Any, warm: Warm) -> None:
    whole = shop.server(shop.helped)
    assert invoke(*asked_of(whole, "--save", "whole/demos.json")).exit_code == 0
    kills = {5: signal.SIGKILL, 20: signal.SIGKILL}
    lost: list[int] = []

    def play(request: Received) -> Reply:
        number = len(server.chats)
        if number in kills:
            lost.append(1 if shop.seen(request).observed is None else 2)
            os.kill(process.pid, kills[number])
        return shop.helped(request)

    server = shop.server(play)
    for more in ([], ["--resume"]):
        process = warm.start("-m", "micro_agent", *asked_of(server, *more), stdout=DEVNULL, stderr=DEVNULL)
        assert process.wait(60) == -signal.SIGKILL
    done = invoke(*asked_of(server, "--resume"))
    assert done.exit_code == 0, done.stderr
    assert len(server.chats) == len(whole.chats) + sum(lost)
    killed, straight = (json.loads(Path(folder).read_text()) for folder in ("opt/plan_demos.json", "whole/demos.json"))
    assert [demo["question"] for demo in killed["demos"]] == [demo["question"] for demo in straight["demos"]]
    assert killed["evidence"]["spent"] == straight["evidence"]["spent"]
    assert killed["evidence"]["gained"] == straight["evidence"]["gained"]


def test_a_signal_ends_it_with_its_number(shop: Any) -> None:
    signals = {3: signal.SIGINT, 20: signal.SIGTERM}

    def play(request: Received) -> Reply:
        if len(server.chats) in signals:
            os.kill(os.getpid(), signals[len(server.chats)])
        return shop.helped(request)

    server = shop.server(play)
    for more, code in (((), 130), (("--resume",), 143)):
        done = invoke(*asked_of(server, *more))
        assert done.exit_code == code, done.stderr
        assert done.stderr.splitlines()[-1] == "Interrupted; what is done is kept, --resume goes on."
    assert invoke(*asked_of(server, "--resume")).exit_code == 0


def test_what_ends_it_early_is_an_error(shop: Any) -> None:
    done = invoke(*asked_of(shop.server(shop.helped), "--limit-cost", "1"))
    assert "OPENAI_INPUT_PRICE_PER_1K" in str(done.exception)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
