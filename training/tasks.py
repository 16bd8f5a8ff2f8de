"""Tasks: a question, the calls that answer it, the world that they need, and the answer. All of it is invented.

One in eight names and one in eight phrasings are held out: a task is made of those alone, or of none of them.
"""

import re
import tomllib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from micro_agent.models.tiny.toolset import FACTORS, World
from micro_agent.tools.expression import calculate

HERE = Path(__file__).parent
HELD = 8
"""One in so many."""
NO_TOOL = "I have no tool for that."


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / name).read_text("utf-8"))


ASKED, WORDS, TALK = _read("phrasings.toml"), _read("words.toml"), _read("small_talk.toml")
Call = tuple[str, dict[str, Any]]
_EITHER = re.compile(r"\[([^\[\]]*)\]")


@cache
def phrasings(kind: str, held: bool) -> list[list[str]]:
    """The phrasings of a kind, line by line; lines of which there are none are left out."""
    lines = [[text for text in _all_of(line) if _held(text) == held] for line in ASKED[kind]]
    return [line for line in lines if line]


def _all_of(line: str) -> list[str]:
    """All that can be made of a line."""
    if (found := _EITHER.search(line)) is None:
        return [line]
    return [text for one in found[1].split("|") for text in _all_of(line[: found.start()] + one + line[found.end() :])]


def _held(text: str) -> bool:
    return zlib.crc32(text.casefold().encode()) % HELD == 0


@dataclass
class Task:
    """What is asked and what is right."""

    kind: str
    question: str
    answer: str
    calls: list[Call] = field(default_factory=list[Call])
    world: World = field(default_factory=World)

    @property
    def needs(self) -> set[str]:
        """The tools that it takes."""
        return {name for name, _ in self.calls}


@dataclass
class Invention:
    """Where the words and numbers of a task come from."""

    random: Random
    held: bool

    def one_of(self, choices: Sequence[Any]) -> Any:
        """Any of them."""
        return choices[int(self.random.random() * len(choices))]

    def name(self, kind: str, *, capital: bool = False) -> str:
        """A real word of a kind, or one made of syllables."""
        while True:
            found = self.one_of(WORDS[kind]) if self.random.random() < 0.5 else self._syllables()
            if _held(found) == self.held:
                return found.capitalize() if capital else found

    def _syllables(self) -> str:
        parts = [self.one_of(WORDS["syllables"]) for _ in range(self.one_of((2, 2, 2, 3)))]
        return "".join(parts) + self.one_of(WORDS["codas"])

    def product(self) -> str:
        """What is sold."""
        return self.name("products")

    def person(self) -> str:
        """Who is asked about."""
        return self.name("people", capital=True)

    def city(self) -> str:
        """Where."""
        return self.name("cities", capital=True)

    def topic(self) -> str:
        """What a note is about."""
        return self.name("topics")

    def weather(self) -> tuple[str, int]:
        """Sky and degrees."""
        return self.one_of(WORDS["skies"]), self.random.randint(-9, 35)

    def age(self) -> int:
        """Of a person, in years."""
        return self.random.randint(3, 99)

    def phone(self) -> str:
        """A number."""
        return f"0{self.random.randint(100, 999)} {self.random.randint(1000, 9999)}"

    def number(self, most: int = 999) -> int:
        """A number of one to three digits."""
        return self.random.randint(2, min(most, self.one_of((20, 99, 99, 999))))

    def time(self) -> str:
        """A time of the day."""
        return f"{self.random.randint(0, 23):02d}:{self.random.randint(0, 59):02d}"

    def text(self) -> str:
        """What a message or note says."""
        things = ("the bus", "the train", "the meeting", "the report", f"the {self.product()}", self.person())
        thing, state = self.one_of(things), self.one_of(("late", "ready", "here", "over", "early", "lost", "at home"))
        said = f"{thing} is {state}"
        return self.one_of(
            (said, said, f"call {self.person()}", f"we need {self.number(99)} {self.product()}",
             f"bring the {self.product()}", f"I am in {self.city()}")
        )  # fmt: skip

    def ask(self, kind: str, **words: Any) -> str:
        """A question in one of the phrasings of a kind: of any line first, so that a rich one is not asked more."""
        phrasing = self.one_of(phrasings(kind, self.held))
        asked = self.one_of(phrasing).format(**words)
        if self.random.random() < 0.1:
            asked = asked.rstrip(".?")
        if self.random.random() < 0.1 and phrasing[0][0] != "{":
            asked = asked[0].lower() + asked[1:]
        closing = self.one_of(ASKED["closings"]) if asked.endswith((".", "?")) else ""
        return self.one_of(ASKED["openings"]) + asked + closing


