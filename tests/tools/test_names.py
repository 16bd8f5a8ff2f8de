"""Names as models write them: the tool they mean when exactly one fits, and never a guess."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.tools import resolve
from micro_agent.tools.names import closest
from tests.each import each

NAMES = ["get_weather", "calculator", "a.b", "a_b", "json"]


@each(
    ("name", "meant"),
    [
        ("GET_WEATHER", "get_weather"),
        ("getWeather", "get_weather"),
        ("“calculator”", "calculator"),
        ("Functions.Calculator", "calculator"),
        ("tools:calculator", "calculator"),
        ("namespace.functions.get-weather", "get_weather"),
        ("default_api.get_weather()", "get_weather"),
        ("api/calculator", "calculator"),
        ("tool_name: calculator", "calculator"),
        ("Action: `calculator`", "calculator"),
        ("calculator:", "calculator"),
        ("calculator: ", "calculator"),
        ("calculator( )", "calculator"),
        ("calculator:12", "calculator"),
        ("calculator<|constrain|>json", "calculator"),
        ("calculator <|constrain|>json<|message|>", "calculator"),
        ("calculator<|channel|>commentary", "calculator"),
        ("<|channel|>analysis to=functions.calculator code", "calculator"),
        ("function<｜tool▁sep｜>calculator", "calculator"),
        ("functions.a_b", "a_b"),
        ("A.b", None),
        ("calc", None),
        ("calculater", None),
        ("CalculatorTool", "calculator"),
        ("GetWeatherFunction", "get_weather"),
        ("the get_weather tool", "get_weather"),
        ("Use calculator (tool)", "calculator"),
        ("tool_get_weather", "get_weather"),
        ("2. calculator", "calculator"),
        ("[calculator]", "calculator"),
        ("/calculator", "calculator"),
        ("get\\_weather,", "get_weather"),
        ("repo_browser.calculator", "calculator"),
        ("mcp__maths__calculator", "calculator"),
        ("maths:basic:calculator", "calculator"),
        ("maths/calculator.run", "calculator"),
        ("calculatorcommentary", "calculator"),
        ("calculator_json", None),
        ("calculatorJson", None),
        ("calculator.weather", None),
        ("json.calculator", None),
        ("get_weather.calculator", None),
        ("no_calculator", None),
        ("calculator or get_weather", None),
        ("::", None),
        ("->-", None),
        ("calculator" + " " * 600, None),
        ("calculator(1+1)", None),
        ("<|x|>calculator<|y|>get_weather", None),
    ],
)
def test_a_name_is_what_it_means_when_one_tool_fits(name: str, meant: str | None) -> None:
    assert resolve(NAMES, name) == meant


def test_a_spelling_that_needs_less_set_aside_is_the_one_that_is_meant() -> None:
    assert resolve(["tools.get", "get"], "Tools.Get") == "tools.get"
    assert resolve(["get"], "Tools.Get") == "get"
    assert resolve(["functions"], "functions:") == "functions"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("open", "fs__open"),
        ("mcp__fs__open", "fs__open"),
        ("zip.open", None),
        ("git.push", "git.push"),
        ("push", None),
        ("svn.push", None),
        ("search", "search_tool"),
        ("SearchTool", "search_tool"),
    ],
)
def test_a_tool_with_a_namespace_of_its_own_is_meant_without_it_and_never_by_another(
    name: str, meant: str | None
) -> None:
    assert resolve(["fs__open", "git.push", "hg.push", "search_tool"], name) == meant


@pytest.mark.parametrize(
    ("known", "meant"),
    [
        (["wiki.search", "get_forecast"], "wiki.search"),
        (["wiki.search", "vector_search"], None),
        (["wiki.search", "vectorSearch"], None),
        (["wiki.search", "research"], "wiki.search"),
    ],
)
def test_a_namespace_is_left_out_only_where_no_other_tool_ends_in_the_word(known: list[str], meant: str | None) -> None:
    assert resolve(known, "search") == meant


WORDS = st.lists(st.text("abcAB", min_size=1, max_size=3), min_size=1, max_size=3)


def spelled(words: list[str], between: str) -> str:
    return between.join(words)


def dressed(before: str, name: str, after: str) -> str:
    return before + name + after


SPELLED = st.builds(spelled, WORDS, st.sampled_from(["_", "-", ".", "", " "]))
DRESSED = st.builds(
    dressed,
    st.sampled_from(["", "functions.", "`", "tool: ", "<|x|>", "api."]),
    SPELLED,
    st.sampled_from(["", "()", ":", "`", "<|channel|>commentary", ":3"]),
)


def key(name: str) -> str:
    return re.sub(r"[\s._-]+", "", name).casefold()


@given(known=st.lists(SPELLED, max_size=5), name=DRESSED | st.text(max_size=30))
def test_never_one_of_two_that_fit_equally(known: list[str], name: str) -> None:
    found = resolve(known, name)
    assert found is None or found in known
    if found is not None and found not in name:
        assert [key(other) for other in set(known)].count(key(found)) == 1


@given(known=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6))
def test_an_exact_name_is_itself(known: list[str]) -> None:
    assert [resolve(known, name) for name in known] == known


def test_the_closest_names_are_shown_and_no_more() -> None:
    assert closest(NAMES, "calculater") == ["calculator"]
    assert closest(NAMES, "weather_get") == ["get_weather"]
    assert closest([], "x") == closest(NAMES, "zzz") == []
    assert len(closest([f"tool_{n}" for n in range(300)], "tool")) == 3


def test_the_number_of_a_call_is_left_out_where_it_is_not_part_of_a_name() -> None:
    assert resolve(["search"], "functions_search_2") == "search"
    assert resolve(["search_2"], "functions_search_2") == "search_2"
    assert resolve(["search", "search_2"], "functions_search_2") == "search_2"
