"""Prices: from DSPy's table or the user's, unknown where nobody knows, and never 0 by accident."""

from typing import Any

import dspy
import pytest
from dspy.clients import model_metadata

from micro_agent.models import configure_lm
from micro_agent.models.prices import Price, cost, price, price_of
from micro_agent.models.settings import Settings

MINI = Price(1.5e-07, 6e-07)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in map(str.upper, Settings.model_fields):
        monkeypatch.delenv(name, raising=False)


def settings(**values: Any) -> Settings:
    return Settings(openai_input_price_per_1k=values.get("given"), openai_output_price_per_1k=values.get("taken"))


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "gpt-4o-mini"])
def test_openai_is_priced_by_the_table(model: str) -> None:
    assert price(model, Settings()) == MINI


def test_other_hosted_providers_are_priced_by_the_table() -> None:
    assert price("openrouter/openai/gpt-4o", Settings()) == Price(2.5e-06, 1e-05)


@pytest.mark.parametrize("model", ["openai/no-such-model", "ollama/llama3.2:1b", "ollama_chat/llama2", "mock/rules"])
def test_what_nobody_knows_has_no_price(model: str) -> None:
    assert price(model, Settings()) is None


def test_a_compatible_server_with_a_borrowed_name_has_no_price() -> None:
    assert price("openai/gpt-4o-mini", Settings(), base_url="http://127.0.0.1:8080/v1") is None
    assert price("openai/gpt-4o-mini", Settings(openai_base_url="http://127.0.0.1:8080/v1")) is None
    assert price("openrouter/openai/gpt-4o", Settings(), base_url="http://127.0.0.1:8080/v1") is None


def test_the_users_prices_win_everywhere_on_that_wire() -> None:
    own = settings(given=1.0, taken=2.0)
    assert price("openai/gpt-4o-mini", own) == Price(0.001, 0.002)
    assert price("openai/local", own, base_url="http://127.0.0.1:8080/v1") == Price(0.001, 0.002)
    assert price("ollama/llama3.2:1b", own) is None


def test_one_price_of_the_users_leaves_the_other_to_the_table() -> None:
    assert price("openai/gpt-4o-mini", settings(given=1.0)) == Price(0.001, MINI.output_per_token)
    assert price("openai/local", settings(given=1.0)) is None


def test_only_the_user_can_say_that_it_is_free() -> None:
    assert price("openai/local", settings(given=0.0, taken=0.0)) == Price(0.0, 0.0)
    table: dict[str, Any] = model_metadata._load()  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]
    free = next(
        name
        for name, entry in table.items()
        if name.startswith("openrouter/")
        and entry.get("input_cost_per_token") == entry.get("output_cost_per_token") == 0
    )
    assert price(free, Settings()) is None


@pytest.mark.parametrize(
    ("of", "given", "taken", "dollars"),
    [
        (Price(0.001, 0.002), 100, 10, 0.12),
        (Price(0.001, 0.002), 0, 0, 0.0),
        (None, 100, 10, None),
        (Price(0.001, 0.002), None, 10, None),
        (Price(0.001, 0.002), 100, None, None),
    ],
)
def test_a_cost_is_unknown_as_soon_as_a_part_is(
    of: Price | None, given: int | None, taken: int | None, dollars: float | None
) -> None:
    assert cost(of, given, taken) == (pytest.approx(dollars) if dollars is not None else None)  # pyright: ignore[reportUnknownMemberType]


def test_the_price_of_an_lm_is_that_of_where_it_goes() -> None:
    public = configure_lm("openai", "gpt-4o-mini", api_key="k")
    local = configure_lm("openai", "gpt-4o-mini", "http://127.0.0.1:9/v1")
    assert (price_of(public, Settings()), price_of(local, Settings())) == (MINI, None)
    assert price_of(configure_lm("mock", announce=list[str]().append), Settings()) is None


def test_the_price_of_an_lm_of_the_users_own() -> None:
    assert price_of(dspy.LM("openai/gpt-4o-mini"), Settings()) == MINI
    assert price_of(dspy.LM("openai/gpt-4o-mini", api_base="http://127.0.0.1:9/v1"), Settings()) is None
