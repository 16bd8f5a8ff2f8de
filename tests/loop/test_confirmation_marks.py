"""What a person is asked about a call names the arguments of which something stands nowhere, and nothing else."""

from micro_agent import MicroAgent, Tool
from micro_agent.effects import Approval, Question
from micro_agent.testing import ScriptedLM, call, text

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}, "required": ["to"]}


def agent(*replies: object, **options: object) -> MicroAgent:
    def send(to: str, text: str = "") -> str:
        return f"sent to {to}: {text}"

    mail = Tool("mail", "Send a mail.", SCHEMA, send, requires_confirmation=True)
    return MicroAgent([mail], ScriptedLM([*replies]), **options)  # pyright: ignore[reportArgumentType]


def test_a_word_that_stands_nowhere_marks_its_argument() -> None:
    asking = agent(call("mail", {"to": "Dubem", "text": "lunch"}), text("Done."))
    paused = asking.ask("Mail Dubemo: lunch!")
    assert paused.confirmation is not None
    assert paused.confirmation["ungrounded"] == ["to"]
    run = asking.resume(paused, Approval("approve"))
    assert (run.status, run.steps[-1].args) == ("completed", {"to": "Dubem", "text": "lunch"})


def test_what_was_asked_for_leaves_the_question_as_it_was() -> None:
    paused = agent(call("mail", {"to": "dubemo"})).ask("Mail Dubemo: lunch!")
    assert paused.confirmation is not None
    assert [*paused.confirmation] == ["run", "call", "call_id", "tool", "args", "reason", "expires", "sha256"]


def test_who_confirms_by_a_function_sees_the_marks() -> None:
    def confirm(question: Question) -> Approval:
        return Approval("reject", "who is that?") if question.ungrounded else Approval("approve")

    again = call("mail", {"to": "Dubemo"})
    run = agent(call("mail", {"to": "Dubem"}), again, text("Done."), confirm=confirm).ask("Mail Dubemo.")
    assert [step.ok for step in run.steps] == [False, True]