def _sums(kind: str) -> Callable[[Invention], Task]:
    forms = {
        "sum": "{a}+{b}", "difference": "{a}-{b}", "times": "{a}*{k}", "percent": "{a}*{k}/100", "boxes": "{a}*{k}",
        "left": "{a}-{b}", "both": "{a}+{b}",
    }  # fmt: skip

    def make(new: Invention) -> Task:
        a, b = sorted((new.number(), new.number()), reverse=True)
        if kind in ("sum", "both") and new.random.random() < 0.5:
            a, b = b, a
        numbers = {"a": a, "b": b, "k": new.random.randint(2, 30)}
        question = new.ask(kind, product=new.product(), person=new.person(), other=new.person(), **numbers)
        expression = forms[kind].format(**numbers)
        told = f"The result is {calculate(expression)[0]}."
        return Task(kind, question, told, [("calculator", {"expression": expression})])

    return make


def _looked_up(kind: str) -> Callable[[Invention], Task]:
    argument, name, value, known, answer = LOOKUPS[kind]

    def make(new: Invention) -> Task:
        asked = {argument: name(new)}
        found = value(new)
        told = answer.format(*(found if kind == "weather" else (found,)), **asked)
        world: dict[str, Any] = {known: {asked[argument]: found}}
        return Task(kind, new.ask(kind, **asked), told, [(kind, asked)], World(**world))

    return make


LOOKUPS: dict[str, tuple[str, Callable[[Invention], str], Callable[[Invention], Any], str, str]] = {
    "price": ("product", Invention.product, Invention.number, "prices", "The price of {product} is {}."),
    "stock": ("product", Invention.product, Invention.number, "pieces", "There are {} pieces of {product}."),
    "weather": ("city", Invention.city, Invention.weather, "weather", "In {city} there is {} at {} degrees."),
    "age": ("person", Invention.person, Invention.age, "ages", "{person} is {} years old."),
    "phone": ("person", Invention.person, Invention.phone, "phones", "The number of {person} is {}."),
    "notes": ("topic", Invention.topic, Invention.text, "notes", "The note says: {}"),
}
"""Tools that look one thing up: what they are asked about, what they know and where, the answer."""


def _convert(new: Invention) -> Task:
    (unit, to), value = new.one_of(sorted(FACTORS)), new.random.randint(2, 99)
    result = value * FACTORS[unit, to]
    args = {"value": value, "unit": unit, "to": to}
    return Task("convert", new.ask("convert", **args), f"{value} {unit} are {result} {to}.", [("convert", args)])


def _order(new: Invention) -> Task:
    product, pieces = new.product(), new.random.randint(2, 99)
    world = World(prices={product: new.number()})
    args = {"product": product, "pieces": pieces}
    return Task("order", new.ask("order", **args), f"I ordered {pieces} {product}.", [("order", args)], world)


def _send(new: Invention) -> Task:
    person, text = new.person(), new.text()
    world = World(phones={person: "0100 1000"})
    args = {"person": person, "text": text}
    return Task("send", new.ask("send", **args), f"I told {person}: {text}", [("send", args)], world)


def _remind(new: Invention) -> Task:
    args = {"time": new.time(), "text": new.text()}
    return Task("remind", new.ask("remind", **args), f"I set a reminder for {args['time']}.", [("remind", args)])


