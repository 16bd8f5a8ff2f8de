"""`micro-agent doctor` as a person and a program meet it."""

from typing import TYPE_CHECKING

from micro_agent.testing import ModelServer, call, text

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

SCRIPT = [call("say_word", {"word": "pineapple"}), text('{"word": "pineapple"}'), text("One, two, three.")]


def test_each_line_is_ok_or_says_what_to_do(cli: "Cli"):
    with ModelServer(SCRIPT) as server:
        done = cli("doctor", "--provider", "ollama", "--base-url", server.url)
    assert done.code == 0, done.err
    assert [line.split()[:2] for line in done.out.splitlines()] == [
        ["ok", name]
        for name in ("provider", "model", "context", "tools", "schema", "speed", "price", "toolset", "traces", "state")
    ]


def test_what_fails_makes_exit_1_and_json_says_the_same(cli: "Cli"):
    done = cli("doctor", "--provider", "ollama", "--base-url", "http://127.0.0.1:1", "--json")
    assert done.code == 1
    assert done.record["ok"] is False
    first = done.record["checks"][0]
    assert (first["name"], first["state"]) == ("provider", "fail")
    assert "ollama serve" in first["advice"]
