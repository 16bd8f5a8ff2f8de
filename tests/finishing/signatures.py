# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false
# ruff: noqa: UP007, UP045 - the older spellings of a union have to work, too
"""Fifty DSPy signatures, each with outputs as a model would write them: right, malformed, mistyped and wrong.

Each case stands beside its signature and models; `CASES` at the end lists them all. For every case:

- `clean` fits the types of the output fields exactly (pydantic's strict mode, from JSON).
- `malformed` are texts that `json.loads` refuses and that still say the same as `clean`.
- `coercible` says the same as `clean` with some values of another JSON type, each readable in one way only: a number
  or a boolean in a string, a number for a string, one item for a list of one, `"null"` for null where no text is
  allowed, an object or a list as a string of JSON.
- `faults` names all faults of `wrong`: a missing field by its own path, a value that fits no branch of a union by the
  path of the value (null is no branch here: a fault inside an `X | None` has the path inside the X), keys of a model by
  their aliases. The two cases with one text output and nothing else (`answer_year`, `invoice_number`) have one fault,
  since one text cannot be wrong in two places. `insurance_claim` has an extra level, so all that is required below
  counts as missing.
- An output field with a default may be absent from `clean`; `values` then has the default.
- `Optional[X]` and `Union[X, Y]` stand beside `X | Y` on purpose, since all three have to work.

Constraints given to an output field itself, such as `OutputField(ge=1)`, are in its `FieldInfo.metadata` and not in its
`annotation`; `FieldInfo.rebuild_annotation()` has both.
"""

import datetime as dt
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from textwrap import dedent
from typing import Annotated, Any, Literal, NotRequired, Optional, Union
from uuid import UUID

import dspy
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict


@dataclass(frozen=True)
class Case:
    """A signature, its inputs, and four ways to write its outputs."""

    id: str
    signature: type[dspy.Signature] | str
    inputs: dict[str, Any]
    clean: dict[str, Any]
    values: dict[str, Any]
    malformed: list[str]
    coercible: dict[str, Any]
    wrong: dict[str, Any]
    faults: list[str]


def text(block: str) -> str:
    """The block without its indentation and outer blank lines."""
    return dedent(block).strip()


# Text outputs ---------------------------------------------------------------------------------------------------------

ANSWER_YEAR = Case(
    id="answer_year",
    signature="passage, question -> answer",
    inputs={
        "passage": text("""
            The lighthouse on Skerry Point was drawn up in 1884 after the wreck of the Ingeborg. Storms held up the
            work, and the lamp was lit for the first time in 1889. It burned colza oil until 1911.
        """),
        "question": "In which year was the lamp lit for the first time? Give only the year.",
    },
    clean={"answer": "1889"},
    values={"answer": "1889"},
    malformed=[
        "{'answer': '1889'}",
        text("""
            The passage says the lamp was lit for the first time in 1889.

            {answer: "1889"}
        """),
    ],
    coercible={"answer": 1889},
    wrong={"answer": {"drawn_up": "1884", "first_lit": "1889"}},
    faults=["answer"],
)


class FindInvoiceNumber(dspy.Signature):
    """Find the number of the invoice that the mail asks about. Give the digits alone, without a prefix."""

    subject: str = dspy.InputField()
    sender: str = dspy.InputField(desc="name and address as in the From header")
    body: str = dspy.InputField()
    invoice_number: str = dspy.OutputField(desc="digits only")


INVOICE_NUMBER = Case(
    id="invoice_number",
    signature=FindInvoiceNumber,
    inputs={
        "subject": "Second reminder?!",
        "sender": "Petra Vogel <p.vogel@gartenbau-vogel.example>",
        "body": text("""
            Good morning,
            we have paid INV-7730418 on 3 March and still got a reminder for it today. INV-7730391 is the one that we
            returned in January, please do not mix the two up. What is going on with the first one?
            P. Vogel
        """),
    },
    clean={"invoice_number": "7730418"},
    values={"invoice_number": "7730418"},
    malformed=[
        text("""
            ```json
            {"invoice_number": "7730418"}
            ```
        """),
        '{"invoice_number": "7730418",',
    ],
    coercible={"invoice_number": 7730418},
    wrong={"invoice_number": ["7730418", "7730391"]},
    faults=["invoice_number"],
)


class AnswerTicket(dspy.Signature):
    """Write a short reply to a support ticket and quote its number."""

    customer_name: str = dspy.InputField()
    ticket: str = dspy.InputField()
    knowledge_article: str = dspy.InputField()
    subject: str = dspy.OutputField()
    body: str = dspy.OutputField(desc="plain text, at most four sentences")
    ticket_number: str = dspy.OutputField()


TICKET_REPLY = Case(
    id="ticket_reply",
    signature=AnswerTicket,
    inputs={
        "customer_name": "Oona",
        "ticket": "#90417: My thermostat shows E4 since the power cut last night and the heating stays off.",
        "knowledge_article": "E4: the clock is lost. Hold the wheel for ten seconds, then set the time again.",
    },
    clean={
        "subject": "Your thermostat's E4 message",
        "body": "Hello Oona,\nThe clock was lost. Hold the wheel for ten seconds and set the time again.",
        "ticket_number": "90417",
    },
    values={
        "subject": "Your thermostat's E4 message",
        "body": "Hello Oona,\nThe clock was lost. Hold the wheel for ten seconds and set the time again.",
        "ticket_number": "90417",
    },
    malformed=[
        text(r"""
            {
              "subject": "Your thermostat's E4 message",
              "body": "Hello Oona,\nThe clock was lost. Hold the wheel for ten seconds and set the time again.",
              "ticket_number": "90417",
            }
        """),
        text(r"""
            Sure! Here is the reply:
            {"subject": "Your thermostat's E4 message",
            "body": "Hello Oona,\nThe clock was lost. Hold the wheel for ten seconds and set the time again.",
            "ticket_number": "90417"
        """),
    ],
    coercible={
        "subject": "Your thermostat's E4 message",
        "body": "Hello Oona,\nThe clock was lost. Hold the wheel for ten seconds and set the time again.",
        "ticket_number": 90417,
    },
    wrong={
        "subject": {"re": "E4", "language": "en"},
        "body": ["Hello Oona,", "E4 means that the clock was lost.", "Hold the wheel for ten seconds."],
    },
    faults=["subject", "body", "ticket_number"],
)


class TranslateStanza(dspy.Signature):
    """Translate the stanza into English, line by line, and keep the line breaks."""

    stanza: str = dspy.InputField()
    language: str = dspy.InputField()
    title: str = dspy.OutputField(desc="the title in the original language")
    translation: str = dspy.OutputField()
    line_count: int = dspy.OutputField()


STANZA = Case(
    id="stanza",
    signature=TranslateStanza,
    inputs={
        "stanza": "Večerní přívoz\n\nŘeka si brouká pod kůlem,\nže přívozník už spí,\na já tu stojím s košem hrušek.",
        "language": "Czech",
    },
    clean={
        "title": "Večerní přívoz",
        "translation": 'The river hums:\n"The ferryman\'s asleep,"\nand here I stand with pears.',
        "line_count": 3,
    },
    values={
        "title": "Večerní přívoz",
        "translation": 'The river hums:\n"The ferryman\'s asleep,"\nand here I stand with pears.',
        "line_count": 3,
    },
    malformed=[
        text(r"""
            {
              title: "Večerní přívoz",
              translation: "The river hums:\n\"The ferryman's asleep,\"\nand here I stand with pears.",
              line_count: 3
            }
        """),
        text(r"""
            ```json
            {
              "title": "Večerní přívoz",
              "translation": "The river hums:\n\"The ferryman's asleep,\"\nand here I stand with pears.",
              "line_count": 3,
            }
            ```
        """),
    ],
    coercible={
        "title": "Večerní přívoz",
        "translation": 'The river hums:\n"The ferryman\'s asleep,"\nand here I stand with pears.',
        "line_count": "3",
    },
    wrong={
        "title": "Večerní přívoz",
        "translation": {"1": "The river hums:", "2": '"The ferryman\'s asleep,"'},
        "line_count": "three-ish",
    },
    faults=["translation", "line_count"],
)

# Numbers, booleans, literals and enums --------------------------------------------------------------------------------

LEASE_ANSWER = Case(
    id="lease_answer",
    signature="document, question -> answer: str, confidence: float",
    inputs={
        "document": text("""
            § 7 Pets. Fish and caged birds may be kept without notice. Dogs and cats need the landlord's consent in
            writing, which may be withdrawn if neighbours complain twice within a calendar year.
        """),
        "question": "May I keep a budgerigar without asking?",
    },
    clean={"answer": "Yes, caged birds may be kept without notice.", "confidence": 0.93},
    values={"answer": "Yes, caged birds may be kept without notice.", "confidence": 0.93},
    malformed=[
        "{'answer': 'Yes, caged birds may be kept without notice.', 'confidence': 0.93}",
        text("""
            {
              "answer": "Yes, caged birds may be kept without notice.",  // see § 7
              "confidence": 0.93
            }
        """),
    ],
    coercible={"answer": "Yes, caged birds may be kept without notice.", "confidence": "0.93"},
    wrong={"answer": {"pets": "birds", "allowed": True}, "confidence": "fairly high"},
    faults=["answer", "confidence"],
)

HOTEL_REVIEW = Case(
    id="hotel_review",
    signature="review -> stars: int, would_return: bool, headline: str",
    inputs={
        "review": text("""
            Three nights in room 14. Breakfast was generous and the porter found my scarf. The lift was out of order
            and our window would not close, still we'd come again in spring. Four out of five from us.
        """),
    },
    clean={"stars": 4, "would_return": True, "headline": "Kind staff, stubborn window"},
    values={"stars": 4, "would_return": True, "headline": "Kind staff, stubborn window"},
    malformed=[
        "{'stars': 4, 'would_return': True, 'headline': 'Kind staff, stubborn window'}",
        text("""
            {
              stars: 4,
              would_return: true,
              headline: "Kind staff, stubborn window",
            }
        """),
    ],
    coercible={"stars": "4", "would_return": "true", "headline": "Kind staff, stubborn window"},
    wrong={"stars": "four or five", "would_return": "perhaps in spring", "headline": "Kind staff, stubborn window"},
    faults=["stars", "would_return"],
)

FORUM_POST = Case(
    id="forum_post",
    signature="post, board_rules -> label: Literal['fine', 'spam', 'insult', 'off_topic'], score: float, rule: int",
    inputs={
        "post": "Selling 40 unlocked phones, half price, message me!!! First come first served.",
        "board_rules": "1. Stay friendly. 2. No trade outside the market board. 3. Bicycles only.",
    },
    clean={"label": "spam", "score": 0.88, "rule": 2},
    values={"label": "spam", "score": 0.88, "rule": 2},
    malformed=[
        "{label: 'spam', score: 0.88, rule: 2}",
        text("""
            This breaks rule 2, so:

            ```
            {"label": "spam", "score": 0.88, "rule": 2,}
            ```
        """),
    ],
    coercible={"label": "spam", "score": "0.88", "rule": "2"},
    wrong={"label": "advertising", "score": 0.88, "rule": "2 or 3"},
    faults=["label", "rule"],
)


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"


class TriageTicket(dspy.Signature):
    """Sort an IT ticket for the morning shift."""

    ticket: str = dspy.InputField()
    reported_by: str = dspy.InputField()
    priority: Priority = dspy.OutputField()
    queue: Literal["network", "hardware", "accounts", "software"] = dspy.OutputField()
    affected_users: int = dspy.OutputField(desc="how many people cannot work; 1 if only the reporter")
    needs_callback: bool = dspy.OutputField()


TRIAGE = Case(
    id="triage",
    signature=TriageTicket,
    inputs={
        "ticket": "No one on the second floor can log in since 7:50, badge readers dead too. 35 of us wait here.",
        "reported_by": "Jamal Okoro, facilities, ext. 2210",
    },
    clean={"priority": "critical", "queue": "network", "affected_users": 35, "needs_callback": True},
    values={"priority": Priority.CRITICAL, "queue": "network", "affected_users": 35, "needs_callback": True},
    malformed=[
        text("""
            {'priority': 'critical',
             'queue': 'network',
             'affected_users': 35,
             'needs_callback': True}
        """),
        '{"priority": "critical", "queue": "network", "affected_users": 35, "needs_callback": true',
    ],
    coercible={"priority": "critical", "queue": "network", "affected_users": "35", "needs_callback": "True"},
    wrong={"priority": "P1/P2", "queue": "network", "affected_users": "most of the floor", "needs_callback": True},
    faults=["priority", "affected_users"],
)


class AvalancheDanger(IntEnum):
    LOW = 1
    MODERATE = 2
    CONSIDERABLE = 3
    HIGH = 4
    VERY_HIGH = 5


class RateAvalanche(dspy.Signature):
    """Read a mountain bulletin and give the avalanche danger on the European scale from 1 to 5."""

    bulletin: str = dspy.InputField()
    danger: AvalancheDanger = dspy.OutputField()
    new_snow_cm: int = dspy.OutputField()
    wind_kmh: float = dspy.OutputField()
    aspects: list[Literal["N", "NE", "E", "SE", "S", "SW", "W", "NW"]] = dspy.OutputField(desc="the risky slopes")


AVALANCHE = Case(
    id="avalanche",
    signature=RateAvalanche,
    inputs={
        "bulletin": text("""
            Überblick: 45 cm Neuschnee seit gestern, dazu Nordwestwind mit 62,5 km/h im Mittel. In Hängen nach Osten
            sind spontane Lawinen wahrscheinlich. Große Gefahr (Stufe 4) oberhalb von 2200 m.
        """),
    },
    clean={"danger": 4, "new_snow_cm": 45, "wind_kmh": 62.5, "aspects": ["E"]},
    values={"danger": AvalancheDanger.HIGH, "new_snow_cm": 45, "wind_kmh": 62.5, "aspects": ["E"]},
    malformed=[
        text("""
            {
              "danger": 4,        // große Gefahr
              "new_snow_cm": 45,  // seit gestern
              "wind_kmh": 62.5,
              "aspects": ["E"]
            }
        """),
        '{danger: 4, new_snow_cm: 45, wind_kmh: 62.5, aspects: ["E"',
    ],
    coercible={"danger": "4", "new_snow_cm": "45", "wind_kmh": "62.5", "aspects": "E"},
    wrong={"danger": 7, "new_snow_cm": 45, "wind_kmh": "stürmisch", "aspects": ["E", "uphill"]},
    faults=["danger", "wind_kmh", "aspects.1"],
)


class Bin(Enum):
    PAPER = "papier"
    GLASS = "szkło"
    PLASTIC = "tworzywa"
    ORGANIC = "bio"
    MIXED = "zmieszane"


class SortWaste(dspy.Signature):
    """Say into which bin a thing goes in Kraków. Answer with the bin's Polish name."""

    thing: str = dspy.InputField()
    material: str = dspy.InputField()
    main_bin: Bin = dspy.OutputField()
    lid_bin: Bin | None = dspy.OutputField(desc="the bin for the lid, if the thing has one")
    rinse_first: bool = dspy.OutputField()
    step_count: Literal[1, 2, 3] = dspy.OutputField()


WASTE = Case(
    id="waste",
    signature=SortWaste,
    inputs={"thing": "słoik po ogórkach", "material": "glass jar with a metal lid, some brine left"},
    clean={"main_bin": "szkło", "lid_bin": "tworzywa", "rinse_first": False, "step_count": 2},
    values={"main_bin": Bin.GLASS, "lid_bin": Bin.PLASTIC, "rinse_first": False, "step_count": 2},
    malformed=[
        "{'main_bin': 'szkło', 'lid_bin': 'tworzywa', 'rinse_first': False, 'step_count': 2}",
        text("""
            Słoik idzie do szkła, a zakrętka do tworzyw:
            {
              "main_bin": "szkło",
              "lid_bin": "tworzywa",
              "rinse_first": false,
              "step_count": 2,
            }
        """),
    ],
    coercible={"main_bin": "szkło", "lid_bin": "tworzywa", "rinse_first": "false", "step_count": "2"},
    wrong={"main_bin": "piwnica", "lid_bin": "metal", "rinse_first": "only a bit", "step_count": 2},
    faults=["main_bin", "lid_bin", "rinse_first"],
)


