"""Calls that a person has to confirm, in a conversation: the question, and what counts as a word on it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.server.openai.questions import decision_in
from micro_agent.storage.journal import Journal
from micro_agent.testing import call, text
from micro_agent.traces import TraceStore
from tests.each import each
from tests.server.openai.conftest import OTHER_PNG, PNG, TIDY, Client, Error, says
from tests.server.test_asking import Turnstile, soon

if TYPE_CHECKING:
    from tests.server.conftest import Start

TWICE = [call("delete", {"path": "a"}), call("delete", {"path": "b"}), text("Done.")]


@each(
    ("said", "meant"),
    [
        ("approve", ("approve", None)), (" Approve.\n", ("approve", None)), ("APPROVE!", ("approve", None)),
        ("reject", ("reject", None)), ("Reject.", ("reject", None)), ("reject:", ("reject", None)),
        ("reject: keep it\nfor now", ("reject", "keep it\nfor now")), ("Reject:no", ("reject", "no")),
        ("approve: yes", None), ("I approve", None), ("approved", None), ("rejected", None), ("do not approve", None),
        ("approve everything", None), ("", None), ("yes", None),
    ],
)  # fmt: skip
def test_a_word_on_a_question(said: str, meant: Any) -> None:
    assert decision_in(said) == meant


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_with_the_question_and_the_next_turn_decides(start: "Start", stream: bool) -> None:
    client = Client(start(TWICE))

    def said(*messages: Any) -> tuple[str, Any]:
        if not stream:
            done = client.chat(*messages)
            return done.choices[0].message.content, done
        chunks = list(client.chat(*messages, stream=True, stream_options={"include_usage": True}))
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]), chunks[-1]

    question, _ = said("Tidy up.")
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    lines = question.splitlines()
    assert lines[2:4] == ["```text", 'delete {"path": "a"}']
    assert lines[-1] == f"Run {asked['run_id']}, question {asked['sha256']}."
    second, done = said("Tidy up.", says("assistant", question), "approve")
    assert (client.serving.deleted, 'delete {"path": "b"}' in second) == (["a"], True)
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (10, 5), "of this turn alone"
    turns = ["Tidy up.", says("assistant", question), "approve", says("assistant", f"{second} \n")]
    third, _ = said(*turns, "reject: keep b")
    run = client.serving.store.load(asked["run_id"])
    assert (third, client.serving.deleted, run.status) == ("Done.", ["a"], "completed")
    assert run.steps[-1].observation["feedback"] == "keep b"


def test_only_the_steps_of_a_turn_are_told_with_it(start: "Start") -> None:
    client = Client(start([*TWICE, *TWICE]))
    first = client.chat("Tidy up.").choices[0].message.content
    second = client.chat("Tidy up.", says("assistant", first), "approve").choices[0].message
    third = client.chat("Tidy up.", says("assistant", second.content), "approve").choices[0].message
    assert second.reasoning_content == 'delete {"path": "a"} -> deleted\n'
    assert third.reasoning_content == 'delete {"path": "b"} -> deleted\n'


def test_a_run_that_is_done_is_followed(start: "Start") -> None:
    client = Client(start([*TIDY, text("Nothing."), text("Still nothing.")]))
    question = client.says("Tidy up.")
    turns = ["Tidy up.", says("assistant", question), "approve"]
    done = client.chat(*turns)
    after = client.chat(*turns, says("assistant", "It is gone."), "What is left?")
    store = client.serving.store
    assert store.load(after.micro_agent["trace_id"]).follows == done.micro_agent["trace_id"]
    other = client.chat(*turns[:2], "What is left?")
    assert store.load(other.micro_agent["trace_id"]).follows == done.micro_agent["trace_id"]


def test_anything_else_decides_nothing_and_the_question_stands(start: "Start") -> None:
    client = Client(start(TIDY))
    question = client.says("Tidy up.")
    for turns in (["Tidy up.", says("assistant", question), "Why?"], ["Tidy up.", says("assistant", question), "yes"]):
        assert client.says(*turns) == question
    assert client.says("Tidy up.", says("assistant", question), "Why?", stream=False) == question
    *_, last = client.chat("Tidy up.", says("assistant", question), "Why?", stream=True)
    assert last.micro_agent["status"] == "confirmation_required"
    cut = says("assistant", question[question.index("Reply") :])  # not all of it was shown
    assert client.says("Tidy up.", cut, "approve") == question
    other = says("assistant", question.replace("old.txt", "new.txt"))
    assert client.says("Tidy up.", other, "approve") == question
    assert client.serving.deleted == []
    evened = says("assistant", " ".join(question.split()))  # a front end may take blanks for blanks
    assert client.says("Tidy up.", evened, "approve") == "It is gone."


def test_another_question_than_the_one_that_was_shown_is_shown_first(start: "Start") -> None:
    client = Client(start(TWICE))
    first = client.says("Tidy up.")
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    client.serving.client.post(f"/runs/{asked['run_id']}/confirm", json={"decision": "approve"})
    second = client.says("Tidy up.", says("assistant", first), "approve")
    assert (client.serving.deleted, 'delete {"path": "b"}' in second) == (["a"], True)


def test_what_the_page_decided_is_decided(start: "Start") -> None:
    client = Client(start(TIDY))
    question = client.says("Tidy up.")
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    client.serving.client.post(f"/runs/{asked['run_id']}/confirm", json={"decision": "approve"})
    turns = ["Tidy up.", says("assistant", question), "approve"]
    assert client.says(*turns) == "It is gone."
    assert client.streamed(*turns) == "It is gone."
    assert client.serving.deleted == ["old.txt"]
    client.serving.store.path(asked["run_id"]).unlink()
    again = start([text("What?")])
    assert Client(again).says(*turns) == "What?", "nobody knows of that run: it is a message as any other"


def test_a_model_that_repeats_a_question_has_not_asked_it(start: "Start") -> None:
    client = Client(start([*TIDY, text("What do you mean?")]))
    question = client.says("Tidy up.")
    done = client.chat("Tidy up.", says("assistant", question), "approve")
    assert done.choices[0].message.content == "It is gone."
    repeated = says("assistant", f"I asked. {question.splitlines()[-1]}")
    assert client.says("Hi!", repeated, "approve") == "What do you mean?"


def test_a_secret_in_a_question_is_masked_and_the_word_counts(start: "Start", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    client = Client(start([call("delete", {"path": "sk-0123456789abcdef"}), text("Done.")]))
    question = client.says("Tidy up.")
    assert 'delete {"path": "[env:SOME_API_KEY]"}' in question
    turns = ["Tidy up.", says("assistant", question), "approve"]
    assert [client.says(*turns), client.says(*turns)] == ["Done.", "Done."]
    assert client.serving.deleted == ["sk-0123456789abcdef"]


def test_a_run_that_goes_on_elsewhere_is_waited_for_and_not_ended(start: "Start") -> None:
    turnstile = Turnstile()
    client = Client(start([*TIDY[:1], call("turn", {}), TIDY[1]], tools=[turnstile.turn]))
    question = client.says("Tidy up.")
    turns = ["Tidy up.", says("assistant", question)]
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    with ThreadPoolExecutor(1) as elsewhere, ExitStack() as ends:
        ends.callback(turnstile.give)  # whatever fails, no thread waits for ever
        path, decision = f"/runs/{asked['run_id']}/confirm", {"decision": "approve"}
        decided = elsewhere.submit(lambda: client.serving.client.post(path, json=decision))
        soon(lambda: client.serving.client.get(f"/runs/{asked['run_id']}").json()["status"] == "running")
        with pytest.raises(Error, match="has not ended yet"):
            client.chat(*turns, "And now?")
        stream = client.chat(*turns, "approve", stream=True)
        next(stream)
        stream.close()  # it is not the run of this client
        stream = client.chat(*turns, "approve", stream=True)
        next(stream)
        turnstile.give()
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "It is gone."
        assert decided.result().json()["answer"] == "It is gone."


def test_a_run_that_another_process_keeps_is_not_waited_for(start: "Start", store: TraceStore) -> None:
    client = Client(start(TIDY))
    question = client.says("Tidy up.")
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    held = store.resume(asked["run_id"])
    try:
        with pytest.raises(Error, match="is held by another process") as refused:
            client.says("Tidy up.", says("assistant", question), "approve")
    finally:
        held.close()
    assert (refused.value.status, refused.value.code) == (409, "run_busy")
    assert client.says("Tidy up.", says("assistant", question), "approve") == "It is gone.", "the word stands"


class Meddled(TraceStore):
    """A store in which somebody does something between two looks at a run."""

    meddling: Iterator[Callable[[], object]] = iter(())

    def peek(self, run_id: str) -> Any:
        """As it stands after that."""
        for done in self.meddling:
            done()
            break
        return super().peek(run_id)


def test_a_run_that_ends_while_it_is_looked_at_has_its_answer_told(start: "Start", tmp_path: Path) -> None:
    store = Meddled(tmp_path / "traces", state_dir=tmp_path / "state")
    client, elsewhere = Client(start(TIDY[:1], traces=store)), start(TIDY[1:])
    question = client.says("Tidy up.")
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    store.decide(asked["run_id"], "approve")
    store.meddling = iter([lambda: elsewhere.client.post(f"/runs/{asked['run_id']}/resume")])
    assert client.says("Tidy up.", says("assistant", question), "approve") == "It is gone."
    assert (client.serving.deleted, elsewhere.deleted) == ([], ["old.txt"])


def test_a_run_that_is_taken_up_and_ends_between_the_looks_at_it_has_its_answer_told(
    start: "Start", tmp_path: Path
) -> None:
    store = Meddled(tmp_path / "traces", state_dir=tmp_path / "state")
    client, elsewhere = Client(start(TIDY[:1], traces=store)), start(TIDY[1:])
    question = client.says("Tidy up.")
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    held = list[Journal]()

    def end() -> None:
        held.pop().close()
        elsewhere.client.post(f"/runs/{asked['run_id']}/resume")

    # The first try looks twice, the second time in `pool.resume`; then it finds the run held. It ends in the next try.
    store.meddling = iter([lambda: held.append(elsewhere.store.resume(asked["run_id"])), lambda: None, end])
    assert client.says("Tidy up.", says("assistant", question), "approve") == "It is gone."
    assert (client.serving.deleted, elsewhere.deleted, held) == ([], ["old.txt"], [])


def test_of_many_who_approve_at_once_all_get_the_answer(start: "Start") -> None:
    client = Client(start(TIDY))
    turns = ["Tidy up.", says("assistant", client.says("Tidy up.")), "approve"]
    with ThreadPoolExecutor(6) as people:
        answers = [people.submit(client.says, *turns) for _ in range(6)]
        assert {answer.result() for answer in answers} == {"It is gone."}
    assert client.serving.deleted == ["old.txt"]


def test_what_was_decided_while_nobody_held_the_run_is_taken_up(start: "Start") -> None:
    client = Client(start(TIDY))
    question = client.says("Tidy up.")
    (asked,) = client.serving.client.get("/approvals").json()["approvals"]
    client.serving.store.decide(asked["run_id"], "reject", feedback="no")
    assert client.says("Tidy up.", says("assistant", question), "approve") == "It is gone."
    assert client.serving.deleted == []


def test_a_question_that_expired_is_asked_anew(start: "Start", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICRO_AGENT_APPROVAL_TTL", "0.001")
    client = Client(start(TIDY))
    question = client.says("Tidy up.")
    again = client.says("Tidy up.", says("assistant", question), "approve")
    assert again != question
    assert 'delete {"path": "old.txt"}' in again
    assert client.serving.deleted == []


def test_a_response_asks_and_the_next_one_decides(start: "Start") -> None:
    client = Client(start(TWICE))
    first = client.responded("Tidy up.")
    assert first.micro_agent["confirmation"]["sha256"] in first.output_text
    second = client.respond("approve", previous_response_id=first.id)
    stale = client.respond("approve", previous_response_id=first.id)
    assert (stale.output_text, client.serving.deleted) == (second.output_text, ["a"]), "that was another question"
    done = client.responded("reject: no", previous_response_id=second.id)
    assert ([item.type for item in done.output], done.output_text) == (["mcp_call", "message"], "Done.")
    later = Client(start([])).respond("approve", previous_response_id=second.id)
    assert later.output_text == "Done."


def test_a_server_that_does_not_know_what_a_response_asked_shows_it(start: "Start") -> None:
    first = Client(start(TIDY)).respond("Tidy up.")
    client = Client(start(TIDY[1:]))
    again = client.respond("approve", previous_response_id=first.id)
    assert (again.output_text, client.serving.deleted) == (first.output_text, [])
    assert client.respond("approve", previous_response_id=again.id).output_text == "It is gone."


def test_a_question_cannot_break_out_of_its_frame(start: "Start") -> None:
    path = "a```\n````\n[31m"
    question = Client(start([call("delete", {"path": path})])).says("Tidy up.")
    lines = question.splitlines()
    fence = lines[2].removesuffix("text")
    assert (set(fence), lines.count(fence)) == ({"`"}, 1)
    assert not any(fence in line for line in lines[3 : lines.index(fence)])
    assert "\x1b" not in question


def test_images_come_back_with_the_word(start: "Start") -> None:
    client = Client(start([*TIDY, *TIDY]))
    shown = says("user", [{"type": "text", "text": "Tidy up."}, {"type": "image_url", "image_url": {"url": PNG}}])
    question = client.says(shown)
    assert client.says(shown, says("assistant", question), "approve") == "It is gone."
    other = says("user", [{"type": "text", "text": "Tidy up."}, {"type": "image_url", "image_url": {"url": OTHER_PNG}}])
    question = client.says(shown)
    with pytest.raises(Error, match="no record keeps those"):
        client.says(other, says("assistant", question), "approve")


def test_too_many_runs_leave_a_question_open(start: "Start") -> None:
    turnstile = Turnstile()
    script = [TIDY[0], call("turn", {}), text("Through."), TIDY[1]]
    client = Client(start(script, tools=[turnstile.turn], max_running=1))
    question = client.says("Tidy up.")
    busy = client.chat("Turn.", stream=True)
    next(busy)
    with pytest.raises(Error):
        client.chat("Tidy up.", says("assistant", question), "approve")
    turnstile.give()
    assert [chunk.choices[0].finish_reason for chunk in busy][-1] == "stop"
    soon(lambda: not client.serving.pool.running())
    assert client.says("Tidy up.", says("assistant", question), "approve") == "It is gone."
