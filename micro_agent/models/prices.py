"""What a token costs, from the table that DSPy ships, looked up once a model. Unknown is ``None``, never 0.

A model on one's own machine costs power and time, not dollars a token, so Ollama, the tiny model and the mock
have no price. None of them has a server that only borrows the name of an OpenAI model.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from dataclasses import dataclass
from functools import cache
from typing import Any

from micro_agent.models.addresses import is_public_openai
from micro_agent.models.settings import Settings, keep_offline

_LOCAL = frozenset({"ollama", "ollama_chat", "tiny", "mock"})


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a token."""

    input_per_token: float
    output_per_token: float


def price(model: str, settings: Settings, *, base_url: str | None = None) -> Price | None:
    """The price of ``model`` (``provider/name``, as in ``lm.model``) at ``base_url``, or ``None`` when it is unknown.

    ``OPENAI_INPUT_PRICE_PER_1K`` and ``OPENAI_OUTPUT_PRICE_PER_1K`` win for OpenAI and compatible servers; one of them
    alone leaves the other to the table. The table holds for OpenAI's own address alone (``base_url``, by default the
    one in ``settings``). The ordinary rate is used for every input token: cached and batched ones may cost less.
    """
    provider, _, name = (model if "/" in model else f"openai/{model}").partition("/")
    if provider != "openai":
        return None if base_url or provider in _LOCAL else _complete(_listed(provider, name))
    public = is_public_openai(base_url or settings.openai_base_url)
    listed = _listed(provider, name) if public else (None, None)
    asked = (settings.openai_input_price_per_1k, settings.openai_output_price_per_1k)
    rates = tuple(own if per_1k is None else per_1k / 1000 for own, per_1k in zip(listed, asked, strict=True))
    return _complete((rates[0], rates[1]), free=asked == (0, 0))


def price_of(lm: Any, settings: Settings) -> Price | None:
    """The price of the model behind ``lm``, a `dspy.LM` of `configure_lm` or of the user's own."""
    own = (
        getattr(getattr(lm, "engine", None), "base_url", None) or lm.kwargs.get("api_base") or lm.kwargs.get("base_url")
    )
    return price(lm.model, settings, base_url=own)


def cost(of: Price | None, input_tokens: int | None, output_tokens: int | None) -> float | None:
    """US dollars for one call; ``None`` as soon as the price or a count is unknown."""
    if of is None or input_tokens is None or output_tokens is None:
        return None
    return input_tokens * of.input_per_token + output_tokens * of.output_per_token


def _complete(rates: tuple[float | None, float | None], *, free: bool = False) -> Price | None:
    """Both rates or none. The table has 0 for what it does not know, so 0 counts only where the user said it."""
    given, taken = rates
    return None if given is None or taken is None or (given + taken == 0 and not free) else Price(given, taken)


def listed_context(model: str) -> int | None:
    """Tokens of the context of ``model`` (``provider/name``), from the same table; ``None`` for what it lacks."""
    provider, _, name = (model if "/" in model else f"openai/{model}").partition("/")
    most = None if provider in _LOCAL else _info(provider, name).get("max_input_tokens")
    return most if isinstance(most, int) and most > 0 else None


@cache
def _info(provider: str, name: str) -> dict[str, Any]:
    """The table's entry. Cached, because a name that the table lacks makes DSPy scan all of it."""
    keep_offline()
    from micro_agent.dspy_internals import model_info

    return model_info(provider, name)


@cache
def _listed(provider: str, name: str) -> tuple[float | None, float | None]:
    """The table's two rates."""
    from micro_agent.dspy_internals import rate

    info = _info(provider, name)
    return rate(info, "input_cost_per_token"), rate(info, "output_cost_per_token")