class InspectFlat(dspy.Signature):
    """Fill the handover checklist of a flat from the agent's spoken notes."""

    notes: str = dspy.InputField()
    keys_returned: bool = dspy.OutputField()
    walls_painted: bool = dspy.OutputField()
    smoke_alarm_works: bool = dspy.OutputField()
    meter_reading_kwh: float = dspy.OutputField()
    keys_count: int = dspy.OutputField()


FLAT_HANDOVER = Case(
    id="flat_handover",
    signature=InspectFlat,
    inputs={
        "notes": text("""
            Got all the keys, that's five incl. the cellar. Hall not painted, they had agreed to. Alarm beeps when you
            press it. Electricity 18302.7. Nice people, by the way.
        """),
    },
    clean={
        "keys_returned": True,
        "walls_painted": False,
        "smoke_alarm_works": True,
        "meter_reading_kwh": 18302.7,
        "keys_count": 5,
    },
    values={
        "keys_returned": True,
        "walls_painted": False,
        "smoke_alarm_works": True,
        "meter_reading_kwh": 18302.7,
        "keys_count": 5,
    },
    malformed=[
        text("""
            ```python
            {
                "keys_returned": True,
                "walls_painted": False,
                "smoke_alarm_works": True,
                "meter_reading_kwh": 18302.7,
                "keys_count": 5,
            }
            ```
        """),
        text("""
            {
              keys_returned: true,
              walls_painted: false,
              smoke_alarm_works: true,
              meter_reading_kwh: 18302.7,
              keys_count: 5
        """),
    ],
    coercible={
        "keys_returned": 1,
        "walls_painted": 0,
        "smoke_alarm_works": "true",
        "meter_reading_kwh": "18302.7",
        "keys_count": 5.0,
    },
    wrong={
        "keys_returned": True,
        "walls_painted": "partly",
        "smoke_alarm_works": True,
        "meter_reading_kwh": [18302, 7],
        "keys_count": "five incl. the cellar",
    },
    faults=["walls_painted", "meter_reading_kwh", "keys_count"],
)

# Optional values and defaults -----------------------------------------------------------------------------------------


class ReadGrantCall(dspy.Signature):
    """Pull the terms out of a call for grants; give null for what the call does not say."""

    call_text: str = dspy.InputField()
    funder: str = dspy.OutputField()
    deadline: Optional[dt.date] = dspy.OutputField()
    max_amount: int | None = dspy.OutputField(desc="whole euros")
    contact: str | None = dspy.OutputField()
    own_share_percent: Optional[float] = dspy.OutputField()


GRANT_CALL = Case(
    id="grant_call",
    signature=ReadGrantCall,
    inputs={
        "call_text": text("""
            The Hollis Trust supports village halls with up to 15000 euros a project. Applications until 30 September
            2026. Applicants carry 12.5 % of the costs themselves.
        """),
    },
    clean={
        "funder": "Hollis Trust",
        "deadline": "2026-09-30",
        "max_amount": 15000,
        "contact": None,
        "own_share_percent": 12.5,
    },
    values={
        "funder": "Hollis Trust",
        "deadline": dt.date(2026, 9, 30),
        "max_amount": 15000,
        "contact": None,
        "own_share_percent": 12.5,
    },
    malformed=[
        text("""
            {'funder': 'Hollis Trust', 'deadline': '2026-09-30', 'max_amount': 15000, 'contact': None,
             'own_share_percent': 12.5}
        """),
        text("""
            {
              "funder": "Hollis Trust",
              "deadline": "2026-09-30",
              "max_amount": 15000,
              "contact": null,  # not in the text
              "own_share_percent": 12.5,
            }
        """),
    ],
    coercible={
        "funder": "Hollis Trust",
        "deadline": "2026-09-30T00:00:00",
        "max_amount": "15000",
        "contact": None,
        "own_share_percent": "12.5",
    },
    wrong={
        "funder": None,
        "deadline": "end of summer",
        "max_amount": "fifteen grand",
        "contact": None,
        "own_share_percent": 12.5,
    },
    faults=["funder", "deadline", "max_amount"],
)


class ReadFlightStrip(dspy.Signature):
    """Read a glider pilot's log line."""

    log_line: str = dspy.InputField()
    callsign: str = dspy.OutputField()
    launch: Literal["winch", "aerotow", "self"] = dspy.OutputField()
    release_height_m: int | None = dspy.OutputField()
    passenger: str | None = dspy.OutputField()
    outlanding: bool | None = dspy.OutputField(desc="null when the line does not say")


GLIDER_LOG = Case(
    id="glider_log",
    signature=ReadFlightStrip,
    inputs={"log_line": "D-7714, Windenstart, Gast: Frau Özdemir, Ausklinkhöhe nicht notiert, auf dem Platz gelandet"},
    clean={
        "callsign": "7714",
        "launch": "winch",
        "release_height_m": None,
        "passenger": "Frau Özdemir",
        "outlanding": False,
    },
    values={
        "callsign": "7714",
        "launch": "winch",
        "release_height_m": None,
        "passenger": "Frau Özdemir",
        "outlanding": False,
    },
    malformed=[
        text("""
            Here's the JSON you asked for:
            {callsign: "7714", launch: "winch", release_height_m: null, passenger: "Frau Özdemir", outlanding: false}
        """),
        text("""
            {
              'callsign': '7714',
              'launch': 'winch',
              'release_height_m': None,
              'passenger': 'Frau Özdemir',
              'outlanding': False
        """),
    ],
    coercible={
        "callsign": 7714,
        "launch": "winch",
        "release_height_m": "null",
        "passenger": "Frau Özdemir",
        "outlanding": "false",
    },
    wrong={
        "launch": "catapult",
        "release_height_m": "not noted, maybe 400",
        "passenger": "Frau Özdemir",
        "outlanding": False,
    },
    faults=["callsign", "launch", "release_height_m"],
)


class DescribePodcast(dspy.Signature):
    """Write the feed entry of a podcast episode."""

    transcript_start: str = dspy.InputField()
    title: str = dspy.OutputField()
    episode: int = dspy.OutputField()
    language: str = dspy.OutputField(default="en", desc="two-letter code; leave it out for English")
    explicit: bool = dspy.OutputField(default=False)
    tags: list[str] = dspy.OutputField(default_factory=list)


PODCAST = Case(
    id="podcast",
    signature=DescribePodcast,
    inputs={
        "transcript_start": text("""
            Welcome to Loose Bolts, episode one hundred and twelve. Today we take a Danish moped apart, and Freya tells
            us why she never throws a carburettor away.
        """),
    },
    # `language` and `explicit` are left out: the defaults apply.
    clean={"title": "A Danish moped in pieces", "episode": 112, "tags": ["mopeds"]},
    values={
        "title": "A Danish moped in pieces",
        "episode": 112,
        "language": "en",
        "explicit": False,
        "tags": ["mopeds"],
    },
    malformed=[
        '{title: "A Danish moped in pieces", episode: 112, tags: ["mopeds"]}',
        text("""
            ```json
            {
              "title": "A Danish moped in pieces",
              "episode": 112,
              "tags": ["mopeds",],
            }
            ```
        """),
    ],
    coercible={"title": "A Danish moped in pieces", "episode": "112", "tags": "mopeds"},
    wrong={"episode": "the one after 111", "explicit": "mild swearing", "tags": ["mopeds"]},
    faults=["title", "episode", "explicit"],
)


class PrintSettings(BaseModel):
    copies: int = 1
    paper: Literal["A3", "A4", "A5"] = "A4"
    double_sided: bool = True
    pages: list[int] = Field(default_factory=list[int], description="empty for the whole document")
    pin: str | None = None


class ReadPrintOrder(dspy.Signature):
    """Turn a note at the copy desk into print settings. Leave out what the note does not mention."""

    note: str = dspy.InputField()
    settings: PrintSettings = dspy.OutputField()
    rush: bool = dspy.OutputField()


PRINT_ORDER = Case(
    id="print_order",
    signature=ReadPrintOrder,
    inputs={"note": "25x only page 3 pls, single sided!! lock it with 4471. no hurry, Tuesday is ok - Mireille"},
    clean={"settings": {"copies": 25, "double_sided": False, "pages": [3], "pin": "4471"}, "rush": False},
    values={"settings": PrintSettings(copies=25, double_sided=False, pages=[3], pin="4471"), "rush": False},
    malformed=[
        "{'settings': {'copies': 25, 'double_sided': False, 'pages': [3], 'pin': '4471'}, 'rush': False}",
        text("""
            {
              "settings": {
                "copies": 25,
                "double_sided": false,
                "pages": [3],
                "pin": "4471",
              },
              "rush": false,
            }
        """),
    ],
    coercible={"settings": {"copies": "25", "double_sided": "false", "pages": 3, "pin": 4471}, "rush": "false"},
    wrong={"settings": {"copies": "plenty", "paper": "napkin", "double_sided": False, "pages": [3]}},
    faults=["settings.copies", "settings.paper", "rush"],
)

# Lists, dicts, sets and tuples ----------------------------------------------------------------------------------------

PAPER_KEYWORDS = Case(
    id="paper_keywords",
    signature="abstract -> keywords: list[str], discipline: str, is_review: bool",
    inputs={
        "abstract": text("""
            We followed 61 hedgerows in Brittany over nine years and counted bank voles by live trapping. Rows cut every
            third winter held twice as many voles as rows cut each year, whatever the width of the margin.
        """),
    },
    clean={"keywords": ["hedgerow management", "bank vole", "Brittany"], "discipline": "ecology", "is_review": False},
    values={"keywords": ["hedgerow management", "bank vole", "Brittany"], "discipline": "ecology", "is_review": False},
    malformed=[
        "{'keywords': ['hedgerow management', 'bank vole', 'Brittany'], 'discipline': 'ecology', 'is_review': False}",
        text("""
            Okay, so the paper is about hedges and voles.
            {
              "keywords": [
                "hedgerow management",
                "bank vole",
                "Brittany",
              ],
              "discipline": "ecology",
              "is_review": false
            }
        """),
    ],
    coercible={
        "keywords": '["hedgerow management", "bank vole", "Brittany"]',
        "discipline": "ecology",
        "is_review": "False",
    },
    wrong={
        "keywords": ["hedgerow management", {"species": "bank vole"}, "Brittany"],
        "discipline": "ecology",
        "is_review": "more of a field study",
    },
    faults=["keywords.1", "is_review"],
)


class ReadLapTimes(dspy.Signature):
    """Copy a runner's lap times, in seconds, from the coach's notes."""

    notes: str = dspy.InputField()
    lane: int = dspy.InputField()
    lap_seconds: list[float] = dspy.OutputField()
    heart_rates: list[int] = dspy.OutputField()
    best_lap: int = dspy.OutputField(desc="counted from 1")


LAP_TIMES = Case(
    id="lap_times",
    signature=ReadLapTimes,
    inputs={"notes": "4x400, Aylin: 71.2 / 70.8 / 69.9 / 72.4, pulse after each 168, 174, 177, 181", "lane": 2},
    clean={"lap_seconds": [71.2, 70.8, 69.9, 72.4], "heart_rates": [168, 174, 177, 181], "best_lap": 3},
    values={"lap_seconds": [71.2, 70.8, 69.9, 72.4], "heart_rates": [168, 174, 177, 181], "best_lap": 3},
    malformed=[
        text("""
            {
              lap_seconds: [71.2, 70.8, 69.9, 72.4,],
              heart_rates: [168, 174, 177, 181,],
              best_lap: 3,
            }
        """),
        text("""
            ```json
            {
              "lap_seconds": [71.2, 70.8, 69.9, 72.4],
              "heart_rates": [168, 174, 177, 181],
              "best_lap": 3  // 69.9
            }
            ```
        """),
    ],
    coercible={
        "lap_seconds": ["71.2", "70.8", "69.9", "72.4"],
        "heart_rates": "[168, 174, 177, 181]",
        "best_lap": "3",
    },
    wrong={
        "lap_seconds": [71.2, "just under 71", 69.9, 72.4],
        "heart_rates": [168, 174, None, 181],
        "best_lap": 3,
    },
    faults=["lap_seconds.1", "heart_rates.2"],
)

STOCK_COUNT = Case(
    id="stock_count",
    signature="shelf_notes: str -> counts: dict[str, int], total: int, recount_needed: bool",
    inputs={"shelf_notes": "Aisle C: M6 bolts 240 (sealed box), washers 75, cable ties 12, some are gone. Sum 327."},
    clean={"counts": {"M6 bolts": 240, "washers": 75, "cable ties": 12}, "total": 327, "recount_needed": True},
    values={"counts": {"M6 bolts": 240, "washers": 75, "cable ties": 12}, "total": 327, "recount_needed": True},
    malformed=[
        "{'counts': {'M6 bolts': 240, 'washers': 75, 'cable ties': 12}, 'total': 327, 'recount_needed': True}",
        text("""
            ```
            {
              "counts": {
                "M6 bolts": 240,
                "washers": 75,
                "cable ties": 12,
              },
              "total": 327,
              "recount_needed": true,
            }
            ```
        """),
    ],
    coercible={
        "counts": {"M6 bolts": "240", "washers": "75", "cable ties": "12"},
        "total": "327",
        "recount_needed": "true",
    },
    wrong={
        "counts": {"M6 bolts": 240, "washers": "around 75", "cable ties": {"left": 12}},
        "total": 327,
        "recount_needed": True,
    },
    faults=["counts.washers", "counts.cable ties"],
)


class ConvertPriceList(dspy.Signature):
    """Read the exchange desk's board. Rates are how many units of the currency one euro buys."""

    board: str = dspy.InputField()
    rates: dict[str, Decimal] = dspy.OutputField(desc="by three-letter currency code")
    fee: Decimal = dspy.OutputField()
    valid_on: dt.date = dspy.OutputField()


EXCHANGE_RATES = Case(
    id="exchange_rates",
    signature=ConvertPriceList,
    inputs={"board": "Wechselkurse 14.04.2026 - CHF 0,9412 - SEK 11,365 - ISK 148,10. Gebühr je Vorgang 2,50 EUR"},
    clean={
        "rates": {"CHF": "0.9412", "SEK": "11.365", "ISK": "148.10"},
        "fee": "2.50",
        "valid_on": "2026-04-14",
    },
    values={
        "rates": {"CHF": Decimal("0.9412"), "SEK": Decimal("11.365"), "ISK": Decimal("148.10")},
        "fee": Decimal("2.50"),
        "valid_on": dt.date(2026, 4, 14),
    },
    malformed=[
        text("""
            {
              'rates': {'CHF': '0.9412', 'SEK': '11.365', 'ISK': '148.10'},
              'fee': '2.50',
              'valid_on': '2026-04-14',
            }
        """),
        text("""
            The board in JSON:
            {
              "rates": {
                "CHF": "0.9412",
                "SEK": "11.365",
                "ISK": "148.10"
              },
              "fee": "2.50",
              "valid_on": "2026-04-14"
        """),
    ],
    coercible={
        "rates": '{"CHF": "0.9412", "SEK": "11.365", "ISK": "148.10"}',
        "fee": 2.5,
        "valid_on": "2026-04-14",
    },
    wrong={
        "rates": {"CHF": "0.9412", "SEK": "eleven and a bit", "ISK": "148.10"},
        "fee": "2.50",
        "valid_on": "April 14th",
    },
    faults=["rates.SEK", "valid_on"],
)


class TrackPoints(dspy.Signature):
    """Turn a walker's description into points on the map, as pairs of latitude and longitude."""

    description: str = dspy.InputField()
    start: tuple[float, float] = dspy.OutputField()
    waypoints: list[tuple[float, float]] = dspy.OutputField()
    climb: tuple[int, str] = dspy.OutputField(desc="amount and unit")


