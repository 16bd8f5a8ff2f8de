"""What a scenario is made of: a task with its right answer, tools that write down what ran, and the way it is said.

A scripted model wants to do the right thing and says it badly: `Scenario.says` makes the bad reply out of what it
means. It does so once, and then as it should, or at every turn (sticky).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from micro_agent import Tool, tool
from micro_agent.run import Mode
from micro_agent.testing import Reply

Wire = Literal["openai", "ollama"]


@dataclass(frozen=True, slots=True)
class Called:
    """A call: as the model means it, or as a tool was run, then with its defaults."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A question, the calls that answer it, what stands in the result of each, and the right answer."""

    question: str
    plan: tuple[Called, ...]
    found: tuple[str, ...]
    answer: str
    ran: tuple[Called, ...]
    """The calls of ``plan`` as the tools get them."""


@dataclass(frozen=True, slots=True)
class Way:
    """How the model is reached. ``stream``: through ``agent.stream``."""

    wire: Wire
    mode: Mode
    stream: bool = False


NATIVE, JSON = Way("openai", "native"), Way("ollama", "json")
STREAMED, JSON_STREAMED = Way("openai", "native", True), Way("ollama", "json", True)
OPENAI_JSON, OLLAMA_NATIVE = Way("openai", "json"), Way("ollama", "native")
OLLAMA_NATIVE_STREAMED = Way("ollama", "native", True)
BOTH, STREAMS = (NATIVE, JSON), (STREAMED, JSON_STREAMED)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model means to say at a turn: the calls that are left, the next one first, or its answer."""

    task: Task
    calls: tuple[Called, ...]
    way: Way

    @property
    def call(self) -> Called | None:
        """The next call; ``None`` when it is time to answer."""
        return self.calls[0] if self.calls else None

    @property
    def mode(self) -> Mode:
        return self.way.mode


Says = Callable[[Turn], Reply | None]
"""The bad way to say it; ``None`` where it does not apply: the model then says it as it should."""


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """One class of WEAK-MODELS, to be played once and sticky in each of its ways.

    ``readable``: what is said badly holds what is meant, so that it is to be answered even when the model never does
    better. ``"either"``: to answer and to end honestly are both right. ``ends`` are the reasons of an honest end.
    """

    part: str
    name: str
    says: Says
    task: Task
    ways: tuple[Way, ...] = BOTH
    readable: bool | Literal["either"] = True
    ends: frozenset[str] = frozenset({"malformed"})
    repeats: bool = False
    """Whether a call of the plan may run again and again: nothing but a limit or a rule stops a model that asks so."""
    means: bool = True
    """Whether the model says, when it is asked, that it means a call inside its text."""
    built_in: bool = False
    """Whether the calculator is offered, whose use is required for arithmetic."""
    timeout_s: float = 10.0
    """Of a model call with its retries, when sticky."""


def tools(ran: list[Called]) -> Sequence[Tool]:
    """Weather, addition, a search, trips and notes; each call that is really run is added to ``ran``."""

    def note(name: str, **args: Any) -> None:
        ran.append(Called(name, args))

    @tool(read_only=True)
    def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> dict[str, Any]:
        """Look up the weather of a city."""
        note("get_weather", city=city, unit=unit)
        if city not in WEATHER_OF:
            raise LookupError(f"no weather for {city!r}: there is Oslo, Rome and Cairo")
        return {"city": city, "sky": WEATHER_OF[city]}

    @tool(read_only=True)
    def add(a: int, b: int) -> int:
        """Add two whole numbers."""
        note("add", a=a, b=b)
        return a + b

    @tool(read_only=True)
    def search(query: str, limit: int = 5, exact: bool = False, tags: list[str] | None = None) -> dict[str, Any]:
        """Search the library."""
        note("search", query=query, limit=limit, exact=exact, tags=tags)
        right = (query, limit, exact, tags) == ("lighthouse", 2, True, ["sea"])
        return {"hits": ["To the Lighthouse"] if right else []}

    @tool(read_only=True)
    def plan_trip(stops: list[str], options: dict[str, Any]) -> dict[str, Any]:
        """Plan a trip."""
        note("plan_trip", stops=stops, options=options)
        return {"trip": 4711}

    @tool
    def write_note(title: str, text: str) -> dict[str, Any]:
        """Write a note. It cannot be taken back."""
        note("write_note", title=title, text=text)
        return {"saved_as": f"note-{len(text)}"}

    @tool(read_only=True)
    def list_notes() -> list[str]:
        """List the titles of all notes."""
        note("list_notes")
        return ["Shopping", "Garden"]

    return [get_weather, add, search, plan_trip, write_note, list_notes]


WEATHER_OF = {"Oslo": "snow, -7 degrees", "Rome": "sun, 24 degrees", "Cairo": "dust, 31 degrees"}


def _weather(city: str) -> Called:
    return Called("get_weather", {"city": city})


def _ran(city: str) -> Called:
    return Called("get_weather", {"city": city, "unit": "celsius"})


WEATHER = Task(
    "How is the weather in Oslo?", (_weather("Oslo"),), ("-7 degrees",), "In Oslo it snows at -7 degrees.",
    (_ran("Oslo"),),
)  # fmt: skip
TWO = Task(
    "How is the weather in Oslo and in Rome?", (_weather("Oslo"), _weather("Rome")), ("-7 degrees", "24 degrees"),
    "Oslo has -7 degrees, Rome has 24 degrees.", (_ran("Oslo"), _ran("Rome")),
)  # fmt: skip
_SUM = Called("add", {"a": 17, "b": 25})
SUM = Task("Put 17 pears to 25 pears.", (_SUM,), ("42",), "There are 42 pears then.", (_SUM,))
_SEARCH = Called("search", {"query": "lighthouse", "limit": 2, "exact": True, "tags": ["sea"]})
SEARCH = Task(
    "Which book in the library is about a lighthouse?", (_SEARCH,), ("To the Lighthouse",),
    "The book is To the Lighthouse.", (_SEARCH,),
)  # fmt: skip
_TRIP = Called("plan_trip", {"stops": ["Oslo", "Rome"], "options": {"fast": True, "bags": [1, 2], "class": None}})
TRIP = Task("Plan a fast trip from Oslo to Rome.", (_TRIP,), ("4711",), "It is trip 4711.", (_TRIP,))
_NOTE = Called("write_note", {"title": "Shopping", "text": "Milk and bread.\nTwelve eggs."})
NOTE = Task("Note what I have to buy.", (_NOTE,), ("note-28",), "It is saved as note-28.", (_NOTE,))
_NOTES = Called("list_notes", {})
NOTES = Task("Which notes are there?", (_NOTES,), ("Garden",), "There are Shopping and Garden.", (_NOTES,))
_PRODUCT = Called("calculator", {"expression": "37 * 48"})
PRODUCT = Task("What is 37 * 48?", (_PRODUCT,), ("1776",), "It is 1776.", ())
BRACE = Task("Which numbers are in A?", (), (), "A is {1, 2, 3}: {x | 0 < x < 4}.", ())
CONFIG = Task(
    "How do I set the theme?", (), (), 'Write {"theme": "dark", "size": 12} into settings.json and start again.', ()
)
CODE = Task(
    "How is it done in Python?", (), (), "Like this:\n\n```python\nprint(total([1, 2]))\n```\n\nIt prints 3.", ()
)
LIST = Task("Which numbers are prime?", (), (), "[2, 3, 5, 7]", ())
OBJECT = Task("Give me Oslo as JSON.", (), (), '{"city": "Oslo", "country": "Norway"}', ())
STEPS = Task(
    "How do I make tea?", (), (), "Action: boil water.\nThen: put the tea in.\nFinal step: wait (3 minutes).", ()
)
