"""An agent with more in its system prompt, with images, and with nothing but its model."""

from micro_agent import MicroAgent
from micro_agent.rules.coach import Coach
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

PNG = {"url": "data:image/png;base64,iVBORw0KGgo="}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_a_layer_adds_to_the_system_prompt_of_one_agent(store: TraceStore) -> None:
    lm = ScriptedLM([call("add", {"a": 1, "b": 2}), text("3"), text("Hello."), text("Hello.")])
    agent = MicroAgent(tools=[add], lm=lm, system="Be kind.", traces=store)
    run = agent.layered("Be brief.").ask("Add 1 and 2.")
    assert (run.answer, run.system) == ("3", "Be kind.\n\nBe brief.")
    assert store.load(run.id).answer == "3"
    assert (agent.layered().ask("Hi!").system, agent.ask("Hi!").system) == ("Be kind.", "Be kind.")


def test_images_are_a_further_input_unless_there_is_one(store: TraceStore) -> None:
    agent = MicroAgent("question -> answer", tools=[], lm=ScriptedLM([text("A cat."), text("A dog.")]))
    run = agent.layered(images=True).ask("What is it?", images=[PNG])
    assert (run.answer, run.inputs["images"], len(run.images)) == ("A cat.", ["(image 1)"], 1)
    own = MicroAgent("question, images: list[dspy.Image] -> answer", tools=[], lm=ScriptedLM([text("A dog.")]))
    assert own.layered(images=True).ask("And this?", images=[PNG]).answer == "A dog."


def test_a_bare_agent_has_its_model_alone(store: TraceStore) -> None:
    lm = ScriptedLM([text('{"title": "Sums"}'), text("A cat")])
    coach = Coach(record={"kind": "test"}, system=lambda run: "Be coached.")
    agent = MicroAgent(
        "question -> sure: bool", tools=[add], lm=lm, system="Be kind.", mode="json", traces=store, coach=coach
    )
    run = agent.bare("In French.").ask("A title for 1+2?")
    assert (run.answer, run.system, run.mode, run.coach) == ('{"title": "Sums"}', "In French.", "native", None)
    assert not lm.requests[0].tools
    assert lm.messages(0)[0]["content"].startswith("Do what is asked")
    assert list(store.ids()) == list(store.open_ids()) == []
    assert agent.bare(images=True).ask("What is it?", images=[PNG]).answer == "A cat"