WALK = Case(
    id="walk",
    signature=TrackPoints,
    inputs={
        "description": text("""
            From Sóller station (39.766, 2.715) by the Barranc (39.782, 2.741) to Cúber dam (39.787, 2.778), 790 m up.
        """),
    },
    clean={"start": [39.766, 2.715], "waypoints": [[39.782, 2.741], [39.787, 2.778]], "climb": [790, "m"]},
    values={"start": (39.766, 2.715), "waypoints": [(39.782, 2.741), (39.787, 2.778)], "climb": (790, "m")},
    malformed=[
        "{'start': [39.766, 2.715], 'waypoints': [[39.782, 2.741], [39.787, 2.778]], 'climb': [790, 'm']}",
        text("""
            {
              "start": [39.766, 2.715],    // Sóller station
              "waypoints": [
                [39.782, 2.741],           // Barranc
                [39.787, 2.778],           // Cúber dam
              ],
              "climb": [790, "m"]
            }
        """),
    ],
    coercible={
        "start": ["39.766", "2.715"],
        "waypoints": [["39.782", "2.741"], "[39.787, 2.778]"],
        "climb": ["790", "m"],
    },
    wrong={"start": [39.766, "east"], "waypoints": [[39.782, 2.741], ["the dam", 2.778]], "climb": ["steep", "m"]},
    faults=["start.1", "waypoints.1.0", "climb.0"],
)


class ListAllergens(dspy.Signature):
    """Name the allergens in a dish."""

    dish: str = dspy.InputField()
    ingredients: list[str] = dspy.InputField()
    allergens: set[Literal["egg", "fish", "gluten", "milk", "mustard", "nuts", "sesame", "soy"]] = dspy.OutputField()
    vegetarian: bool = dspy.OutputField()
    note: str | None = dspy.OutputField()


ALLERGENS = Case(
    id="allergens",
    signature=ListAllergens,
    inputs={
        "dish": "かけうどん",
        "ingredients": ["udon noodles (wheat)", "dashi from bonito", "soy sauce", "spring onion"],
    },
    clean={"allergens": ["gluten", "fish", "soy"], "vegetarian": False, "note": "出汁は鰹節から。"},
    values={"allergens": {"gluten", "fish", "soy"}, "vegetarian": False, "note": "出汁は鰹節から。"},
    malformed=[
        "{'allergens': ['gluten', 'fish', 'soy'], 'vegetarian': False, 'note': '出汁は鰹節から。'}",
        text("""
            ```json
            {
              allergens: ["gluten", "fish", "soy"],
              vegetarian: false,
              note: "出汁は鰹節から。"
            }
            ```
        """),
    ],
    coercible={"allergens": '["gluten", "fish", "soy"]', "vegetarian": "false", "note": "出汁は鰹節から。"},
    wrong={"allergens": ["gluten", "fish", "spring onion"], "vegetarian": "except for the broth", "note": None},
    faults=["allergens.2", "vegetarian"],
)


class PlanSeats(dspy.Signature):
    """Fill the seating grid of a small theatre: one list per row, the number is the party's number, 0 is free."""

    parties: dict[str, int] = dspy.InputField(desc="seats wanted by party")
    rows: int = dspy.InputField()
    grid: list[list[int]] = dspy.OutputField()
    unseated: list[str] = dspy.OutputField()
    free_seats: int = dspy.OutputField()


SEATING = Case(
    id="seating",
    signature=PlanSeats,
    inputs={"parties": {"Abbott": 3, "Lindqvist": 2, "Nakamura": 2, "school class": 14}, "rows": 2},
    clean={"grid": [[1, 1, 1, 0], [2, 2, 3, 3]], "unseated": ["school class"], "free_seats": 1},
    values={"grid": [[1, 1, 1, 0], [2, 2, 3, 3]], "unseated": ["school class"], "free_seats": 1},
    malformed=[
        text("""
            {
              "grid": [
                [1, 1, 1, 0],
                [2, 2, 3, 3],
              ],
              "unseated": ["school class"],
              "free_seats": 1,
            }
        """),
        "The class does not fit. {'grid': [[1, 1, 1, 0], [2, 2, 3, 3]], 'unseated': ['school class'], 'free_seats': 1}",
    ],
    coercible={"grid": [["1", "1", "1", "0"], ["2", "2", "3", "3"]], "unseated": "school class", "free_seats": "1"},
    wrong={"grid": [[1, 1, 1, "aisle"], [2, 2, "as above", 3]], "unseated": ["school class"], "free_seats": 1},
    faults=["grid.0.3", "grid.1.2"],
)


class WriteQuery(dspy.Signature):
    """Write one SQL query for the question, with named parameters instead of literals."""

    schema_sql: str = dspy.InputField()
    question: str = dspy.InputField()
    query: str = dspy.OutputField()
    parameters: dict[str, str] = dspy.OutputField()
    read_only: bool = dspy.OutputField()


SQL_QUERY = Case(
    id="sql_query",
    signature=WriteQuery,
    inputs={
        "schema_sql": "CREATE TABLE boats (id INTEGER, name TEXT, berth TEXT, tags TEXT[], paid_until DATE);",
        "question": "Which boats at pier 7 have the tag winter and are not paid beyond May 2026?",
    },
    clean={
        "query": "SELECT name FROM boats\nWHERE tags @> '{\"winter\"}' AND berth = :pier AND paid_until < :day",
        "parameters": {"pier": "7", "day": "2026-06-01"},
        "read_only": True,
    },
    values={
        "query": "SELECT name FROM boats\nWHERE tags @> '{\"winter\"}' AND berth = :pier AND paid_until < :day",
        "parameters": {"pier": "7", "day": "2026-06-01"},
        "read_only": True,
    },
    malformed=[
        text(r"""
            ```json
            {
              "query": "SELECT name FROM boats\nWHERE tags @> '{\"winter\"}' AND berth = :pier AND paid_until < :day",
              "parameters": {"pier": "7", "day": "2026-06-01"},
              "read_only": true
            }
            ```
            The query only reads, so `read_only` is true.
        """),
        text(r"""
            {
              query: "SELECT name FROM boats\nWHERE tags @> '{\"winter\"}' AND berth = :pier AND paid_until < :day",
              parameters: {pier: "7", day: "2026-06-01"},
              read_only: true,
            }
        """),
    ],
    coercible={
        "query": "SELECT name FROM boats\nWHERE tags @> '{\"winter\"}' AND berth = :pier AND paid_until < :day",
        "parameters": {"pier": 7, "day": "2026-06-01"},
        "read_only": "true",
    },
    wrong={
        "query": {"select": ["name"], "from": "boats"},
        "parameters": {"pier": ["7", "7a"], "day": "2026-06-01"},
        "read_only": True,
    },
    faults=["query", "parameters.pier"],
)

# Dates, times, decimals and identifiers -------------------------------------------------------------------------------


class BookRoom(dspy.Signature):
    """Turn a chat message into a booking of a meeting room."""

    message: str = dspy.InputField()
    today: dt.date = dspy.InputField()
    day: dt.date = dspy.OutputField()
    starts: dt.time = dspy.OutputField()
    ends: dt.time = dspy.OutputField()
    seats: int = dspy.OutputField()
    zone: Literal["Europe/Lisbon", "Europe/Helsinki", "UTC"] = dspy.OutputField()


MEETING_ROOM = Case(
    id="meeting_room",
    signature=BookRoom,
    inputs={
        "message": "Need something for 9 of us next Thursday 2:15pm to quarter to four, Lisbon office - thx, Inês",
        "today": dt.date(2026, 5, 8),
    },
    clean={
        "day": "2026-05-14",
        "starts": "14:15:00",
        "ends": "15:45:00",
        "seats": 9,
        "zone": "Europe/Lisbon",
    },
    values={
        "day": dt.date(2026, 5, 14),
        "starts": dt.time(14, 15),
        "ends": dt.time(15, 45),
        "seats": 9,
        "zone": "Europe/Lisbon",
    },
    malformed=[
        text("""
            {day: "2026-05-14", starts: "14:15:00", ends: "15:45:00", seats: 9, zone: "Europe/Lisbon"}
        """),
        text("""
            Next Thursday is 14 May 2026.

            {
              'day': '2026-05-14',
              'starts': '14:15:00',
              'ends': '15:45:00',
              'seats': 9,
              'zone': 'Europe/Lisbon'
            }
        """),
    ],
    coercible={
        "day": "2026-05-14",
        "starts": "14:15",
        "ends": "15:45",
        "seats": "9",
        "zone": "Europe/Lisbon",
    },
    wrong={
        "day": "next Thursday",
        "starts": "after lunch",
        "ends": "15:45:00",
        "seats": 9,
        "zone": "Portugal",
    },
    faults=["day", "starts", "zone"],
)


class ReadErrorReport(dspy.Signature):
    """Take the facts out of an error report for the on-call log."""

    report: str = dspy.InputField()
    trace_id: UUID = dspy.OutputField()
    seen_at: dt.datetime = dspy.OutputField(desc="with the offset from UTC")
    retries: int = dspy.OutputField()
    recovered: bool = dspy.OutputField()


ERROR_REPORT = Case(
    id="error_report",
    signature=ReadErrorReport,
    inputs={
        "report": text("""
            2026-02-11 23:41:07 UTC worker-3: gave up after 6 retries, trace=0c9e4b52-7d1f-4c7e-9a33-51d2f0b8a6e4,
            queue drained by worker-5 two minutes later
        """),
    },
    clean={
        "trace_id": "0c9e4b52-7d1f-4c7e-9a33-51d2f0b8a6e4",
        "seen_at": "2026-02-11T23:41:07Z",
        "retries": 6,
        "recovered": True,
    },
    values={
        "trace_id": UUID("0c9e4b52-7d1f-4c7e-9a33-51d2f0b8a6e4"),
        "seen_at": dt.datetime(2026, 2, 11, 23, 41, 7, tzinfo=dt.UTC),
        "retries": 6,
        "recovered": True,
    },
    malformed=[
        text("""
            {'trace_id': '0c9e4b52-7d1f-4c7e-9a33-51d2f0b8a6e4', 'seen_at': '2026-02-11T23:41:07Z', 'retries': 6,
             'recovered': True}
        """),
        text("""
            {
              "trace_id": "0c9e4b52-7d1f-4c7e-9a33-51d2f0b8a6e4",
              "seen_at": "2026-02-11T23:41:07Z",
              "retries": 6,
              "recovered": true,
        """),
    ],
    coercible={
        "trace_id": "0c9e4b52-7d1f-4c7e-9a33-51d2f0b8a6e4",
        "seen_at": "2026-02-11 23:41:07+00:00",
        "retries": "6",
        "recovered": "true",
    },
    wrong={
        "trace_id": "0c9e4b52-7d1f-....",
        "seen_at": "shortly before midnight",
        "retries": 6,
        "recovered": "by worker-5",
    },
    faults=["trace_id", "seen_at", "recovered"],
)


class ReadPayslip(dspy.Signature):
    """Read the sums of a payslip. Sums are decimal numbers without a currency sign."""

    payslip: str = dspy.InputField()
    gross: Decimal = dspy.OutputField()
    deductions: dict[str, Decimal] = dspy.OutputField()
    net: Decimal = dspy.OutputField()
    month: dt.date = dspy.OutputField(desc="the first day of the month")
    hours: float = dspy.OutputField()


PAYSLIP = Case(
    id="payslip",
    signature=ReadPayslip,
    inputs={"payslip": "Paie mars 2026 : brut 2 418,60 € - mutuelle 38,20 - retraite 271,15 - net 2 109,25 - 151,67 h"},
    clean={
        "gross": 2418.6,
        "deductions": {"mutuelle": 38.2, "retraite": 271.15},
        "net": 2109.25,
        "month": "2026-03-01",
        "hours": 151.67,
    },
    values={
        "gross": Decimal("2418.60"),
        "deductions": {"mutuelle": Decimal("38.20"), "retraite": Decimal("271.15")},
        "net": Decimal("2109.25"),
        "month": dt.date(2026, 3, 1),
        "hours": 151.67,
    },
    malformed=[
        text("""
            {
              gross: 2418.60,
              deductions: {mutuelle: 38.20, retraite: 271.15},
              net: 2109.25,
              month: "2026-03-01",
              hours: 151.67
            }
        """),
        text("""
            ```json
            {
              "gross": 2418.60,
              "deductions": {"mutuelle": 38.20, "retraite": 271.15,},
              "net": 2109.25,
              "month": "2026-03-01",
              "hours": 151.67,
            }
            ```
        """),
    ],
    coercible={
        "gross": "2418.60",
        "deductions": '{"mutuelle": "38.20", "retraite": "271.15"}',
        "net": "2109.25",
        "month": "2026-03-01",
        "hours": "151.67",
    },
    wrong={
        "gross": "see line 1",
        "deductions": {"mutuelle": 38.2, "retraite": {"part": 271.15}},
        "net": 2109.25,
        "month": "mars",
        "hours": 151.67,
    },
    faults=["gross", "deductions.retraite", "month"],
)


class PlanScreening(dspy.Signature):
    """Plan an evening at the film club."""

    films: list[str] = dspy.InputField()
    doors_open: dt.datetime = dspy.InputField()
    film_starts: dt.datetime = dspy.OutputField()
    running_time: dt.timedelta = dspy.OutputField(desc="ISO 8601 duration")
    curfew: dt.time = dspy.OutputField()
    intermission: bool = dspy.OutputField()
    ticket_price: Decimal = dspy.OutputField()


FILM_CLUB = Case(
    id="film_club",
    signature=PlanScreening,
    inputs={
        "films": ["Le Passeur (2 h 07, entrée 6,50 €)", "Court métrage: Moules (9 min)"],
        "doors_open": dt.datetime(2026, 11, 20, 19, 30),
    },
    clean={
        "film_starts": "2026-11-20T20:00:00",
        "running_time": "PT2H16M",
        "curfew": "23:30:00",
        "intermission": False,
        "ticket_price": "6.50",
    },
    values={
        "film_starts": dt.datetime(2026, 11, 20, 20, 0),
        "running_time": dt.timedelta(hours=2, minutes=16),
        "curfew": dt.time(23, 30),
        "intermission": False,
        "ticket_price": Decimal("6.50"),
    },
    malformed=[
        text("""
            Plan pour vendredi :
            {'film_starts': '2026-11-20T20:00:00', 'running_time': 'PT2H16M', 'curfew': '23:30:00',
             'intermission': False, 'ticket_price': '6.50'}
        """),
        text("""
            {
              "film_starts": "2026-11-20T20:00:00",
              "running_time": "PT2H16M",  /* 127 + 9 minutes */
              "curfew": "23:30:00",
              "intermission": false,
              "ticket_price": "6.50"
            }
        """),
    ],
    coercible={
        "film_starts": "2026-11-20T20:00:00",
        "running_time": "PT2H16M",
        "curfew": "23:30",
        "intermission": 0,
        "ticket_price": 6.5,
    },
    wrong={
        "film_starts": "half an hour after the doors",
        "running_time": "two hours and a short",
        "curfew": "23:30:00",
        "intermission": False,
        "ticket_price": "free for members",
    },
    faults=["film_starts", "running_time", "ticket_price"],
)


class SourceKind(StrEnum):
    NEWS = "news"
    DATASET = "dataset"
    BLOG = "blog"


class CiteSource(dspy.Signature):
    """Make a citation of a web page."""

    page_text: str = dspy.InputField()
    address: str = dspy.InputField()
    url: AnyHttpUrl = dspy.OutputField()
    kind: SourceKind = dspy.OutputField()
    published: dt.date | None = dspy.OutputField()
    authors: list[str] = dspy.OutputField()


