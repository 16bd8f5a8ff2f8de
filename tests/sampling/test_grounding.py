"""What of a call or an answer stands nowhere in what was asked and found: it is told, and nothing else is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import Run, Tool
from micro_agent.run import VALIDATION_ERROR, LMCall, Step
from micro_agent.run.images import Image
from micro_agent.sampling.grounding import Ungrounded, ungrounded, ungrounded_numbers
from micro_agent.tools.calculator import calculator
from micro_agent.tools.clock import now
from tests.each import each


def free(*_: object, **__: object) -> None:
    """A tool whose schema says nothing."""


FREE = Tool("do", "", {"type": "object"}, free)


def words(value: Any, question: str = "", *, tool: Tool = FREE, **more: Any) -> list[str]:
    """What stands nowhere of one argument."""
    found = ungrounded({"x": value}, Run(question=question, **more), tool)
    return [word for argument in found for word in argument.words]


# ------------------------------------------------------------------ words


def test_an_argument_with_a_word_that_nobody_said_is_told_with_its_path() -> None:
    args = {"to": "Luvira", "items": [{"name": "bread", "count": 2}, {"name": "Breda", "count": 20}]}
    found = ungrounded(args, Run(question="Send Luvir 2 bread."), FREE)
    assert found == [
        Ungrounded("to", "Luvira", ("luvira",)),
        Ungrounded("items[1].name", "Breda", ("breda",)),
        Ungrounded("items[1].count", 20, ("20",)),
    ]


@each(
    ("question", "right", "wrong"),
    [
        ("How old is Dubemo?", "dubemo", "Dubem"),
        ("Wie wird das Wetter morgen in Düsseldorf?", "DUSSELDORF", "Dortmund"),
        ("Öffne die Datei STRASSE.txt", "straße.txt", "gasse.txt"),
        ("¿Qué tiempo hace en Málaga?", "Malaga", "Granada"),
        ("Quelle heure est-il à Besançon ?", "besancon", "Besanon"),
        ("北京今天的天气怎么样？", "北京", "南京"),
        ("把客厅的灯关掉", "客厅", "厅客"),
        ("搜索关于量子计算机的最新论文", "量子计算机最新论文", "量子计算法"),
        ("東京の今日の天気を教えて", "東京天気", "京都天気"),
        ("ﾄｳｷｮｳの天気", "トウキョウ", "オオサカ"),
        ("오늘 서울의 날씨 어때?", "서울", "부산"),
        ("อากาศที่กรุงเทพวันนี้", "กรุงเทพ", "เชียงใหม่"),
        ("ما حالة الطقس في القاهرة؟", "القَاهِرة", "بيروت"),
        ("दिल्ली में मौसम कैसा है?", "दिल्ली", "दल्ला"),
        ("Какая погода в городе Орёл?", "орел", "Омск"),
        ("Read src/main_loop.py, please.", "./src/main_loop.py", "./src/main_lop.py"),
        ("Write to ann.lee@example.com", "Ann Lee <ann.lee@example.com", "anna.lee@example.com"),
        ("Book a room in Oslo for 3 km around", "3km around Oslo", "30km around Oslo"),
        ("Who ordered A12345?", "A12345", "A12354"),
    ],
)
def test_words_are_compared_in_any_script(question: str, right: str, wrong: str) -> None:
    assert words(right, question) == []
    assert words(wrong, question) != []


@pytest.mark.parametrize("value", [True, False, None, "", " ", [], {}, 0, 1, "-", "of a", {"colour": {"red": True}}])
def test_what_says_nothing_is_never_told(value: Any) -> None:
    assert words(value) == []


@pytest.mark.parametrize(
    "value",
    [
        "Dear Ann,\nthe bus is late.",
        "The bus is late. Please wait there.",
        "会議は延期になりました。また連絡します。",
        "a summary of all that was said about trains and buses in spring",
        "会议推迟到下周三下午三点请大家提前十分钟到达会议室并带好上周讨论过的全部资料和打印好的报告谢谢各位同事配合",
        "print(total)",
        "SELECT name FROM users WHERE age > 2024-05-07;",
        "x == y",
    ],
)
def test_a_text_that_the_tool_wants_written_is_not_told_word_for_word(value: str) -> None:
    assert words(value, "Do it.") == []


# ------------------------------------------------------------------ numbers


@each(
    ("question", "right", "wrong"),
    [
        ("Add 37 and 18.", 37, 307),
        ("Add 37 and 18.", "18", "81"),
        ("We need twelve eggs", 12, 13),
        ("It costs 1,200.50 dollars", 1200.5, 1200.05),
        ("Das kostet 1.200,50 Euro, also 1.200", 1200, 120),
        ("Cost: 12.0 each", 12, 12.5),
        ("40% of it", 0.4, 0.5),
        ("三十五个苹果和二〇二六年", [35, 2026], 36),
        ("一万两千元", 12000, 12001),
        ("٣٥ تفاحة", 35, 36),
        ("३५ सेब", "35", "36"),
        ("A resistor of 100 mΩ and $2.5M", [0.1, 2_500_000], 0.2),
        ("Get 5,10 and 15", [5, 10], 9),
        ("Server 10.0.0.7, version 2.13.1", "10.0.0.7 2.13.1", "10.0.0.8"),
        ("Minus 5 degrees", -5, -6),
        ("Count 12345678901234567890123456789012345678901234", "12345678901234567890123456789012345678901234",
         "92345678901234567890123456789012345678901234"),
    ],
)  # fmt: skip
def test_numbers_are_compared_by_value(question: str, right: Any, wrong: Any) -> None:
    assert words(right, question) == []
    assert words(wrong, question) != []


def test_a_number_in_words_is_read_where_the_rules_read_it() -> None:
    assert words("twelve", "12 eggs") == []


@pytest.mark.parametrize("value", [55, 19, 666, 37 / 18, 2.06, 0.49])
def test_what_two_seen_numbers_give_stands_somewhere(value: float) -> None:
    assert words(value, "Take 37 and 18.") == []
    assert words(value, "Take 41 and 23.") != []


def test_among_very_many_numbers_nothing_is_computed() -> None:
    many = " ".join(str(1000 + 7 * number) for number in range(150))
    assert words(2007, many) == ["2007"]


def test_in_an_expression_the_tool_computes() -> None:
    run = Run(question="What is 15% of 278, plus 12?")
    for right in ("278*15/100 + 12", "0.15 × 278", "sqrt(278)", "round(278 * 15%)"):
        assert ungrounded({"expression": right}, run, calculator) == []
    assert words("290 * 15/100", run.question, tool=calculator) == ["290"]
    assert words("27 + 12", run.question) == ["27"]


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Book it for June 5th, 2026 at 4:30 PM", "2026-06-05T16:30:00Z", "2026-06-15T16:30:00Z"),
        ("Reserva el 5 de junio de 2026 a las 16", "05/06/2026", "05/06/2027"),
        ("Am 5. Juni 2026 um 9 Uhr", "2026-06-05 09:00", "2026-06-05 08:15"),
        ("2026年6月5日に予約", "2026-06-05に", "2025-06-05に"),
        ("Concerts in April 2022", "2022-04", "2021-04"),
        ("Wake me at 15:45", "3:45 pm", "3:20 pm"),
    ],
)
def test_dates_and_times_are_compared_by_their_parts(question: str, right: str, wrong: str) -> None:
    assert words(right, question) == []
    assert words(wrong, question) != []


def test_of_a_zone_the_city_is_looked_for() -> None:
    run = Run(question="What time is it in Tokyo?")
    assert ungrounded({"timezone": "Asia/Tokyo"}, run, now) == []
    assert ungrounded({"timezone": "utc"}, run, now) == []
    (found,) = ungrounded({"timezone": "Asia/Seoul"}, run, now)
    assert found.words == ("seoul",)


# ------------------------------------------------------------------ what is seen


def test_the_argument_s_own_part_of_the_schema_and_the_tool_s_description_are_seen() -> None:
    weather = Tool(
        "weather_report",
        "Tell the weather, metric or imperial.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "examples": ["Lisbon"]},
                "unit": {"enum": ["celsius", "kelvin"], "default": "celsius"},
                "system": {"type": "string"},
                "when": {"anyOf": [{"const": "today"}, {"$ref": "#/$defs/day"}]},
            },
            "$defs": {"day": {"description": "Such as tomorrow."}},
        },
        free,
    )
    said = {"city": "lisbon", "unit": "Kelvin", "system": "imperial", "when": "tomorrow"}
    assert ungrounded(said, Run(question="?"), weather) == []
    swapped = {"city": "kelvin", "unit": "Lisbon", "system": "today", "when": "weather"}
    assert [found.path for found in ungrounded(swapped, Run(question="?"), weather)] == ["city", "unit", "system"]


def test_results_with_their_keys_are_seen_and_what_the_model_said_is_not() -> None:
    found: dict[str, Any] = {"city_name": "München", "ids": ["K77", {"price": 12.5}], "open": True, "at": None}
    escaped = json.dumps({"place": "Zürich"})
    steps = [
        Step(tool="find", args={"q": "Bremen"}, observation=found, result=[*range(40)]),
        Step(tool="find", args={"q": "Ulm"}, observation=escaped),
        Step(tool="find", args={"q": "Ulm"}, observation="{Kassel"),
        Step(tool=VALIDATION_ERROR, args={"tool": "find"}, observation="no Hamburg"),
    ]
    run = Run(question="?", steps=steps, calls=[LMCall(reply={"text": "It is in Dresden."})])
    seen = ["Munchen", "name", "k77", 12.5, "Zürich", "Kassel", 33, 40]
    unseen = ["Bremen", "Hamburg", "Dresden", "place2"]
    assert [argument.value for argument in ungrounded({"x": [*seen, *unseen]}, run, FREE)] == unseen


def test_what_a_failed_tool_repeats_of_its_arguments_is_not_seen() -> None:
    error = {"error": "TOOL_EXCEPTION", "message": "not found: 'Luvira', 33; did you mean Luvir?"}
    failed = Step(tool="age", args={"person": "Luvira", "n": 33}, observation=error, ok=False, error="TOOL_EXCEPTION")
    asked = Run(question="How old is she?", steps=[failed])
    assert [one.value for one in ungrounded({"x": ["Luvira", 33, "Luvir"]}, asked, FREE)] == ["Luvira", 33]
    assert ungrounded({"x": ["Luvira", 33]}, Run(question="How old is Luvira, 33?", steps=[failed]), FREE) == []
    answered = failed.model_copy(update={"ok": True, "error": None})
    assert ungrounded({"x": "Luvira"}, Run(question="?", steps=[answered]), FREE) == []


def test_inputs_the_user_s_system_text_and_earlier_turns_are_seen() -> None:
    before = Run(
        question="Who is Ann?",
        answer="Ann lives in Bergen.",
        history=[{"role": "user", "content": "Hello from Oslo"}, {"role": "assistant", "content": "Hi, Tromsø!"}],
        steps=[Step(tool="find", args={"q": "Narvik"}, observation={"phone": 77123})],
        calls=[LMCall(reply={"text": "Maybe Alta."})],
    )
    run = Run(
        question="Write to her.",
        inputs={"draft": "about the Fjord", "limit": 9},
        system="You work for Hurtig.",
        earlier=(before,),
    )
    seen = ["Ann", "Bergen", "Oslo", "Tromsø", 77123, "fjord", 9, "Hurtig"]
    assert [one.value for one in ungrounded({"x": [*seen, "Narvik", "Alta"]}, run, FREE)] == ["Narvik", "Alta"]


def test_where_nobody_can_know_what_was_seen_nothing_is_told() -> None:
    image = Image(media_type="image/png", size=1, sha256="0" * 64)
    for run in (Run(question="?", images=[image]), Run(question="word " * 100_001)):
        assert ungrounded({"x": "Luvira"}, run, FREE) == []
        assert ungrounded_numbers("It is 42.", run) == []


# ------------------------------------------------------------------ answers


ROWS = [Step(tool="find", observation={"rows": [{"price": 12.4567}, {"price": 30}, {"price": 4.5}]})]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("There are 3: 12.46, 30 and about 5.", []),
        ("Together 42.46, on 2026-05-07 at 16:30; 20% of 50 is 10.", []),
        ("1. thirty\n2. four and a half\n 3) twelve", []),
        ("It is 31, and 31 again, on 2025-05-29.", ["2025", "29", "31"]),
        ("价格是30元，不是81元", ["81"]),
        ("Twelve things, none with digits", []),
    ],
)
def test_numbers_of_an_answer_that_stand_nowhere_are_told(answer: str, told: list[str]) -> None:
    run = Run(question="Prices of May 7, 2026, 4:30 pm; what is 20% of 50?", steps=ROWS)
    assert ungrounded_numbers(answer, run) == told


# ------------------------------------------------------------------ properties

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
ODD = st.text(alphabet="0129.,:-/% et東十二٣'\\{[(", max_size=40)


@given(args=st.dictionaries(st.text(max_size=5), JSON | ODD, max_size=4), question=st.text() | ODD, seen=JSON)
def test_it_tells_of_any_json_the_same_twice_and_never_raises(args: dict[str, Any], question: str, seen: Any) -> None:
    run = Run(question=question, steps=[Step(tool="t", args=args, observation=seen, ok=False)])
    found = ungrounded(args, run, calculator)
    assert found == ungrounded(args, run, calculator) or "nan" in str(args)
    assert all(argument.words for argument in found)
    ungrounded_numbers(question, run)


@given(before=st.text(max_size=20), value=st.text() | ODD, after=st.text(max_size=20))
def test_a_value_copied_from_the_question_is_never_told(before: str, value: str, after: str) -> None:
    assert words(value, f"{before} {value} {after}") == []


@given(value=st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_of_a_result_is_never_told(value: float) -> None:
    assert words(value, steps=[Step(tool="t", observation={"n": value})]) == []


def test_values_of_any_size_are_taken() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    sizes = [10**5000, -(10**45), float("inf"), float("nan"), "9" * 9000, "1." * 900, "(" * 2000, "[" * 90_000, deep]
    for value in sizes:
        assert words(value, "12", steps=[Step(tool="t", observation=value)]) == []
