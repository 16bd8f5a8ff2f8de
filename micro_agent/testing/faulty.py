"""`FaultyLM`: any model with some of its replies damaged, to measure how tools and prompts hold up."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from micro_agent.errors import ConfigurationError
from micro_agent.testing.damage import checked
from micro_agent.testing.damages import Damages

if TYPE_CHECKING:
    import dspy

    class FaultyModel(dspy.LM):
        """What `FaultyLM` makes: a copy of the model, with a record."""

        damages: Damages


def FaultyLM(  # noqa: N802 - what it makes is an object
    lm: Any, rate: float = 0.3, seed: int = 1, classes: Iterable[str] | None = None
) -> "FaultyModel":
    """A copy of a model, some of whose replies are damaged as weak models damage theirs. Imports DSPy.

    Everything else is as with the model itself, which is not changed. Which replies are damaged and how follows from
    ``seed``, the conversation so far and how often it was sent, so that runs in parallel give what runs one by one
    give. What tools gave (there may be a clock among them) and the system prompt do not count: another prompt meets
    the same damage. Nothing is retried or cached.

    Args:
        lm: Any ``dspy.LM``: scripted, of `configure_lm`, or made from a name.
        rate: The share of the replies that is damaged, 0 to 1. A reply to which no class applies stays as it is.
        seed: Another seed damages others.
        classes: Names out of ``micro_agent.testing.damage.CLASSES``; all of them by default, each as likely.

    Returns:
        The LM, with ``damages``: a list of `Damaged`, with ``by_class`` and ``replies``.

    Raises:
        ConfigurationError: ``rate`` is not a share, or there is no such class.
        TypeError: ``lm`` is no ``dspy.LM``.
    """
    if not 0 <= rate <= 1:
        raise ConfigurationError(f"the rate of faults must be a share from 0 to 1, such as 0.3, not {rate:g}")
    names = checked(classes)
    from micro_agent.testing.faulty_engine import faulty

    return faulty(lm, rate, seed, names, Damages())