WEB_SOURCE = Case(
    id="web_source",
    signature=CiteSource,
    inputs={
        "page_text": "Tide gauge readings, Cuxhaven, 1-minute means. Compiled by Henrike Thomsen. No date given.",
        "address": "https://gauges.example.org/cuxhaven?res=1min",
    },
    clean={
        "url": "https://gauges.example.org/cuxhaven?res=1min",
        "kind": "dataset",
        "published": None,
        "authors": ["Henrike Thomsen"],
    },
    values={
        "url": AnyHttpUrl("https://gauges.example.org/cuxhaven?res=1min"),
        "kind": SourceKind.DATASET,
        "published": None,
        "authors": ["Henrike Thomsen"],
    },
    malformed=[
        text("""
            {'url': 'https://gauges.example.org/cuxhaven?res=1min',
             'kind': 'dataset',
             'published': None,
             'authors': ['Henrike Thomsen']}
        """),
        text("""
            ```
            {
              url: "https://gauges.example.org/cuxhaven?res=1min",
              kind: "dataset",
              published: null,
              authors: ["Henrike Thomsen"],
            }
            ```
        """),
    ],
    coercible={
        "url": "https://gauges.example.org/cuxhaven?res=1min",
        "kind": "dataset",
        "published": "null",
        "authors": "Henrike Thomsen",
    },
    wrong={"url": "the Cuxhaven gauge page", "kind": "dataset", "published": "undated"},
    faults=["url", "published", "authors"],
)

# Nested models --------------------------------------------------------------------------------------------------------


class Address(BaseModel):
    street: str
    postcode: str
    city: str


class Party(BaseModel):
    name: str
    address: Address
    vat_id: str | None = None


class InvoiceLine(BaseModel):
    description: str
    quantity: int
    amount: Decimal = Field(description="net, for the whole line")


class Invoice(BaseModel):
    number: str
    issued: dt.date
    seller: Party
    lines: list[InvoiceLine]
    total: Decimal


class ReadInvoice(dspy.Signature):
    """Read a scanned invoice."""

    scan: str = dspy.InputField(desc="text from the scanner, with its errors")
    invoice: Invoice = dspy.OutputField()
    confidence: float = dspy.OutputField(desc="from 0 to 1")


NESTED_INVOICE = Case(
    id="nested_invoice",
    signature=ReadInvoice,
    inputs={
        "scan": text("""
            TISCHLEREI BÖHM   Am Wehr 3   01917 Kamenz        Rechnung 20260118        23.01.2026
            2  Fensterflügel aufgearbeitet          412,50
            1  Anfahrt                               35,00
                                         netto      447,50      (USt-frei n. § 19)
        """),
    },
    clean={
        "invoice": {
            "number": "20260118",
            "issued": "2026-01-23",
            "seller": {
                "name": "Tischlerei Böhm",
                "address": {"street": "Am Wehr 3", "postcode": "01917", "city": "Kamenz"},
                "vat_id": None,
            },
            "lines": [
                {"description": "Fensterflügel aufgearbeitet", "quantity": 2, "amount": "412.50"},
                {"description": "Anfahrt", "quantity": 1, "amount": "35.00"},
            ],
            "total": "447.50",
        },
        "confidence": 0.9,
    },
    values={
        "invoice": Invoice(
            number="20260118",
            issued=dt.date(2026, 1, 23),
            seller=Party(
                name="Tischlerei Böhm",
                address=Address(street="Am Wehr 3", postcode="01917", city="Kamenz"),
            ),
            lines=[
                InvoiceLine(description="Fensterflügel aufgearbeitet", quantity=2, amount=Decimal("412.50")),
                InvoiceLine(description="Anfahrt", quantity=1, amount=Decimal("35.00")),
            ],
            total=Decimal("447.50"),
        ),
        "confidence": 0.9,
    },
    malformed=[
        text("""
            {'invoice': {'number': '20260118', 'issued': '2026-01-23',
              'seller': {'name': 'Tischlerei Böhm',
                         'address': {'street': 'Am Wehr 3', 'postcode': '01917', 'city': 'Kamenz'}, 'vat_id': None},
              'lines': [{'description': 'Fensterflügel aufgearbeitet', 'quantity': 2, 'amount': '412.50'},
                        {'description': 'Anfahrt', 'quantity': 1, 'amount': '35.00'}],
              'total': '447.50'}, 'confidence': 0.9}
        """),
        text("""
            ```json
            {
              "invoice": {
                "number": "20260118",
                "issued": "2026-01-23",
                "seller": {
                  "name": "Tischlerei Böhm",
                  "address": {
                    "street": "Am Wehr 3",
                    "postcode": "01917",
                    "city": "Kamenz",
                  },
                  "vat_id": null
                },
                "lines": [
                  {"description": "Fensterflügel aufgearbeitet", "quantity": 2, "amount": "412.50"},
                  {"description": "Anfahrt", "quantity": 1, "amount": "35.00"},
                ],
                "total": "447.50",
              },
              "confidence": 0.9,
            }
            ```
        """),
    ],
    coercible={
        "invoice": {
            "number": 20260118,
            "issued": "2026-01-23",
            "seller": {
                "name": "Tischlerei Böhm",
                "address": '{"street": "Am Wehr 3", "postcode": "01917", "city": "Kamenz"}',
            },
            "lines": [
                {"description": "Fensterflügel aufgearbeitet", "quantity": "2", "amount": 412.5},
                {"description": "Anfahrt", "quantity": "1", "amount": 35},
            ],
            "total": 447.5,
        },
        "confidence": "0.9",
    },
    wrong={
        "invoice": {
            "number": "20260118",
            "issued": "2026-01-23",
            "seller": {"name": "Tischlerei Böhm", "address": {"street": "Am Wehr 3", "city": "Kamenz"}},
            "lines": [
                {"description": "Fensterflügel aufgearbeitet", "quantity": "a pair", "amount": "412.50"},
                {"description": "Anfahrt", "quantity": 1, "amount": "as agreed"},
            ],
            "total": "447.50",
        },
        "confidence": "high",
    },
    faults=["invoice.seller.address.postcode", "invoice.lines.0.quantity", "invoice.lines.1.amount", "confidence"],
)


class Ingredient(BaseModel):
    name: str
    amount: float | None = Field(default=None, description="null for 'some' or 'to taste'")
    unit: Literal["g", "ml", "piece", "tsp", "tbsp"] | None = None


class Step(BaseModel):
    instruction: str
    minutes: int | None = None
    uses: list[str] = []


class Recipe(BaseModel):
    title: str
    servings: int
    ingredients: list[Ingredient]
    steps: list[Step]
    vegan: bool


class ParseRecipe(dspy.Signature):
    """Turn a handwritten recipe into data."""

    recipe_text: str = dspy.InputField()
    recipe: Recipe = dspy.OutputField()
    unreadable: list[str] = dspy.OutputField(desc="words that could not be read")


RECIPE = Case(
    id="recipe",
    signature=ParseRecipe,
    inputs={
        "recipe_text": text("""
            Crème de potimarron (4 pers.)
            600 g potimarron, 400 ml lait d'avoine, sel
            Couper, cuire 25 min dans le lait, saler, mixer. mus…de (tache)
        """),
    },
    clean={
        "recipe": {
            "title": "Crème de potimarron",
            "servings": 4,
            "ingredients": [
                {"name": "potimarron", "amount": 600, "unit": "g"},
                {"name": "lait d'avoine", "amount": 400, "unit": "ml"},
                {"name": "sel", "amount": None, "unit": None},
            ],
            "steps": [
                {
                    "instruction": "Couper le potimarron et cuire.",
                    "minutes": 25,
                    "uses": ["potimarron", "lait d'avoine"],
                },
                {"instruction": "Saler et mixer.", "uses": ["sel"]},
            ],
            "vegan": True,
        },
        "unreadable": ["mus…de"],
    },
    values={
        "recipe": Recipe(
            title="Crème de potimarron",
            servings=4,
            ingredients=[
                Ingredient(name="potimarron", amount=600, unit="g"),
                Ingredient(name="lait d'avoine", amount=400, unit="ml"),
                Ingredient(name="sel"),
            ],
            steps=[
                Step(instruction="Couper le potimarron et cuire.", minutes=25, uses=["potimarron", "lait d'avoine"]),
                Step(instruction="Saler et mixer.", uses=["sel"]),
            ],
            vegan=True,
        ),
        "unreadable": ["mus…de"],
    },
    malformed=[
        text("""
            Voici la recette au format demandé :

            {'recipe': {'title': 'Crème de potimarron', 'servings': 4,
             'ingredients': [{'name': 'potimarron', 'amount': 600, 'unit': 'g'},
                             {'name': "lait d'avoine", 'amount': 400, 'unit': 'ml'},
                             {'name': 'sel', 'amount': None, 'unit': None}],
             'steps': [{'instruction': 'Couper le potimarron et cuire.', 'minutes': 25,
                        'uses': ['potimarron', "lait d'avoine"]},
                       {'instruction': 'Saler et mixer.', 'uses': ['sel']}],
             'vegan': True}, 'unreadable': ['mus…de']}
        """),
        text("""
            {
              "recipe": {
                "title": "Crème de potimarron",
                "servings": 4,
                "ingredients": [
                  {"name": "potimarron", "amount": 600, "unit": "g"},
                  {"name": "lait d'avoine", "amount": 400, "unit": "ml"},
                  {"name": "sel", "amount": null, "unit": null},
                ],
                "steps": [
                  {
                    "instruction": "Couper le potimarron et cuire.",
                    "minutes": 25,
                    "uses": ["potimarron", "lait d'avoine"],
                  },
                  {"instruction": "Saler et mixer.", "uses": ["sel"]},
                ],
                "vegan": true,
              },
              "unreadable": ["mus…de"],
            }
        """),
    ],
    coercible={
        "recipe": {
            "title": "Crème de potimarron",
            "servings": "4",
            "ingredients": [
                {"name": "potimarron", "amount": "600", "unit": "g"},
                {"name": "lait d'avoine", "amount": "400", "unit": "ml"},
                {"name": "sel", "amount": "null", "unit": None},
            ],
            "steps": [
                {
                    "instruction": "Couper le potimarron et cuire.",
                    "minutes": "25",
                    "uses": ["potimarron", "lait d'avoine"],
                },
                {"instruction": "Saler et mixer.", "uses": "sel"},
            ],
            "vegan": "true",
        },
        "unreadable": "mus…de",
    },
    wrong={
        "recipe": {
            "title": "Crème de potimarron",
            "servings": "toute la famille",
            "ingredients": [
                {"name": "potimarron", "amount": 600, "unit": "g"},
                {"name": "lait d'avoine", "amount": 400, "unit": "ml"},
                {"amount": "une pincée", "unit": None},
            ],
            "steps": [
                {"instruction": "Couper le potimarron et cuire.", "minutes": 25, "uses": ["potimarron"]},
                "Saler et mixer.",
            ],
            "vegan": True,
        },
        "unreadable": ["mus…de"],
    },
    faults=["recipe.servings", "recipe.ingredients.2.name", "recipe.ingredients.2.amount", "recipe.steps.1"],
)


class Route(StrEnum):
    ORAL = "oral"
    INHALED = "inhaled"
    SUBCUTANEOUS = "subcutaneous"


class Medication(BaseModel):
    name: str
    dose_mg: float
    route: Route
    times_per_day: int = Field(ge=1, le=6)
    stop_after: dt.date | None = None


class SummariseDischarge(dspy.Signature):
    """You prepare discharge notes for the patient's family doctor.

    Take only what the ward's note says; do not add a diagnosis, a dose or a date of your own.

    How to read the note:
    1. The ward writes doses as "morning-noon-evening", so "1-0-1" means twice a day and "1-1-1" three times a day.
       The strength in front of the scheme is the strength of one tablet, puff or syringe: that is `dose_mg`.
       Micrograms are converted to milligrams.
    2. "p.o." is oral, "inh." is inhaled, "s.c." is subcutaneous. Other routes do not occur on this ward.
    3. "until" gives the last day of a medicine. Without it the medicine goes on, and `stop_after` is null.
    4. A crossed-out medicine is marked with "//" in front. Leave it out altogether.
    5. Allergies stand after "ALL:". If there is only a dash, the list is empty.
    6. `follow_up_needed` is true if the note asks for any visit, blood test or picture after the discharge.

    Write `summary` in English, in two sentences at most, whatever the language of the note. Do not name the patient.
    """

    ward_note: str = dspy.InputField()
    discharged_on: dt.date = dspy.InputField()
    summary: str = dspy.OutputField()
    medications: list[Medication] = dspy.OutputField()
    allergies: list[str] = dspy.OutputField()
    follow_up_needed: bool = dspy.OutputField()


DISCHARGE_NOTE = Case(
    id="discharge_note",
    signature=SummariseDischarge,
    inputs={
        "ward_note": text("""
            Ambulant erworbene Pneumonie li., entfiebert Tag 3. ALL: Penicillin
            Doxycyclin 100 p.o. 1-0-1 until 19.02.2026
            Budesonid 200 mcg inh. 1-0-1
            // Pantoprazol 40 p.o. 1-0-0
            Rö-Thorax in 6 Wo.
        """),
        "discharged_on": dt.date(2026, 2, 13),
    },
    clean={
        "summary": "Pneumonia of the left lung, free of fever since day 3. Chest X-ray in six weeks.",
        "medications": [
            {"name": "Doxycyclin", "dose_mg": 100, "route": "oral", "times_per_day": 2, "stop_after": "2026-02-19"},
            {"name": "Budesonid", "dose_mg": 0.2, "route": "inhaled", "times_per_day": 2, "stop_after": None},
        ],
        "allergies": ["Penicillin"],
        "follow_up_needed": True,
    },
    values={
        "summary": "Pneumonia of the left lung, free of fever since day 3. Chest X-ray in six weeks.",
        "medications": [
            Medication(
                name="Doxycyclin",
                dose_mg=100,
                route=Route.ORAL,
                times_per_day=2,
                stop_after=dt.date(2026, 2, 19),
            ),
            Medication(name="Budesonid", dose_mg=0.2, route=Route.INHALED, times_per_day=2),
        ],
        "allergies": ["Penicillin"],
        "follow_up_needed": True,
    },
    malformed=[
        text("""
            {
              "summary": "Pneumonia of the left lung, free of fever since day 3. Chest X-ray in six weeks.",
              "medications": [
                {"name": "Doxycyclin", "dose_mg": 100, "route": "oral", "times_per_day": 2, "stop_after": "2026-02-19"},
                {"name": "Budesonid", "dose_mg": 0.2, "route": "inhaled", "times_per_day": 2, "stop_after": None},
              ],
              "allergies": ["Penicillin"],
              "follow_up_needed": True
            }
        """),
        text("""
            Two medicines remain, pantoprazole was crossed out.

            ```json
            {
              summary: "Pneumonia of the left lung, free of fever since day 3. Chest X-ray in six weeks.",
              medications: [
                {name: "Doxycyclin", dose_mg: 100, route: "oral", times_per_day: 2, stop_after: "2026-02-19"},
                {name: "Budesonid", dose_mg: 0.2, route: "inhaled", times_per_day: 2, stop_after: null}
              ],
              allergies: ["Penicillin"],
              follow_up_needed: true
            }
            ```
        """),
    ],
    coercible={
        "summary": "Pneumonia of the left lung, free of fever since day 3. Chest X-ray in six weeks.",
        "medications": [
            {"name": "Doxycyclin", "dose_mg": "100", "route": "oral", "times_per_day": "2", "stop_after": "2026-02-19"},
            {"name": "Budesonid", "dose_mg": "0.2", "route": "inhaled", "times_per_day": 2.0, "stop_after": "null"},
        ],
        "allergies": "Penicillin",
        "follow_up_needed": "True",
    },
    wrong={
        "summary": "Pneumonia of the left lung, free of fever since day 3. Chest X-ray in six weeks.",
        "medications": [
            {"name": "Doxycyclin", "dose_mg": 100, "route": "p.o./i.v.", "times_per_day": 2, "stop_after": "6 days"},
            {"name": "Budesonid", "dose_mg": 0.2, "route": "inhaled", "times_per_day": 24, "stop_after": None},
        ],
        "allergies": ["Penicillin"],
        "follow_up_needed": "X-ray",
    },
    faults=[
        "medications.0.route",
        "medications.0.stop_after",
        "medications.1.times_per_day",
        "follow_up_needed",
    ],
)


