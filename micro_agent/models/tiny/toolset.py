"""The tools that the tiny model was taught, over a little world in memory: offline, the same answers every time.

Its other two are the built-in ``calculator`` and ``now``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from micro_agent.tools import Tool, ToolError, tool

Found = TypeVar("Found")

FACTORS = {
    ("km", "m"): 1000, ("m", "cm"): 100, ("kg", "g"): 1000, ("weeks", "days"): 7, ("days", "hours"): 24,
    ("hours", "minutes"): 60, ("minutes", "seconds"): 60,
}  # fmt: skip
"""How many of the second unit make one of the first."""


@dataclass
class World:
    """What the tools know, each by its name, and what they did."""

    prices: Mapping[str, int] = field(default_factory=dict[str, int])
    pieces: Mapping[str, int] = field(default_factory=dict[str, int])
    weather: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    ages: Mapping[str, int] = field(default_factory=dict[str, int])
    phones: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    done: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What was ordered, sent and set, in order."""


def tools_over(world: World) -> list[Tool]:
    """The ten tools over a world, those that only read first."""

    @tool(read_only=True)
    def price(product: str) -> dict[str, Any]:
        """Tell the price of a product."""
        return {"price": _known("product", product, world.prices)}

    @tool(read_only=True)
    def stock(product: str) -> dict[str, Any]:
        """Tell how many pieces of a product there are."""
        return {"pieces": _known("product", product, world.pieces)}

    @tool(read_only=True)
    def weather(city: str) -> dict[str, Any]:
        """Tell the weather in a city."""
        sky, degrees = _known("city", city, world.weather)
        return {"sky": sky, "degrees": degrees}

    @tool(read_only=True)
    def age(person: str) -> dict[str, Any]:
        """Tell the age of a person."""
        return {"age": _known("person", person, world.ages)}

    @tool(read_only=True)
    def phone(person: str) -> dict[str, Any]:
        """Tell the phone number of a person."""
        return {"phone": _known("person", person, world.phones)}

    @tool(read_only=True)
    def notes(topic: str) -> dict[str, Any]:
        """Look up the note on a topic."""
        return {"note": _known("note on", topic, world.notes)}

    @tool(read_only=True)
    def convert(value: float, unit: str, to: str) -> dict[str, Any]:
        """Convert a value to a smaller unit."""
        if (unit, to) not in FACTORS:
            raise ToolError("UNKNOWN_UNIT", f"cannot convert {unit[:40]!r} to {to[:40]!r}")
        result = value * FACTORS[unit, to]
        return {"value": int(result) if result.is_integer() else result}

    @tool
    def order(product: str, pieces: int) -> dict[str, Any]:
        """Order pieces of a product."""
        _known("product", product, world.prices)
        return _did(world, {"ordered": pieces, "product": product})

    @tool
    def send(person: str, text: str) -> dict[str, Any]:
        """Send a message to a person."""
        _known("person", person, world.phones)
        return _did(world, {"sent": text, "person": person})

    @tool
    def remind(time: str, text: str) -> dict[str, Any]:
        """Set a reminder for a time of the day."""
        return _did(world, {"set": time, "text": text})

    return [price, stock, weather, age, phone, notes, convert, order, send, remind]


def _known(what: str, name: str, among: Mapping[str, Found]) -> Found:
    spelled = {known.casefold(): known for known in among}
    wanted = name.strip().casefold()[:60]
    if wanted in spelled:
        return among[spelled[wanted]]
    close = [spelled[near] for near in get_close_matches(wanted, spelled, n=1)]
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ToolError("NOT_FOUND", f"there is no {what} {name[:60]!r}{hint}")


def _did(world: World, told: dict[str, Any]) -> dict[str, Any]:
    world.done.append(told)
    return told


WORLD = World(
    prices={
        "lamp": 35, "chair": 79, "kettle": 28, "teapot": 19, "notebook": 4, "pencil": 2, "umbrella": 17, "tent": 120,
        "backpack": 64, "honey": 6, "bicycle": 340, "candle": 3,
    },
    pieces={
        "lamp": 14, "chair": 32, "kettle": 9, "teapot": 21, "notebook": 250, "pencil": 480, "umbrella": 0, "tent": 7,
        "backpack": 18, "honey": 75, "bicycle": 5, "candle": 160,
    },
    weather={
        "Berlin": ("rain", 9), "Paris": ("clouds", 13), "Rome": ("sun", 22), "Oslo": ("snow", -4), "Cairo": ("sun", 31),
        "Tokyo": ("wind", 16), "Lima": ("fog", 18),
    },
    ages={"Anna": 34, "Ben": 61, "Clara": 27, "David": 45, "Rosa": 72, "Hugo": 19},
    phones={
        "Anna": "0417 5520", "Ben": "0321 8846", "Clara": "0650 1193", "David": "0289 7304", "Rosa": "0733 4418",
        "Hugo": "0105 9927",
    },
    notes={
        "garden": "we need 12 candle", "party": "call Rosa", "dentist": "the bus is late", "rent": "the report is lost",
        "passport": "bring the passport", "train": "the train is early",
    },
)  # fmt: skip
"""The world of this process: a small shop and those who know it."""
TOOLS = tools_over(WORLD)
"""The ten tools over it, as ``--tools micro_agent.models.tiny.toolset`` loads them."""
