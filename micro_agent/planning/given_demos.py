"""The demos that an agent was given or found, and whether they count for the model and the mode that are asked."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from micro_agent.demos import CompiledDemos, checked_demos, instructions, load_demos
from micro_agent.files.outside import is_inside, refuse_inside
from micro_agent.models.announcing import once
from micro_agent.models.identity import provider_of
from micro_agent.run import Mode
from micro_agent.tools import Tool
from micro_agent.tools.registry import repositories_of

if TYPE_CHECKING:
    from micro_agent.models.settings import Settings

_log = logging.getLogger("micro_agent")


@dataclass(frozen=True, slots=True)
class Given:
    """Demos, and instructions where an optimizer rewrote them, with how the agent came by them."""

    compiled: CompiledDemos
    bare: bool = False
    """No demos were wanted, not even the default ones."""
    found_in: Path | None = None
    """The file that every agent reads; ``None``: they were handed over, and count for every model."""

    def count_for(self, lm: Any, mode: Mode) -> bool:
        """Whether they do; that a file of another model or mode does not is said once."""
        asked: dict[str, Any] = {"provider": provider_of(lm), "model": lm.model, "mode": mode}
        made_for = {name: getattr(self.compiled, name) for name in asked}
        if self.found_in is None or all(made_for[name] in (None, asked[name]) for name in asked):
            return True
        if self.compiled.demos or self.compiled.instructions:
            _say_once(
                f"{self.found_in} is not used: it was made for {_named(made_for)}, and {_named(asked)} is asked; "
                f'--demos {self.found_in} (demos="{self.found_in}") uses it all the same'
            )
        return False

    def shown(self, predict: Any, lm: Any, mode: Mode) -> tuple[Any, list[Any]]:
        """The signature and the demos to ask with: the predictor's, but for what does not count.

        What an optimizer, or a program that was loaded, has put into the predictor since stays.
        """
        signature: Any = predict.signature
        demos: list[Any] = predict.demos
        counts, rewritten = self.count_for(lm, mode), signature.instructions == self.compiled.instructions
        if not counts and rewritten:
            signature = signature.with_instructions(instructions())
        elif rewritten and self.found_in is not None:  # it was not asked for, and shapes every answer
            once(f"the instructions to the model are those of {self.found_in}, not the built-in ones")
        if not counts and [dict(demo) for demo in demos] == [demo.plain() for demo in self.compiled.demos]:
            demos = []
        return signature, demos


def given_demos(
    demos: str | Path | list[dict[str, Any]] | None, settings: "Settings", *, typed: bool = False,
    tools: Mapping[str, Tool] | None = None,
) -> Given:  # fmt: skip
    """The demos that were asked for: given ones, those of a file, or what is found where the settings say.

    What is found was made for answers of one text; an agent whose answers are ``typed`` leaves it. What is found in a
    repository that ``tools`` let the model work in is left, too.

    Raises:
        ConfigurationError: One that was named is in such a repository.
        DemosError: The file is damaged, or one that was named is not there.
    """
    if isinstance(demos, list):
        return Given(checked_demos({"demos": demos}, "bad demos"), bare=not demos)
    closed = repositories_of(tools or {})
    if demos is not None:
        _refuse(Path(demos), closed, "the file of demos")
        return Given(load_demos(demos))
    path, named = settings.compiled_demos_path, "compiled_demos_path" in settings.model_fields_set
    if typed or (not named and not path.exists()):
        return Given(CompiledDemos(demos=[]))
    if not named and any(is_inside(folder, path) for folder in closed):
        once(f"{path} is not read: it is inside the repository, where the model can write")
        return Given(CompiledDemos(demos=[]))
    _refuse(path, closed, "COMPILED_DEMOS_PATH")
    return Given(load_demos(path), found_in=path)


def _refuse(path: Path, closed: Iterable[Path], what: str) -> None:
    for folder in closed:
        refuse_inside(folder, path, what)


def _named(of: dict[str, Any]) -> str:
    provider, model, mode = (of[name] for name in ("provider", "model", "mode"))
    who = model or provider or "any model"
    named = who if provider is None or who.startswith(provider) else f"{who} ({provider})"
    return f"{named} in {mode} mode" if mode else named


@cache
def _say_once(line: str) -> None:
    _log.warning("%s", line)
