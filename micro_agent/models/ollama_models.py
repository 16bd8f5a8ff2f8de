"""The models that an Ollama server has. No DSPy here."""

from pydantic import BaseModel

from micro_agent.models.lookup import LookupFailed, look_up
from micro_agent.models.target import UnusableError


class _Details(BaseModel):
    family: str | None = None


class _Model(BaseModel):
    name: str
    details: _Details | None = None


class _Tags(BaseModel):
    models: list[_Model] | None = None


def ollama_models(base_url: str, *, timeout_s: float) -> list[str]:
    """The names of the models that the Ollama server at ``base_url`` has, in its order, at least one.

    Models that only embed text (of a BERT family, or named so) come last.

    Raises:
        UnusableError: Nothing answers ``/api/tags`` within ``timeout_s`` seconds, it is not Ollama, or it has no model.
    """
    try:
        models = _Tags.model_validate(look_up(f"{base_url}/api/tags", timeout_s=timeout_s)).models or []
    except LookupFailed as error:
        if error.status == 200:
            raise _no_ollama(base_url) from error
        raise UnusableError(
            f"no Ollama answers at {base_url} ({error})",
            "start it with `ollama serve`, or set OLLAMA_HOST to where it runs",
        ) from error
    except ValueError as error:
        raise _no_ollama(base_url) from error
    if not models:
        raise UnusableError(f"Ollama at {base_url} has no model", "get one, for example with `ollama pull llama3.2:3b`")
    return [model.name for model in sorted(models, key=_embeds_only)]


def _embeds_only(model: _Model) -> bool:
    family = model.details.family if model.details else None
    return "embed" in model.name or "bert" in (family or "")


def _no_ollama(base_url: str) -> UnusableError:
    return UnusableError(f"what answers at {base_url} is not Ollama", "set OLLAMA_HOST to where Ollama runs")