class ShipmentState(StrEnum):
    COLLECTED = "collected"
    IN_TRANSIT = "in_transit"
    AT_CUSTOMS = "at_customs"
    DELIVERED = "delivered"


class Port(BaseModel):
    locode: str = Field(pattern=r"^[A-Z]{2}[A-Z2-9]{3}$", description="UN/LOCODE")
    name: str


class ScanEvent(BaseModel):
    at: dt.datetime
    port: Port
    state: ShipmentState


class Container(BaseModel):
    number: str = Field(pattern=r"^[A-Z]{4}\d{7}$")
    weight_kg: int = Field(gt=0)
    events: list[ScanEvent] = Field(min_length=1)


class TrackContainer(dspy.Signature):
    """Summarise the carrier's messages about one container."""

    messages: list[str] = dspy.InputField()
    container: Container = dspy.OutputField()
    next_port: Port | None = dspy.OutputField()
    delayed: bool = dspy.OutputField()


CONTAINER = Case(
    id="container",
    signature=TrackContainer,
    inputs={
        "messages": [
            "TRLU4417023 21480 KG LOADED NLRTM 04MAR 0615Z",
            "TRLU4417023 DISCH PLGDN 07MAR 1940Z HELD BY CUSTOMS",
            "ONCARRIAGE FIKTK TBA, EXPECT 3 DAYS LATE",
        ],
    },
    clean={
        "container": {
            "number": "TRLU4417023",
            "weight_kg": 21480,
            "events": [
                {
                    "at": "2026-03-04T06:15:00Z",
                    "port": {"locode": "NLRTM", "name": "Rotterdam"},
                    "state": "in_transit",
                },
                {"at": "2026-03-07T19:40:00Z", "port": {"locode": "PLGDN", "name": "Gdańsk"}, "state": "at_customs"},
            ],
        },
        "next_port": {"locode": "FIKTK", "name": "Kotka"},
        "delayed": True,
    },
    values={
        "container": Container(
            number="TRLU4417023",
            weight_kg=21480,
            events=[
                ScanEvent(
                    at=dt.datetime(2026, 3, 4, 6, 15, tzinfo=dt.UTC),
                    port=Port(locode="NLRTM", name="Rotterdam"),
                    state=ShipmentState.IN_TRANSIT,
                ),
                ScanEvent(
                    at=dt.datetime(2026, 3, 7, 19, 40, tzinfo=dt.UTC),
                    port=Port(locode="PLGDN", name="Gdańsk"),
                    state=ShipmentState.AT_CUSTOMS,
                ),
            ],
        ),
        "next_port": Port(locode="FIKTK", name="Kotka"),
        "delayed": True,
    },
    malformed=[
        text("""
            {"container": {"number": "TRLU4417023", "weight_kg": 21480, "events": [
              {"at": "2026-03-04T06:15:00Z", "port": {"locode": "NLRTM", "name": "Rotterdam"}, "state": "in_transit"},
              {"at": "2026-03-07T19:40:00Z", "port": {"locode": "PLGDN", "name": "Gdańsk"}, "state": "at_customs"}]},
             "next_port": {"locode": "FIKTK", "name": "Kotka"}, "delayed": True
        """),
        text("""
            {
              // from the three messages
              container: {
                number: "TRLU4417023",
                weight_kg: 21480,
                events: [
                  {at: "2026-03-04T06:15:00Z", port: {locode: "NLRTM", name: "Rotterdam"}, state: "in_transit"},
                  {at: "2026-03-07T19:40:00Z", port: {locode: "PLGDN", name: "Gdańsk"}, state: "at_customs"},
                ],
              },
              next_port: {locode: "FIKTK", name: "Kotka"},
              delayed: true,
            }
        """),
    ],
    coercible={
        "container": {
            "number": "TRLU4417023",
            "weight_kg": "21480",
            "events": [
                {
                    "at": "2026-03-04T06:15:00Z",
                    "port": '{"locode": "NLRTM", "name": "Rotterdam"}',
                    "state": "in_transit",
                },
                {"at": "2026-03-07T19:40:00Z", "port": {"locode": "PLGDN", "name": "Gdańsk"}, "state": "at_customs"},
            ],
        },
        "next_port": '{"locode": "FIKTK", "name": "Kotka"}',
        "delayed": "true",
    },
    wrong={
        "container": {
            "number": "TRLU-441",
            "weight_kg": -1,
            "events": [
                {"at": "2026-03-04T06:15:00Z", "port": {"locode": "NLRTM", "name": "Rotterdam"}, "state": "loaded"},
                {"at": "7 March, evening", "port": {"name": "Gdańsk"}, "state": "at_customs"},
            ],
        },
        "next_port": {"locode": "FIKTK", "name": "Kotka"},
        "delayed": True,
    },
    faults=[
        "container.number",
        "container.weight_kg",
        "container.events.0.state",
        "container.events.1.at",
        "container.events.1.port.locode",
    ],
)


class ReviewComment(BaseModel):
    file: str
    line: int
    severity: Literal["nit", "warning", "error"]
    message: str
    suggestion: str | None = None


class ReviewPatch(dspy.Signature):
    """Review a patch. Comment only on lines that the patch adds."""

    patch: str = dspy.InputField(desc="unified diff")
    conventions: str = dspy.InputField()
    comments: list[ReviewComment] = dspy.OutputField()
    verdict: Literal["approve", "request_changes"] = dspy.OutputField()
    risk: float = dspy.OutputField(desc="from 0 to 1")


CODE_REVIEW = Case(
    id="code_review",
    signature=ReviewPatch,
    inputs={
        "patch": text("""
            --- a/ferry/fares.py
            +++ b/ferry/fares.py
            @@ -40,3 +40,5 @@ def fare(passengers):
            -    return base
            +    if passengers == None:
            +        return {}
            +    return base * len(passengers)
        """),
        "conventions": "Compare with None by `is`. A function returns one type.",
    },
    clean={
        "comments": [
            {
                "file": "ferry/fares.py",
                "line": 40,
                "severity": "nit",
                "message": "Compare with `is`, don't use `==`.",
                "suggestion": "if passengers is None:",
            },
            {
                "file": "ferry/fares.py",
                "line": 41,
                "severity": "error",
                "message": "Returns {} where callers expect a number.",
                "suggestion": None,
            },
        ],
        "verdict": "request_changes",
        "risk": 0.6,
    },
    values={
        "comments": [
            ReviewComment(
                file="ferry/fares.py",
                line=40,
                severity="nit",
                message="Compare with `is`, don't use `==`.",
                suggestion="if passengers is None:",
            ),
            ReviewComment(
                file="ferry/fares.py",
                line=41,
                severity="error",
                message="Returns {} where callers expect a number.",
            ),
        ],
        "verdict": "request_changes",
        "risk": 0.6,
    },
    malformed=[
        text("""
            I found two problems in the patch:

            ```json
            {
              "comments": [
                {
                  "file": "ferry/fares.py",
                  "line": 40,
                  "severity": "nit",
                  "message": "Compare with `is`, don't use `==`.",
                  "suggestion": "if passengers is None:"
                },
                {
                  "file": "ferry/fares.py",
                  "line": 41,
                  "severity": "error",
                  "message": "Returns {} where callers expect a number.",
                  "suggestion": null
                }
              ],
              "verdict": "request_changes",
              "risk": 0.6
            }
            ```
        """),
        text("""
            {'comments': [{'file': 'ferry/fares.py', 'line': 40, 'severity': 'nit',
                           'message': "Compare with `is`, don't use `==`.", 'suggestion': 'if passengers is None:'},
                          {'file': 'ferry/fares.py', 'line': 41, 'severity': 'error',
                           'message': 'Returns {} where callers expect a number.', 'suggestion': None}],
             'verdict': 'request_changes', 'risk': 0.6}
        """),
    ],
    coercible={
        "comments": [
            {
                "file": "ferry/fares.py",
                "line": "40",
                "severity": "nit",
                "message": "Compare with `is`, don't use `==`.",
                "suggestion": "if passengers is None:",
            },
            {
                "file": "ferry/fares.py",
                "line": "41",
                "severity": "error",
                "message": "Returns {} where callers expect a number.",
            },
        ],
        "verdict": "request_changes",
        "risk": "0.6",
    },
    wrong={
        "comments": [
            {
                "file": "ferry/fares.py",
                "line": "40-41",
                "severity": "nit",
                "message": "Compare with `is`, don't use `==`.",
                "suggestion": "if passengers is None:",
            },
            {"file": "ferry/fares.py", "line": 41, "severity": "catastrophe"},
        ],
        "verdict": "approve once fixed",
        "risk": 0.6,
    },
    faults=["comments.0.line", "comments.1.severity", "comments.1.message", "verdict"],
)


class Goal(BaseModel):
    minute: int
    scorer: str
    penalty: bool = False


class ReportMatch(dspy.Signature):
    """Read a live ticker and report the final state of the match."""

    ticker: list[str] = dspy.InputField()
    home: str = dspy.InputField()
    away: str = dspy.InputField()
    score: tuple[int, int] = dspy.OutputField(desc="home goals, away goals")
    goals: list[Goal] = dspy.OutputField()
    attendance: int | None = dspy.OutputField()


MATCH_REPORT = Case(
    id="match_report",
    signature=ReportMatch,
    inputs={
        "ticker": [
            "17' GOOOL! Šimunović heads it in",
            "58' penalty for the guests... Achterberg - in!",
            "81' Šimunović again, from 20 metres",
            "90+3' It's over. 1,204 came despite the rain.",
        ],
        "home": "NK Zrinski Brod",
        "away": "SV Waterkant",
    },
    clean={
        "score": [2, 1],
        "goals": [
            {"minute": 17, "scorer": "Šimunović"},
            {"minute": 58, "scorer": "Achterberg", "penalty": True},
            {"minute": 81, "scorer": "Šimunović"},
        ],
        "attendance": 1204,
    },
    values={
        "score": (2, 1),
        "goals": [
            Goal(minute=17, scorer="Šimunović"),
            Goal(minute=58, scorer="Achterberg", penalty=True),
            Goal(minute=81, scorer="Šimunović"),
        ],
        "attendance": 1204,
    },
    malformed=[
        text("""
            {
              "score": [2, 1],
              "goals": [
                {"minute": 17, "scorer": "Šimunović",},
                {"minute": 58, "scorer": "Achterberg", "penalty": True,},
                {"minute": 81, "scorer": "Šimunović",},
              ],
              "attendance": 1204,
            }
        """),
        text("""
            Final whistle! NK Zrinski Brod won.
            {score: [2, 1], goals: [{minute: 17, scorer: 'Šimunović'},
            {minute: 58, scorer: 'Achterberg', penalty: true}, {minute: 81, scorer: 'Šimunović'}], attendance: 1204}
        """),
    ],
    coercible={
        "score": ["2", "1"],
        "goals": [
            {"minute": "17", "scorer": "Šimunović"},
            {"minute": "58", "scorer": "Achterberg", "penalty": "true"},
            '{"minute": 81, "scorer": "Šimunović"}',
        ],
        "attendance": "1204",
    },
    wrong={
        "score": [2, "one"],
        "goals": [
            {"minute": 17, "scorer": "Šimunović"},
            {"minute": "after an hour", "scorer": "Achterberg", "penalty": True},
            {"minute": 81, "scorer": None},
        ],
        "attendance": 1204,
    },
    faults=["score.1", "goals.1.minute", "goals.2.scorer"],
)


class DayForecast(BaseModel):
    day: dt.date
    low_c: float
    high_c: float
    rain_chance: int = Field(ge=0, le=100, description="percent")
    warning: Literal["frost", "gale", "heat"] | None = None


class Station(BaseModel):
    name: str
    elevation_m: int
    days: list[DayForecast]


class ForecastWeather(dspy.Signature):
    """Turn a spoken forecast into a table, one entry per weather station."""

    broadcast: str = dspy.InputField()
    first_day: dt.date = dspy.InputField()
    stations: list[Station] = dspy.OutputField()
    pressure_hpa: dict[str, float] = dspy.OutputField(desc="by station name")


FORECAST = Case(
    id="forecast",
    signature=ForecastWeather,
    inputs={
        "broadcast": text("""
            Og så til Tromsø, ten metres above the fjord: minus four to plus one and a half tomorrow, rain or sleet
            seventy per cent, then minus nine to minus six with frost and hardly a cloud, five per cent. 996.5 now.
        """),
        "first_day": dt.date(2026, 1, 30),
    },
    clean={
        "stations": [
            {
                "name": "Tromsø",
                "elevation_m": 10,
                "days": [
                    {"day": "2026-01-30", "low_c": -4, "high_c": 1.5, "rain_chance": 70, "warning": None},
                    {"day": "2026-01-31", "low_c": -9, "high_c": -6, "rain_chance": 5, "warning": "frost"},
                ],
            }
        ],
        "pressure_hpa": {"Tromsø": 996.5},
    },
    values={
        "stations": [
            Station(
                name="Tromsø",
                elevation_m=10,
                days=[
                    DayForecast(day=dt.date(2026, 1, 30), low_c=-4, high_c=1.5, rain_chance=70),
                    DayForecast(day=dt.date(2026, 1, 31), low_c=-9, high_c=-6, rain_chance=5, warning="frost"),
                ],
            )
        ],
        "pressure_hpa": {"Tromsø": 996.5},
    },
    malformed=[
        text("""
            ```json
            {
              "stations": [
                {
                  "name": "Tromsø",
                  "elevation_m": 10,
                  "days": [
                    {"day": "2026-01-30", "low_c": -4, "high_c": 1.5, "rain_chance": 70, "warning": None},
                    {"day": "2026-01-31", "low_c": -9, "high_c": -6, "rain_chance": 5, "warning": "frost"}
                  ]
                }
              ],
              "pressure_hpa": {"Tromsø": 996.5}
            }
            ```
        """),
        text("""
            {'stations': [{'name': 'Tromsø', 'elevation_m': 10, 'days': [
              {'day': '2026-01-30', 'low_c': -4, 'high_c': 1.5, 'rain_chance': 70, 'warning': None},
              {'day': '2026-01-31', 'low_c': -9, 'high_c': -6, 'rain_chance': 5, 'warning': 'frost'},
            ]}], 'pressure_hpa': {'Tromsø': 996.5}
        """),
    ],
    coercible={
        "stations": {
            "name": "Tromsø",
            "elevation_m": "10",
            "days": [
                {"day": "2026-01-30", "low_c": "-4", "high_c": "1.5", "rain_chance": "70", "warning": None},
                {"day": "2026-01-31", "low_c": "-9", "high_c": "-6", "rain_chance": "5", "warning": "frost"},
            ],
        },
        "pressure_hpa": {"Tromsø": "996.5"},
    },
    wrong={
        "stations": [
            {
                "name": "Tromsø",
                "elevation_m": 10,
                "days": [
                    {"day": "tomorrow", "low_c": -4, "high_c": 1.5, "rain_chance": 170, "warning": None},
                    {"day": "2026-01-31", "low_c": -9, "high_c": -6, "rain_chance": 5, "warning": "sleet"},
                ],
            }
        ],
        "pressure_hpa": {"Tromsø": "falling"},
    },
    faults=[
        "stations.0.days.0.day",
        "stations.0.days.0.rain_chance",
        "stations.0.days.1.warning",
        "pressure_hpa.Tromsø",
    ],
)


class Author(BaseModel):
    family: str = Field(min_length=1)
    given: str | None = None
    role: Literal["author", "editor", "translator"] = "author"