def _now(new: Invention) -> Task:
    city, zone = new.one_of(list(WORDS["zones"].items()))  # of which none is held out: a zone has to be known
    return Task("now", new.ask("now", city=city), "It is {time} on {weekday}, {date}.", [("now", {"timezone": zone})])


def _total(new: Invention) -> Task:
    product, price, k = new.product(), new.number(99), new.random.randint(2, 60)
    world = World(prices={product: price})
    calls = [("price", {"product": product}), ("calculator", {"expression": f"{k}*{price}"})]
    return Task("total", new.ask("total", product=product, k=k), f"{k} {product} cost {k * price}.", calls, world)


def _worth(new: Invention) -> Task:
    product, price, pieces = new.product(), new.number(99), new.random.randint(2, 99)
    world = World(prices={product: price}, pieces={product: pieces})
    asked = {"product": product}
    calls = [("stock", asked), ("price", asked), ("calculator", {"expression": f"{pieces}*{price}"})]
    return Task("worth", new.ask("worth", **asked), f"The {product} are worth {pieces * price}.", calls, world)


def _older(new: Invention) -> Task:
    person, other = new.person(), new.person()
    old, young = new.random.randint(41, 99), new.random.randint(3, 40)
    world = World(ages={person: old, other: young})
    calls = [("age", {"person": person}), ("age", {"person": other}), ("calculator", {"expression": f"{old}-{young}"})]
    told = f"{person} is {old - young} years older than {other}."
    return Task("older", new.ask("older", person=person, other=other), told, calls, world)


def _tellprice(new: Invention) -> Task:
    person, product, price = new.person(), new.product(), new.number()
    world = World(prices={product: price}, phones={person: "0100 1000"})
    text = f"{product} costs {price}"
    calls = [("price", {"product": product}), ("send", {"person": person, "text": text})]
    question = new.ask("tellprice", person=person, product=product)
    return Task("tellprice", question, f"I told {person}: {text}", calls, world)


def _absent(new: Invention) -> Task:
    """What is asked about is in no world."""
    task = _looked_up(new.one_of(list(LOOKUPS)))(new)
    (name,) = task.calls[0][1].values()
    return Task("absent", task.question, f"I could not find {name}.", task.calls)


def _talk(new: Invention) -> Task:
    said: Mapping[str, str] = TALK["said"]
    asked = new.one_of(_part(list(said), new.held))
    return Task("talk", asked, said[asked])


def _beyond(new: Invention) -> Task:
    asks, things = (_part(TALK["beyond"][name], new.held) for name in ("asks", "things"))
    x, y = (new.one_of(things) if new.random.random() < 0.6 else new.topic() for _ in range(2))
    question = new.one_of(asks).format(x=x, y=y, n=new.random.randint(1500, 2030))
    return Task("beyond", question, TALK["beyond"]["answer"])


def _part(listed: Sequence[str], held: bool) -> list[str]:
    return [one for at, one in enumerate(listed) if (at % HELD == HELD - 1) == held]


KINDS: dict[str, tuple[float, Callable[[Invention], Task]]] = {
    **{kind: (3, _sums(kind)) for kind in ("sum", "difference", "times", "percent", "boxes", "left", "both")},
    **{kind: (5 if kind == "age" else 6, _looked_up(kind)) for kind in LOOKUPS},
    "convert": (5, _convert), "order": (6, _order), "send": (7, _send), "remind": (6, _remind),
    "now": (3, _now), "total": (7, _total), "worth": (4, _worth), "older": (4, _older), "tellprice": (5, _tellprice),
    "absent": (4, _absent), "talk": (3, _talk), "beyond": (5, _beyond),
}  # fmt: skip
"""Each kind with how often it is asked."""


def task(random: Random, *, held: bool = False, kind: str | None = None) -> Task:
    """A task of that kind, or of any."""
    kind = kind or random.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    return KINDS[kind][1](Invention(random, held))


def without_tool(task: Task) -> Task:
    """The same where a tool for it is not offered."""
    return Task("toolless", task.question, NO_TOOL)
