"""What the proxy asks a model itself, where it is told to; without that, nothing is asked."""

from typing import Any

from micro_agent.proxy.engine import Options
from micro_agent.proxy.upstream import Answer, Forwarded, HttpUpstream, Unreachable
from micro_agent.testing import ModelServer, call, error, raw, text
from tests.each import each
from tests.proxy.conftest import CALL, Start, asking, told

THREE = ("add", {"a": 1, "b": 2})
GOOD = call("add", {"a": 1, "b": 2})


def test_a_required_call_that_did_not_come_is_asked_for_once(start: Start) -> None:
    named = {"type": "function", "function": {"name": "add"}}
    cases: list[tuple[Any, Any, Any]] = [
        ("required", text("It is three."), GOOD),
        ("required", text("It is three."), text(CALL)),
        (named, call("say", {"text": "Three."}), GOOD),
        (named, text("It is three."), GOOD),
    ]

    @each(["choice", "first", "second"], cases)
    def holds(choice: Any, first: Any, second: Any) -> None:
        with ModelServer([first, second, first, second, first]) as model:
            through = start(model.url, Options(ask_again=True))
            body = asking(tool_choice=choice)
            found = through.post(body)
            assert found.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "add"
            assert found.headers["x-micro-agent-repairs"].startswith("asked_again")
            said, asked = (chat.messages for chat in model.chats)
            assert asked[: len(said)] == said  # the prefix stays, so a server need not read it again
            assert asked[-1]["content"].startswith("Your reply calls no tool, and a call is required. Call")
            found = through.post(body | {"stream": True, "stream_options": {"include_usage": True}}).content
            assert told(found) == (first.text, [THREE], "tool_calls")
            without = start(model.url)
            assert "x-micro-agent-repairs" not in without.post(body).headers
            assert len(model.chats) == 5
        run = through.runs()[0]
        assert [one.repairs[0]["kind"] for one in run.calls if one.repairs] == ["asked_again"]
        assert len(run.calls) == 2

    holds()


def test_what_comes_of_a_question_to_no_avail(start: Start) -> None:
    none = raw({"object": "nothing"})
    wrong = call("say", {"text": "Three."})
    named = {"type": "function", "function": {"name": "add"}}

    @each("second", [text("It is three."), error(500, "no"), none, raw(b"{"), wrong])
    def holds(second: Any) -> None:
        with ModelServer([text("Three."), second]) as model:
            found = start(model.url, Options(ask_again=True)).post(asking(tool_choice=named))
            assert found.json()["choices"][0]["message"]["content"] == "Three."
            assert "x-micro-agent-repairs" not in found.headers
            assert len(model.chats) == 2

    holds()


def test_a_question_that_cannot_be_sent(start: Start) -> None:
    with ModelServer([text("Three.")]) as model:

        class Once(HttpUpstream):
            async def send(self, request: Forwarded) -> Answer:
                if model.chats:
                    raise Unreachable("gone")
                return await super().send(request)

        through = start("", Options(ask_after_prose=True), upstream=Once(model.url))
        assert through.post(asking()).json()["choices"][0]["message"]["content"] == "Three."
        assert through.count('failures_total{kind="upstream"}') == 1


def test_after_prose_it_is_asked_whether_a_call_was_meant(start: Start) -> None:
    options = Options(ask_after_prose=True, ask_again=True)
    with ModelServer([text("I will add these."), GOOD, text("Three."), text("done"), text("Hi.")]) as model:
        through = start(model.url, options)
        body = asking(stream=True)
        assert told(through.post(body).content) == ("I will add these.", [THREE], "tool_calls")
        assert model.messages(1)[-2:] == [
            {"role": "assistant", "content": "I will add these."},
            {"role": "user", "content": "Your reply calls no tool. If the task needs one, call it now. "
             "If it does not, reply with: done"},
        ]  # fmt: skip
        assert told(through.post(body).content) == ("Three.", [], "stop")
        assert told(through.post(body | {"tools": []}).content) == ("Hi.", [], "stop")
        assert len(model.chats) == 5


def turn(args: str, result: str) -> list[dict[str, Any]]:
    called = {"id": "c", "type": "function", "function": {"name": "add", "arguments": args}}
    asked = {"role": "assistant", "content": "", "tool_calls": [called]}
    return [asked, {"role": "tool", "tool_call_id": "c", "content": result}]


def test_a_model_is_told_that_it_repeats_itself(start: Start) -> None:
    user, same = [{"role": "user", "content": "Add."}], turn('{"a": 1}', "3")
    several = [{**same[0], "tool_calls": same[0]["tool_calls"] * 2}, same[1]]
    cases = [
        ([*user, *same * 3], "3 times"), ([*user, *same * 4], "4 times"), ([*user, *same * 2], None), (user, None),
        ([*user, *same * 2, *turn('{"a": 1}', "4")], None), ([*user, *several * 3], None), ([*same * 3, *user], None),
    ]  # fmt: skip
    with ModelServer([text("Three.")], repeat=True) as model:
        through = start(model.url, Options(tell_again=True))

        @each(["messages", "told"], cases)
        def holds(messages: Any, told: str | None) -> None:
            found = through.post(asking(messages=messages))
            sent = model.chats[-1].messages
            assert sent[: len(messages)] == messages
            assert (found.headers.get("x-micro-agent-repairs") == "told_again") is (told is not None)
            if told is not None:
                assert told in sent[-1]["content"]

        holds()
        assert len(model.chats) == len(cases)
        plain = start(model.url)
        plain.post(asking(messages=cases[0][0]))
        assert model.chats[-1].messages == cases[0][0]
        found = through.client.post("/v1/chat/completions", content=b"[]", headers={"content-type": "application/json"})
        assert "x-micro-agent-repairs" not in found.headers