class CatalogueRecord(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    authors: list[Author] = Field(min_length=1)
    isbn: str | None = Field(default=None, pattern=r"^\d{13}$")
    year: int = Field(ge=1450, le=2100)
    shelfmark: str = Field(pattern=r"^[A-Z]{1,3} \d{3,4}$")


class CatalogueBook(dspy.Signature):
    """Make a catalogue record from a title page and the back of a book."""

    title_page: str = dspy.InputField()
    back_cover: str = dspy.InputField()
    record: CatalogueRecord = dspy.OutputField()
    copies: Annotated[int, Field(ge=1)] = dspy.OutputField()
    subjects: Annotated[list[str], Field(min_length=1, max_length=5)] = dspy.OutputField()


CATALOGUE = Case(
    id="catalogue",
    signature=CatalogueBook,
    inputs={
        "title_page": "Halldóra Vestmann: Þokan og vitinn. Translated by Colm Devlin. Fogbank Press 2019. (2 copies)",
        "back_cover": "ISBN 978-1-4028-9462-6. Lighthouses / Iceland. Label on spine: IS 4410",
    },
    clean={
        "record": {
            "title": "Þokan og vitinn",
            "authors": [
                {"family": "Vestmann", "given": "Halldóra"},
                {"family": "Devlin", "given": "Colm", "role": "translator"},
            ],
            "isbn": "9781402894626",
            "year": 2019,
            "shelfmark": "IS 4410",
        },
        "copies": 2,
        "subjects": ["Lighthouses", "Iceland"],
    },
    values={
        "record": CatalogueRecord(
            title="Þokan og vitinn",
            authors=[
                Author(family="Vestmann", given="Halldóra"),
                Author(family="Devlin", given="Colm", role="translator"),
            ],
            isbn="9781402894626",
            year=2019,
            shelfmark="IS 4410",
        ),
        "copies": 2,
        "subjects": ["Lighthouses", "Iceland"],
    },
    malformed=[
        text("""
            {
              record: {
                title: "Þokan og vitinn",
                authors: [
                  {family: "Vestmann", given: "Halldóra"},
                  {family: "Devlin", given: "Colm", role: "translator"}
                ],
                isbn: "9781402894626",
                year: 2019,
                shelfmark: "IS 4410"
              },
              copies: 2,
              subjects: ["Lighthouses", "Iceland"]
            }
        """),
        text("""
            {"record": {"title": "Þokan og vitinn", "authors": [{"family": "Vestmann", "given": "Halldóra"},
            {"family": "Devlin", "given": "Colm", "role": "translator"}], "isbn": "9781402894626", "year": 2019,
            "shelfmark": "IS 4410"}, "copies": 2, "subjects": ["Lighthouses", "Iceland"
        """),
    ],
    coercible={
        "record": {
            "title": "Þokan og vitinn",
            "authors": [
                {"family": "Vestmann", "given": "Halldóra"},
                {"family": "Devlin", "given": "Colm", "role": "translator"},
            ],
            "isbn": 9781402894626,
            "year": "2019",
            "shelfmark": "IS 4410",
        },
        "copies": "2",
        "subjects": '["Lighthouses", "Iceland"]',
    },
    wrong={
        "record": {
            "title": "Þokan og vitinn",
            "authors": [],
            "isbn": "97814",
            "year": 19,
            "shelfmark": "second shelf from the top",
        },
        "copies": 0,
        "subjects": ["Lighthouses", "Iceland"],
    },
    faults=["record.authors", "record.isbn", "record.year", "record.shelfmark", "copies"],
)


class Lesson(BaseModel):
    subject: str
    teacher: str
    room: str
    starts: dt.time


class BuildTimetable(dspy.Signature):
    """Sort a school's message into a timetable by weekday."""

    message: str = dspy.InputField()
    timetable: dict[Literal["Mon", "Tue", "Wed", "Thu", "Fri"], list[Lesson]] = dspy.OutputField()
    substitutes: dict[str, str] = dspy.OutputField(desc="who stands in, by absent teacher")
    weeks: int = dspy.OutputField()


TIMETABLE = Case(
    id="timetable",
    signature=BuildTimetable,
    inputs={
        "message": text("""
            Kevään ylimääräiset tunnit, 6 weeks: Monday 8:15 chemistry with Ms Koskinen in 204; Thursday 13:00 music,
            Mr Adeyemi, room 11. Mr Adeyemi is ill, Ms Rautio takes over.
        """),
    },
    clean={
        "timetable": {
            "Mon": [{"subject": "chemistry", "teacher": "Koskinen", "room": "204", "starts": "08:15:00"}],
            "Thu": [{"subject": "music", "teacher": "Adeyemi", "room": "11", "starts": "13:00:00"}],
        },
        "substitutes": {"Adeyemi": "Rautio"},
        "weeks": 6,
    },
    values={
        "timetable": {
            "Mon": [Lesson(subject="chemistry", teacher="Koskinen", room="204", starts=dt.time(8, 15))],
            "Thu": [Lesson(subject="music", teacher="Adeyemi", room="11", starts=dt.time(13, 0))],
        },
        "substitutes": {"Adeyemi": "Rautio"},
        "weeks": 6,
    },
    malformed=[
        text("""
            {
              timetable: {
                Mon: [{subject: "chemistry", teacher: "Koskinen", room: "204", starts: "08:15:00"}],
                Thu: [{subject: "music", teacher: "Adeyemi", room: "11", starts: "13:00:00"}],
              },
              substitutes: {Adeyemi: "Rautio"},
              weeks: 6,
            }
        """),
        text("""
            {
              "timetable": {
                "Mon": [{"subject": "chemistry", "teacher": "Koskinen", "room": "204", "starts": "08:15:00"}],
                "Thu": [{"subject": "music", "teacher": "Adeyemi", "room": "11", "starts": "13:00:00"}]
              },
              "substitutes": {"Adeyemi": "Rautio"},  # ill
              "weeks": 6
        """),
    ],
    coercible={
        "timetable": {
            "Mon": {"subject": "chemistry", "teacher": "Koskinen", "room": 204, "starts": "08:15"},
            "Thu": [{"subject": "music", "teacher": "Adeyemi", "room": 11, "starts": "13:00"}],
        },
        "substitutes": {"Adeyemi": "Rautio"},
        "weeks": "6",
    },
    wrong={
        "timetable": {
            "Mon": [{"subject": "chemistry", "teacher": "Koskinen", "room": "204", "starts": "first thing"}],
            "Thu": [{"subject": "music", "room": "11", "starts": "13:00:00"}],
        },
        "substitutes": {"Adeyemi": "Rautio"},
        "weeks": "until the holidays",
    },
    faults=["timetable.Mon.0.starts", "timetable.Thu.0.teacher", "weeks"],
)

# Unions ---------------------------------------------------------------------------------------------------------------


class CardPayment(BaseModel):
    card_last_four: str = Field(pattern=r"^\d{4}$")
    expires: dt.date


class BankTransfer(BaseModel):
    iban: str
    reference: str


class ReadPayment(dspy.Signature):
    """Say how a booking was paid."""

    mail: str = dspy.InputField()
    payment: CardPayment | BankTransfer = dspy.OutputField()
    amount: float = dspy.OutputField()
    refundable: bool = dspy.OutputField()


PAYMENT = Case(
    id="payment",
    signature=ReadPayment,
    inputs={"mail": "186,40 € (Zweck: HÜTTE 3307) sind da, von DE21 5001 0517 0648 4898 90. Storno möglich."},
    clean={
        "payment": {"iban": "DE21500105170648489890", "reference": "HÜTTE 3307"},
        "amount": 186.4,
        "refundable": True,
    },
    values={
        "payment": BankTransfer(iban="DE21500105170648489890", reference="HÜTTE 3307"),
        "amount": 186.4,
        "refundable": True,
    },
    malformed=[
        text("""
            {'payment': {'iban': 'DE21500105170648489890', 'reference': 'HÜTTE 3307'}, 'amount': 186.40,
             'refundable': True}
        """),
        text("""
            {
              "payment": {
                // paid by bank transfer
                "iban": "DE21500105170648489890",
                "reference": "HÜTTE 3307",
              },
              "amount": 186.40,
              "refundable": true
            }
        """),
    ],
    coercible={
        "payment": '{"iban": "DE21500105170648489890", "reference": "HÜTTE 3307"}',
        "amount": "186.40",
        "refundable": "true",
    },
    wrong={
        "payment": {"cash": 186.4},
        "amount": "paid in full",
        "refundable": True,
    },
    faults=["payment", "amount"],
)


class FlightLeg(BaseModel):
    kind: Literal["flight"]
    number: str
    departs: dt.datetime
    checked_bags: int = 0


class TrainLeg(BaseModel):
    kind: Literal["train"]
    stations: tuple[str, str]
    departs: dt.datetime
    seat: str | None = None


class HotelStay(BaseModel):
    kind: Literal["hotel"]
    name: str
    nights: int


class Itinerary(BaseModel):
    traveller: str
    parts: list[Annotated[Union[FlightLeg, TrainLeg, HotelStay], Field(discriminator="kind")]]


class CollectItinerary(dspy.Signature):
    """Put a traveller's confirmations into one itinerary, in the order of travel."""

    confirmations: list[str] = dspy.InputField()
    itinerary: Itinerary = dspy.OutputField()
    budget_left: Decimal = dspy.OutputField()
    visa_needed: bool = dspy.OutputField()


ITINERARY = Case(
    id="itinerary",
    signature=CollectItinerary,
    inputs={
        "confirmations": [
            "XQ 318 / KILLICK R / 02JUN 0940 / 1PC",
            "佐原屋旅館 2泊 キリック様",
            "JR Narita 4 June 11:26 - Kanazawa, seat 7D. Allowance remaining: 310.75",
        ],
    },
    clean={
        "itinerary": {
            "traveller": "R. Killick",
            "parts": [
                {"kind": "flight", "number": "XQ 318", "departs": "2026-06-02T09:40:00+01:00", "checked_bags": 1},
                {"kind": "hotel", "name": "佐原屋旅館", "nights": 2},
                {
                    "kind": "train",
                    "stations": ["Narita", "Kanazawa"],
                    "departs": "2026-06-04T11:26:00+09:00",
                    "seat": "7D",
                },
            ],
        },
        "budget_left": "310.75",
        "visa_needed": False,
    },
    values={
        "itinerary": Itinerary(
            traveller="R. Killick",
            parts=[
                FlightLeg(
                    kind="flight",
                    number="XQ 318",
                    departs=dt.datetime(2026, 6, 2, 9, 40, tzinfo=dt.timezone(dt.timedelta(hours=1))),
                    checked_bags=1,
                ),
                HotelStay(kind="hotel", name="佐原屋旅館", nights=2),
                TrainLeg(
                    kind="train",
                    stations=("Narita", "Kanazawa"),
                    departs=dt.datetime(2026, 6, 4, 11, 26, tzinfo=dt.timezone(dt.timedelta(hours=9))),
                    seat="7D",
                ),
            ],
        ),
        "budget_left": Decimal("310.75"),
        "visa_needed": False,
    },
    malformed=[
        text("""
            ```json
            {
              "itinerary": {
                "traveller": "R. Killick",
                "parts": [
                  {"kind": "flight", "number": "XQ 318", "departs": "2026-06-02T09:40:00+01:00", "checked_bags": 1},
                  {"kind": "hotel", "name": "佐原屋旅館", "nights": 2},
                  {
                    "kind": "train",
                    "stations": ["Narita", "Kanazawa"],
                    "departs": "2026-06-04T11:26:00+09:00",
                    "seat": "7D",
                  },
                ],
              },
              "budget_left": "310.75",
              "visa_needed": False,
            }
            ```
        """),
        text("""
            {itinerary: {traveller: "R. Killick", parts: [
              {kind: "flight", number: "XQ 318", departs: "2026-06-02T09:40:00+01:00", checked_bags: 1},
              {kind: "hotel", name: "佐原屋旅館", nights: 2},
              {kind: "train", stations: ["Narita", "Kanazawa"], departs: "2026-06-04T11:26:00+09:00", seat: "7D"}]},
            budget_left: "310.75", visa_needed: false
        """),
    ],
    coercible={
        "itinerary": {
            "traveller": "R. Killick",
            "parts": [
                {"kind": "flight", "number": "XQ 318", "departs": "2026-06-02T09:40:00+01:00", "checked_bags": "1"},
                {"kind": "hotel", "name": "佐原屋旅館", "nights": "2"},
                {
                    "kind": "train",
                    "stations": '["Narita", "Kanazawa"]',
                    "departs": "2026-06-04T11:26:00+09:00",
                    "seat": "7D",
                },
            ],
        },
        "budget_left": 310.75,
        "visa_needed": "false",
    },
    wrong={
        "itinerary": {
            "parts": [
                {"kind": "flight", "number": "XQ 318", "departs": "2026-06-02T09:40:00+01:00", "checked_bags": 1},
                {"kind": "ryokan", "name": "佐原屋旅館", "nights": 2},
                {
                    "kind": "train",
                    "stations": ["Narita", "Kanazawa"],
                    "departs": "2026-06-04T11:26:00+09:00",
                    "seat": "7D",
                },
            ],
        },
        "budget_left": "enough",
        "visa_needed": False,
    },
    faults=["itinerary.traveller", "itinerary.parts.1", "budget_left"],
)


class Room(BaseModel):
    door: str | int = Field(description="a number as it stands on the door, or a name")
    beds: int


class AssignRooms(dspy.Signature):
    """Read the house list of a mountain hostel."""

    house_list: str = dspy.InputField()
    rooms: list[Room] = dspy.OutputField()
    key_codes: dict[str, str | int] = dspy.OutputField(desc="by guest; some codes have letters")
    warden_in: str | int = dspy.OutputField()


HOSTEL_ROOMS = Case(
    id="hostel_rooms",
    signature=AssignRooms,
    inputs={
        "house_list": text("""
            Door 12: 6 beds. Door "Enzian": 4 beds. Gruber has code 7719, Ferraro code B-203. The warden sleeps in 12.
        """),
    },
    clean={
        "rooms": [{"door": 12, "beds": 6}, {"door": "Enzian", "beds": 4}],
        "key_codes": {"Gruber": 7719, "Ferraro": "B-203"},
        "warden_in": 12,
    },
    values={
        "rooms": [Room(door=12, beds=6), Room(door="Enzian", beds=4)],
        "key_codes": {"Gruber": 7719, "Ferraro": "B-203"},
        "warden_in": 12,
    },
    malformed=[
        text("""
            {'rooms': [{'door': 12, 'beds': 6}, {'door': 'Enzian', 'beds': 4}],
             'key_codes': {'Gruber': 7719, 'Ferraro': 'B-203'}, 'warden_in': 12}
        """),
        text("""
            Two rooms are on the list.
            {
              "rooms": [
                {"door": 12, "beds": 6},
                {"door": "Enzian", "beds": 4},
              ],
              "key_codes": {
                "Gruber": 7719,
                "Ferraro": "B-203",
              },
              "warden_in": 12
        """),
    ],
    # The values of `str | int` stay as they are: "12" would be a text.
    coercible={
        "rooms": [{"door": 12, "beds": "6"}, {"door": "Enzian", "beds": "4"}],
        "key_codes": '{"Gruber": 7719, "Ferraro": "B-203"}',
        "warden_in": 12,
    },
    wrong={
        "rooms": [{"door": 12, "beds": "six or so"}, {"door": {"name": "Enzian"}, "beds": 4}],
        "key_codes": {"Gruber": 7719, "Ferraro": ["B", 203]},
        "warden_in": None,
    },
    faults=["rooms.0.beds", "rooms.1.door", "key_codes.Ferraro", "warden_in"],
)

# Aliases, recursive models, TypedDict and dataclass -------------------------------------------------------------------


class OrderItem(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    sku: str = Field(alias="itemSku")
    quantity: int = Field(alias="qtyOrdered")
    gift_wrap: bool = Field(default=False, alias="giftWrap")


class WebOrder(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    order_id: str = Field(alias="orderId")
    placed_on: dt.date = Field(alias="placedOn")
    items: list[OrderItem] = Field(alias="orderItems")


class ReadOrder(dspy.Signature):
    """Turn a phone order into the shop's order record."""

    call_notes: str = dspy.InputField()
    call_date: dt.date = dspy.InputField()
    order: WebOrder = dspy.OutputField()
    newsletter: bool = dspy.OutputField()


PHONE_ORDER = Case(
    id="phone_order",
    signature=ReadOrder,
    inputs={
        "call_notes": "Mrs Brannigan, order 55081: three of TEA-RED, one wrapped MUG-OWL. No newsletter, thank you.",
        "call_date": dt.date(2026, 12, 3),
    },
    clean={
        "order": {
            "orderId": "55081",
            "placedOn": "2026-12-03",
            "orderItems": [
                {"itemSku": "TEA-RED", "qtyOrdered": 3},
                {"itemSku": "MUG-OWL", "qtyOrdered": 1, "giftWrap": True},
            ],
        },
        "newsletter": False,
    },
    values={
        "order": WebOrder(
            orderId="55081",
            placedOn=dt.date(2026, 12, 3),
            orderItems=[
                OrderItem(itemSku="TEA-RED", qtyOrdered=3),
                OrderItem(itemSku="MUG-OWL", qtyOrdered=1, giftWrap=True),
            ],
        ),
        "newsletter": False,
    },
    malformed=[
        text("""
            {
              'order': {
                'orderId': '55081',
                'placedOn': '2026-12-03',
                'orderItems': [
                  {'itemSku': 'TEA-RED', 'qtyOrdered': 3},
                  {'itemSku': 'MUG-OWL', 'qtyOrdered': 1, 'giftWrap': True},
                ],
              },
              'newsletter': False,
            }
        """),
        text("""
            ```json
            {"order": {"orderId": "55081", "placedOn": "2026-12-03", "orderItems": [
              {"itemSku": "TEA-RED", "qtyOrdered": 3},
              {"itemSku": "MUG-OWL", "qtyOrdered": 1, "giftWrap": true}]}, "newsletter": false}
            ```
        """),
    ],
    coercible={
        "order": {
            "orderId": 55081,
            "placedOn": "2026-12-03",
            "orderItems": [
                {"itemSku": "TEA-RED", "qtyOrdered": "3"},
                {"itemSku": "MUG-OWL", "qtyOrdered": "1", "giftWrap": "true"},
            ],
        },
        "newsletter": "false",
    },
    wrong={
        "order": {
            "orderId": "55081",
            "placedOn": "3rd of December",
            "orderItems": [
                {"itemSku": "TEA-RED", "qtyOrdered": "a few"},
                {"qtyOrdered": 1, "giftWrap": True},
            ],
        },
        "newsletter": False,
    },
    faults=["order.placedOn", "order.orderItems.0.qtyOrdered", "order.orderItems.1.itemSku"],
)


class Department(BaseModel):
    name: str
    head: str | None = None
    headcount: int
    teams: list["Department"] = []


class DrawOrgChart(dspy.Signature):
    """Turn a description of an organisation into a tree of departments."""

    description: str = dspy.InputField()
    root: Department = dspy.OutputField()
    depth: int = dspy.OutputField()
    vacant: list[str] = dspy.OutputField(desc="departments without a head")


ORG_CHART = Case(
    id="org_chart",
    signature=DrawOrgChart,
    inputs={
        "description": text("""
            Wydawnictwo Kormoran has 42 people under Zofia Łęcka. Editing (15, led by Tomek Wrona) includes the poetry
            desk of 3, which has no head at the moment. Sales has 9, run by Basia Król.
        """),
    },
    clean={
        "root": {
            "name": "Wydawnictwo Kormoran",
            "head": "Zofia Łęcka",
            "headcount": 42,
            "teams": [
                {
                    "name": "Editing",
                    "head": "Tomek Wrona",
                    "headcount": 15,
                    "teams": [{"name": "Poetry desk", "headcount": 3}],
                },
                {"name": "Sales", "head": "Basia Król", "headcount": 9},
            ],
        },
        "depth": 3,
        "vacant": ["Poetry desk"],
    },
    values={
        "root": Department(
            name="Wydawnictwo Kormoran",
            head="Zofia Łęcka",
            headcount=42,
            teams=[
                Department(
                    name="Editing",
                    head="Tomek Wrona",
                    headcount=15,
                    teams=[Department(name="Poetry desk", headcount=3)],
                ),
                Department(name="Sales", head="Basia Król", headcount=9),
            ],
        ),
        "depth": 3,
        "vacant": ["Poetry desk"],
    },
    malformed=[
        text("""
            {
              root: {
                name: "Wydawnictwo Kormoran",
                head: "Zofia Łęcka",
                headcount: 42,
                teams: [
                  {
                    name: "Editing",
                    head: "Tomek Wrona",
                    headcount: 15,
                    teams: [{name: "Poetry desk", headcount: 3}]
                  },
                  {name: "Sales", head: "Basia Król", headcount: 9}
                ]
              },
              depth: 3,
              vacant: ["Poetry desk"]
            }
        """),
        text("""
            Oto drzewo:
            {"root": {"name": "Wydawnictwo Kormoran", "head": "Zofia Łęcka", "headcount": 42, "teams": [
              {"name": "Editing", "head": "Tomek Wrona", "headcount": 15,
               "teams": [{"name": "Poetry desk", "headcount": 3,},],},
              {"name": "Sales", "head": "Basia Król", "headcount": 9,},
            ],}, "depth": 3, "vacant": ["Poetry desk",],}
        """),
    ],
    coercible={
        "root": {
            "name": "Wydawnictwo Kormoran",
            "head": "Zofia Łęcka",
            "headcount": "42",
            "teams": [
                {
                    "name": "Editing",
                    "head": "Tomek Wrona",
                    "headcount": "15",
                    "teams": {"name": "Poetry desk", "headcount": "3"},
                },
                {"name": "Sales", "head": "Basia Król", "headcount": "9"},
            ],
        },
        "depth": "3",
        "vacant": "Poetry desk",
    },
    wrong={
        "root": {
            "name": "Wydawnictwo Kormoran",
            "head": "Zofia Łęcka",
            "headcount": 42,
            "teams": [
                {
                    "name": "Editing",
                    "head": "Tomek Wrona",
                    "headcount": 15,
                    "teams": [{"name": "Poetry desk", "headcount": "a handful"}],
                },
                {"head": "Basia Król", "headcount": 9},
            ],
        },
        "depth": 3,
        "vacant": ["Poetry desk", {"none": True}],
    },
    faults=["root.teams.0.teams.0.headcount", "root.teams.1.name", "vacant.1"],
)


class Part(BaseModel):
    part_number: str = Field(pattern=r"^\d{5}$")
    name: str
    per_parent: int = Field(ge=1, description="how many of it one parent needs")
    made_in_house: bool
    parts: list["Part"] = Field(default_factory=list["Part"])


class ExplodeParts(dspy.Signature):
    """Read a bill of materials from an indented list."""

    indented_list: str = dspy.InputField()
    product: Part = dspy.OutputField()
    bought_numbers: list[str] = dspy.OutputField(desc="part numbers of what is bought")


PARTS_LIST = Case(
    id="parts_list",
    signature=ExplodeParts,
    inputs={
        "indented_list": text("""
            70100 music stand
              70110 tripod (own)
                70112 rubber foot x3, bought
              70120 desk plate (own)
        """),
    },
    clean={
        "product": {
            "part_number": "70100",
            "name": "music stand",
            "per_parent": 1,
            "made_in_house": True,
            "parts": [
                {
                    "part_number": "70110",
                    "name": "tripod",
                    "per_parent": 1,
                    "made_in_house": True,
                    "parts": [
                        {"part_number": "70112", "name": "rubber foot", "per_parent": 3, "made_in_house": False},
                    ],
                },
                {"part_number": "70120", "name": "desk plate", "per_parent": 1, "made_in_house": True},
            ],
        },
        "bought_numbers": ["70112"],
    },
    values={
        "product": Part(
            part_number="70100",
            name="music stand",
            per_parent=1,
            made_in_house=True,
            parts=[
                Part(
                    part_number="70110",
                    name="tripod",
                    per_parent=1,
                    made_in_house=True,
                    parts=[Part(part_number="70112", name="rubber foot", per_parent=3, made_in_house=False)],
                ),
                Part(part_number="70120", name="desk plate", per_parent=1, made_in_house=True),
            ],
        ),
        "bought_numbers": ["70112"],
    },
    malformed=[
        text("""
            {
              'product': {
                'part_number': '70100',
                'name': 'music stand',
                'per_parent': 1,
                'made_in_house': True,
                'parts': [
                  {
                    'part_number': '70110',
                    'name': 'tripod',
                    'per_parent': 1,
                    'made_in_house': True,
                    'parts': [
                      {'part_number': '70112', 'name': 'rubber foot', 'per_parent': 3, 'made_in_house': False}
                    ]
                  },
                  {'part_number': '70120', 'name': 'desk plate', 'per_parent': 1, 'made_in_house': True}
                ]
              },
              'bought_numbers': ['70112']
            }
        """),
        text("""
            {"product": {"part_number": "70100", "name": "music stand", "per_parent": 1, "made_in_house": true,
              "parts": [
                {"part_number": "70110", "name": "tripod", "per_parent": 1, "made_in_house": true,
                  "parts": [
                    // comes in bags of 100
                    {"part_number": "70112", "name": "rubber foot", "per_parent": 3, "made_in_house": false}
                  ]},
                {"part_number": "70120", "name": "desk plate", "per_parent": 1, "made_in_house": true}
              ]},
             "bought_numbers": ["70112"]}
        """),
    ],
    coercible={
        "product": {
            "part_number": 70100,
            "name": "music stand",
            "per_parent": "1",
            "made_in_house": "true",
            "parts": [
                {
                    "part_number": 70110,
                    "name": "tripod",
                    "per_parent": "1",
                    "made_in_house": "true",
                    "parts": {
                        "part_number": 70112,
                        "name": "rubber foot",
                        "per_parent": "3",
                        "made_in_house": "false",
                    },
                },
                {"part_number": 70120, "name": "desk plate", "per_parent": "1", "made_in_house": "true"},
            ],
        },
        "bought_numbers": [70112],
    },
    wrong={
        "product": {
            "part_number": "70100",
            "name": "music stand",
            "per_parent": 1,
            "made_in_house": True,
            "parts": [
                {
                    "part_number": "70110",
                    "name": "tripod",
                    "per_parent": 1,
                    "made_in_house": "mostly",
                    "parts": [{"part_number": "foot-3", "per_parent": 3, "made_in_house": False}],
                },
                {"part_number": "70120", "name": "desk plate", "per_parent": 0, "made_in_house": True},
            ],
        },
        "bought_numbers": ["70112"],
    },
    faults=[
        "product.parts.0.made_in_house",
        "product.parts.0.parts.0.part_number",
        "product.parts.0.parts.0.name",
        "product.parts.1.per_parent",
    ],
)


class Phone(TypedDict):
    kind: Literal["mobile", "office", "home"]
    number: str


class ContactCard(TypedDict):
    full_name: str
    company: NotRequired[str]
    phones: list[Phone]
    birthday: NotRequired[dt.date]


class ReadBusinessCard(dspy.Signature):
    """Read a photographed business card."""

    card_text: str = dspy.InputField()
    contact: ContactCard = dspy.OutputField()
    language: str = dspy.OutputField()
    legible: bool = dspy.OutputField()


BUSINESS_CARD = Case(
    id="business_card",
    signature=ReadBusinessCard,
    inputs={"card_text": "Ελένη Καρρά\nΝαυπηγείο Αστέρι\nκιν. 6900112233"},
    clean={
        "contact": {
            "full_name": "Ελένη Καρρά",
            "company": "Ναυπηγείο Αστέρι",
            "phones": [{"kind": "mobile", "number": "6900112233"}],
        },
        "language": "el",
        "legible": True,
    },
    values={
        "contact": {
            "full_name": "Ελένη Καρρά",
            "company": "Ναυπηγείο Αστέρι",
            "phones": [{"kind": "mobile", "number": "6900112233"}],
        },
        "language": "el",
        "legible": True,
    },
    malformed=[
        text("""
            {'contact': {'full_name': 'Ελένη Καρρά', 'company': 'Ναυπηγείο Αστέρι',
                         'phones': [{'kind': 'mobile', 'number': '6900112233'}]},
             'language': 'el',
             'legible': True}
        """),
        text("""
            {
              "contact": {
                "full_name": "Ελένη Καρρά",
                "company": "Ναυπηγείο Αστέρι",
                "phones": [
                  {
                    "kind": "mobile",
                    "number": "6900112233"
                  }
                ]
              },
              "language": "el",
              "legible": true,
        """),
    ],
    coercible={
        "contact": {
            "full_name": "Ελένη Καρρά",
            "company": "Ναυπηγείο Αστέρι",
            "phones": {"kind": "mobile", "number": 6900112233},
        },
        "language": "el",
        "legible": "true",
    },
    wrong={
        "contact": {
            "company": "Ναυπηγείο Αστέρι",
            "phones": [{"kind": "telegraph", "number": "6900112233"}],
            "birthday": "in spring",
        },
        "language": "el",
        "legible": "hardly",
    },
    faults=["contact.full_name", "contact.phones.0.kind", "contact.birthday", "legible"],
)


@dataclass
class Sender:
    name: str
    customer_no: str | None = None


@dataclass
class Parcel:
    weight_kg: float
    size_cm: tuple[int, int, int]
    sender: Sender
    fragile: bool = False
    labels: list[str] = dataclass_field(default_factory=list[str])


class WeighParcel(dspy.Signature):
    """Fill in the form of a parcel shop from what the clerk says."""

    clerk_says: str = dspy.InputField()
    parcel: Parcel = dspy.OutputField()
    price: Decimal = dspy.OutputField()
    pickup: dt.date | None = dspy.OutputField()


PARCEL = Case(
    id="parcel",
    signature=WeighParcel,
    inputs={
        "clerk_says": text("""
            From Keramik Ünal, customer 300218. Two point four kilos, forty by thirty by twenty-five, put GLASS on it
            and handle with care. That's eight ninety. They drop it here, no pickup.
        """),
    },
    clean={
        "parcel": {
            "weight_kg": 2.4,
            "size_cm": [40, 30, 25],
            "sender": {"name": "Keramik Ünal", "customer_no": "300218"},
            "fragile": True,
            "labels": ["GLASS"],
        },
        "price": "8.90",
        "pickup": None,
    },
    values={
        "parcel": Parcel(
            weight_kg=2.4,
            size_cm=(40, 30, 25),
            sender=Sender(name="Keramik Ünal", customer_no="300218"),
            fragile=True,
            labels=["GLASS"],
        ),
        "price": Decimal("8.90"),
        "pickup": None,
    },
    malformed=[
        text("""
            {
              "parcel": {
                "weight_kg": 2.4,
                "size_cm": (40, 30, 25),
                "sender": {"name": "Keramik Ünal", "customer_no": "300218"},
                "fragile": True,
                "labels": ["GLASS"],
              },
              "price": "8.90",
              "pickup": None,
            }
        """),
        text("""
            The form:
            ```
            {parcel: {weight_kg: 2.4, size_cm: [40, 30, 25], sender: {name: "Keramik Ünal", customer_no: "300218"},
            fragile: true, labels: ["GLASS"]}, price: "8.90", pickup: null}
            ```
        """),
    ],
    coercible={
        "parcel": {
            "weight_kg": "2.4",
            "size_cm": ["40", "30", "25"],
            "sender": {"name": "Keramik Ünal", "customer_no": 300218},
            "fragile": "true",
            "labels": "GLASS",
        },
        "price": 8.9,
        "pickup": "null",
    },
    wrong={
        "parcel": {
            "weight_kg": "two and a bit",
            "size_cm": [40, 30, "flat"],
            "sender": {"customer_no": "300218"},
            "fragile": True,
            "labels": ["GLASS"],
        },
        "price": "eight ninety",
        "pickup": None,
    },
    faults=["parcel.weight_kg", "parcel.size_cm.2", "parcel.sender.name", "price"],
)

# Inputs of other types, constraints and long instructions -------------------------------------------------------------


class ContinueChat(dspy.Signature):
    """Answer the next question of a guest in the botanic garden, in the light of the talk so far."""

    history: dspy.History = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    plants: list[str] = dspy.OutputField(desc="plants that the answer names")
    walking_minutes: int = dspy.OutputField()


GARDEN_CHAT = Case(
    id="garden_chat",
    signature=ContinueChat,
    inputs={
        "history": dspy.History(
            messages=[
                {
                    "question": "What is in flower today?",
                    "answer": "The Himalayan poppies, behind the palm house.",
                    "plants": ["Himalayan poppy"],
                    "walking_minutes": 4,
                },
                {
                    "question": "Is there shade on the way?",
                    "answer": "Yes, take the lime avenue.",
                    "plants": ["lime"],
                    "walking_minutes": 6,
                },
            ]
        ),
        "question": "And how long is it from there to the bog garden with the sundews?",
    },
    clean={
        "answer": "About nine minutes. The sundews are beside the boardwalk.",
        "plants": ["sundew"],
        "walking_minutes": 9,
    },
    values={
        "answer": "About nine minutes. The sundews are beside the boardwalk.",
        "plants": ["sundew"],
        "walking_minutes": 9,
    },
    malformed=[
        text("""
            {
              answer: "About nine minutes. The sundews are beside the boardwalk.",
              plants: ["sundew"],
              walking_minutes: 9
            }
        """),
        text("""
            From the poppies, I would say:

            {"answer": "About nine minutes. The sundews are beside the boardwalk.",
             "plants": ["sundew",], "walking_minutes": 9,}
        """),
    ],
    coercible={
        "answer": "About nine minutes. The sundews are beside the boardwalk.",
        "plants": "sundew",
        "walking_minutes": "9",
    },
    wrong={
        "answer": "About nine minutes. The sundews are beside the boardwalk.",
        "plants": [{"latin": "Drosera"}],
        "walking_minutes": "nine or ten",
    },
    faults=["plants.0", "walking_minutes"],
)


class RankApplicants(dspy.Signature):
    """Rank the letters of applicants for a bakery apprenticeship. Letters are counted from 0."""

    letters: list[str] = dspy.InputField()
    must_haves: list[str] = dspy.InputField()
    weights: dict[str, float] = dspy.InputField()
    ranking: list[int] = dspy.OutputField(desc="best first")
    reasons: list[str] = dspy.OutputField(desc="one for each place of the ranking")
    rejected: list[int] = dspy.OutputField()
    top_score: float = dspy.OutputField()


APPLICANTS = Case(
    id="applicants",
    signature=RankApplicants,
    inputs={
        "letters": [
            "I get up at four anyway, for the swimming. I baked with my grandmother every Sunday. - Sunniva",
            "Please find attached my CV for the position of web designer.",
            "Two summers at a pizza oven, and I can lift 25 kg. Early shifts are no trouble. - Dragoș",
        ],
        "must_haves": ["early shifts", "wants to bake"],
        "weights": {"experience": 0.7, "motivation": 0.3},
    },
    clean={
        "ranking": [2, 0],
        "reasons": ["Has worked at an oven.", "Keen, and used to early hours."],
        "rejected": [1],
        "top_score": 0.8,
    },
    values={
        "ranking": [2, 0],
        "reasons": ["Has worked at an oven.", "Keen, and used to early hours."],
        "rejected": [1],
        "top_score": 0.8,
    },
    malformed=[
        text("""
            {'ranking': [2, 0], 'reasons': ['Has worked at an oven.', 'Keen, and used to early hours.'],
             'rejected': [1], 'top_score': 0.8}
        """),
        text("""
            {
              "ranking": [2, 0],  // Dragoș, Sunniva
              "reasons": [
                "Has worked at an oven.",
                "Keen, and used to early hours."
              ],
              "rejected": [1],    // wrong job
              "top_score": 0.8
            }
        """),
    ],
    coercible={
        "ranking": ["2", "0"],
        "reasons": '["Has worked at an oven.", "Keen, and used to early hours."]',
        "rejected": 1,
        "top_score": "0.8",
    },
    wrong={
        "ranking": ["Dragoș", "Sunniva"],
        "reasons": ["Has worked at an oven.", "Keen, and used to early hours."],
        "rejected": [1],
        "top_score": "very good",
    },
    faults=["ranking.0", "ranking.1", "top_score"],
)


class Policy(BaseModel):
    number: str
    covers: list[Literal["theft", "fire", "water", "storm"]]
    excess: Decimal
    since: dt.date


class Claim(BaseModel):
    cause: str
    happened_on: dt.date
    items: dict[str, Decimal]


class Decision(BaseModel):
    outcome: Literal["pay", "refuse", "ask"]
    amount: Decimal = Field(ge=0)
    missing_papers: list[str] = []


class DecideClaim(dspy.Signature):
    """Decide a claim under a household policy. The excess is taken off the sum of the items."""

    policy: Policy = dspy.InputField()
    claim: Claim = dspy.InputField()
    reported_on: dt.datetime = dspy.InputField()
    decision: Decision = dspy.OutputField()
    pay_by: dt.date | None = dspy.OutputField()
    letter: str = dspy.OutputField()


INSURANCE_CLAIM = Case(
    id="insurance_claim",
    signature=DecideClaim,
    inputs={
        "policy": Policy(
            number="HH-66120",
            covers=["fire", "water"],
            excess=Decimal("150"),
            since=dt.date(2019, 5, 1),
        ),
        "claim": Claim(
            cause="hose of the washing machine burst",
            happened_on=dt.date(2026, 7, 2),
            items={"carpet": Decimal("640.00"), "cello bag": Decimal("85.50")},
        ),
        "reported_on": dt.datetime(2026, 7, 3, 9, 5),
    },
    clean={
        "decision": {"outcome": "pay", "amount": "575.50", "missing_papers": ["photo of the hose"]},
        "pay_by": "2026-07-31",
        "letter": "We pay 575.50. Please send us a photo of the hose.",
    },
    values={
        "decision": Decision(outcome="pay", amount=Decimal("575.50"), missing_papers=["photo of the hose"]),
        "pay_by": dt.date(2026, 7, 31),
        "letter": "We pay 575.50. Please send us a photo of the hose.",
    },
    malformed=[
        text("""
            ```json
            {
              'decision': {'outcome': 'pay', 'amount': '575.50', 'missing_papers': ['photo of the hose']},
              'pay_by': '2026-07-31',
              'letter': 'We pay 575.50. Please send us a photo of the hose.'
            }
            ```
        """),
        text("""
            640.00 + 85.50 - 150 = 575.50

            {
              "decision": {
                "outcome": "pay",
                "amount": "575.50",
                "missing_papers": [
                  "photo of the hose"
                ]
              },
              "pay_by": "2026-07-31",
              "letter": "We pay 575.50. Please send us a photo of the hose."
        """),
    ],
    coercible={
        "decision": '{"outcome": "pay", "amount": 575.5, "missing_papers": "photo of the hose"}',
        "pay_by": "2026-07-31",
        "letter": "We pay 575.50. Please send us a photo of the hose.",
    },
    wrong={
        "decision": {"decision": {"outcome": "pay", "amount": "575.50", "missing_papers": ["photo of the hose"]}},
        "pay_by": "as soon as possible",
        "letter": "We pay 575.50. Please send us a photo of the hose.",
    },
    faults=["decision.outcome", "decision.amount", "pay_by"],
)


class TasteWine(dspy.Signature):
    """Turn a taster's mumbling into a score sheet."""

    mumbling: str = dspy.InputField()
    label: str = dspy.InputField()
    points: int = dspy.OutputField(ge=50, le=100, desc="the usual hundred-point scale, which begins at 50")
    acidity: float = dspy.OutputField(gt=0, lt=10, desc="grams per litre")
    aromas: list[str] = dspy.OutputField(min_length=1, max_length=4)
    lot_code: str = dspy.OutputField(pattern=r"^L\d{4}$")
    nickname: str = dspy.OutputField(min_length=3, max_length=30)


WINE_TASTING = Case(
    id="wine_tasting",
    signature=TasteWine,
    inputs={
        "mumbling": "mmh, quince all over. acids six point two I'd bet. Lovely, ninety-one. Little Thunder.",
        "label": "Furmint, Tállya, 2023, 12.5 % vol, L2309",
    },
    clean={
        "points": 91,
        "acidity": 6.2,
        "aromas": ["quince"],
        "lot_code": "L2309",
        "nickname": "Little Thunder",
    },
    values={
        "points": 91,
        "acidity": 6.2,
        "aromas": ["quince"],
        "lot_code": "L2309",
        "nickname": "Little Thunder",
    },
    malformed=[
        "{'points': 91, 'acidity': 6.2, 'aromas': ['quince',], 'lot_code': 'L2309', 'nickname': 'Little Thunder',}",
        text("""
            {
              points: 91,
              acidity: 6.2,      // a bet
              aromas: ["quince"],
              lot_code: "L2309",
              nickname: "Little Thunder"
            }
        """),
    ],
    coercible={
        "points": "91",
        "acidity": "6.2",
        "aromas": "quince",
        "lot_code": "L2309",
        "nickname": "Little Thunder",
    },
    wrong={
        "points": 19,
        "acidity": 62,
        "aromas": [],
        "lot_code": "2309, I think",
        "nickname": "Little Thunder",
    },
    faults=["points", "acidity", "aromas", "lot_code"],
)


class Condition(StrEnum):
    MINT = "mint"
    GOOD = "good"
    WORN = "worn"
    BROKEN = "broken"


class Loan(BaseModel):
    lender: str
    insured_for: int
    conditions: dict[str, Condition] = Field(description="by name of the part")


class ConditionReport(BaseModel):
    object_name: str
    dated: tuple[int, int] = Field(description="earliest and latest year; BC is negative")
    loan: Loan | None = None
    handling: list[Literal["gloves", "two_people", "no_light", "no_transport"]]


class WriteConditionReport(dspy.Signature):
    """You are the registrar of a small museum and write condition reports for objects on loan.

    The conservator dictates, so expect remarks that do not belong to the object: leave those out. Follow these rules,
    which the insurer checks:

    Dating. Give the earliest and the latest year as whole numbers. A century counts from its first to its last year:
    the 3rd century BC is -300 to -201, the 12th century is 1101 to 1200. "c. 1750" is ten years to either side.

    Conditions. List every part that the conservator names, with one of four words:
      * "mint"   - no trace of use;
      * "good"   - traces of use, nothing missing;
      * "worn"   - losses of paint, glaze or gilding, the shape is whole;
      * "broken" - a part has come off or will do so.
    If two words fit, take the worse one. Parts that are not named get no entry.

    Handling. "gloves" for anything with gilding, silver or textile. "two_people" from 20 kg. "no_light" for textile and
    paper. "no_transport" if any part is broken. Keep this order, and leave the list empty if no rule applies.

    Insurance. Whole euros, as the lender's contract has it, never your own estimate. An object without a lender is our
    own, and `loan` is null.

    `next_check` is one year after the day of the report, or a quarter of a year after it if any part is broken.
    `remarks` is one sentence for the visitors' label: no prices, no damage.
    """

    dictation: str = dspy.InputField()
    contract: str | None = dspy.InputField()
    report_date: dt.date = dspy.InputField()
    report: ConditionReport = dspy.OutputField()
    next_check: dt.date = dspy.OutputField()
    remarks: str = dspy.OutputField()


CONDITION_REPORT = Case(
    id="condition_report",
    signature=WriteConditionReport,
    inputs={
        "dictation": text("""
            So, the samovar, around 1870. Is that my coffee? The body has its dents, fine otherwise. Silvering on the
            lid gone in places. The tap, oh dear, the tap comes away in my hand. Some 8 kg.
        """),
        "contract": "Leihvertrag Stadtmuseum Görlitz, Samowar, Versicherungswert 3200 EUR",
        "report_date": dt.date(2026, 4, 1),
    },
    clean={
        "report": {
            "object_name": "samovar",
            "dated": [1860, 1880],
            "loan": {
                "lender": "Stadtmuseum Görlitz",
                "insured_for": 3200,
                "conditions": {"body": "good", "lid": "worn", "tap": "broken"},
            },
            "handling": ["gloves", "no_transport"],
        },
        "next_check": "2026-07-01",
        "remarks": "A silvered samovar that served tea in Görlitz for three generations.",
    },
    values={
        "report": ConditionReport(
            object_name="samovar",
            dated=(1860, 1880),
            loan=Loan(
                lender="Stadtmuseum Görlitz",
                insured_for=3200,
                conditions={"body": Condition.GOOD, "lid": Condition.WORN, "tap": Condition.BROKEN},
            ),
            handling=["gloves", "no_transport"],
        ),
        "next_check": dt.date(2026, 7, 1),
        "remarks": "A silvered samovar that served tea in Görlitz for three generations.",
    },
    malformed=[
        text("""
            Let me go through the rules one by one. The tap is broken, therefore "no_transport".

            ```json
            {
              "report": {
                "object_name": "samovar",
                "dated": [1860, 1880],
                "loan": {
                  "lender": "Stadtmuseum Görlitz",
                  "insured_for": 3200,
                  "conditions": {"body": "good", "lid": "worn", "tap": "broken"}
                },
                "handling": ["gloves", "no_transport"]
              },
              "next_check": "2026-07-01",
              "remarks": "A silvered samovar that served tea in Görlitz for three generations."
            }
            ```
        """),
        text("""
            {
              report: {
                object_name: 'samovar',
                dated: [1860, 1880],
                loan: {
                  lender: 'Stadtmuseum Görlitz',
                  insured_for: 3200,
                  conditions: {body: 'good', lid: 'worn', tap: 'broken'},
                },
                handling: ['gloves', 'no_transport'],
              },
              next_check: '2026-07-01',
              remarks: 'A silvered samovar that served tea in Görlitz for three generations.',
            }
        """),
    ],
    coercible={
        "report": {
            "object_name": "samovar",
            "dated": ["1860", "1880"],
            "loan": {
                "lender": "Stadtmuseum Görlitz",
                "insured_for": "3200",
                "conditions": '{"body": "good", "lid": "worn", "tap": "broken"}',
            },
            "handling": ["gloves", "no_transport"],
        },
        "next_check": "2026-07-01",
        "remarks": "A silvered samovar that served tea in Görlitz for three generations.",
    },
    wrong={
        "report": {
            "object_name": "samovar",
            "dated": ["around 1870", 1880],
            "loan": {
                "lender": "Stadtmuseum Görlitz",
                "insured_for": 3200,
                "conditions": {"body": "good", "lid": "patchy", "tap": "broken"},
            },
            "handling": ["gloves", "do not drop"],
        },
        "next_check": "in a quarter",
        "remarks": "A silvered samovar that served tea in Görlitz for three generations.",
    },
    faults=["report.dated.0", "report.loan.conditions.lid", "report.handling.1", "next_check"],
)

CASES: list[Case] = [
    ANSWER_YEAR,
    INVOICE_NUMBER,
    TICKET_REPLY,
    STANZA,
    LEASE_ANSWER,
    HOTEL_REVIEW,
    FORUM_POST,
    TRIAGE,
    AVALANCHE,
    WASTE,
    FLAT_HANDOVER,
    GRANT_CALL,
    GLIDER_LOG,
    PODCAST,
    PRINT_ORDER,
    PAPER_KEYWORDS,
    LAP_TIMES,
    STOCK_COUNT,
    EXCHANGE_RATES,
    WALK,
    ALLERGENS,
    SEATING,
    SQL_QUERY,
    MEETING_ROOM,
    ERROR_REPORT,
    PAYSLIP,
    FILM_CLUB,
    WEB_SOURCE,
    NESTED_INVOICE,
    RECIPE,
    DISCHARGE_NOTE,
    CONTAINER,
    CODE_REVIEW,
    MATCH_REPORT,
    FORECAST,
    CATALOGUE,
    TIMETABLE,
    PAYMENT,
    ITINERARY,
    HOSTEL_ROOMS,
    PHONE_ORDER,
    ORG_CHART,
    PARTS_LIST,
    BUSINESS_CARD,
    PARCEL,
    GARDEN_CHAT,
    APPLICANTS,
    INSURANCE_CLAIM,
    WINE_TASTING,
    CONDITION_REPORT,
]
