"""A worker of an eval, in a process of its own: it makes agents as the driver does, with the keys of where it runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from micro_agent.cli.eval_plan import Asker, asker_of, settings_of_model
from micro_agent.cli.messages import log_from, mask_the_rest
from micro_agent.evaluation.result import Header
from micro_agent.evaluation.workers.code import digests
from micro_agent.evaluation.workers.feed import Executor
from micro_agent.evaluation.workers.tried import Ask, DamagesOf
from micro_agent.evaluation.workers.worker import Setup
from micro_agent.files.masking import mask_of
from micro_agent.models.settings import Settings, load_settings
from micro_agent.optimize import Bench
from micro_agent.tools import Tool


@dataclass(frozen=True, slots=True)
class Given:
    """What agents are made of elsewhere.

    Attributes:
        header: As it stands in the result file, without the ids of the tasks.
        settings: Those of the driver, without secrets.
        base_urls: The addresses that its user has named.
        demos: The content of the file of demos that was named.
    """

    header: bytes
    settings: Settings
    base_urls: tuple[str, ...]
    demos: bytes | None


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks in this process."""

    ask: Ask
    damages_of: DamagesOf | None
    asker: Asker
    folder: TemporaryDirectory[str]

    def close(self) -> None:
        """Remove the folders of this worker."""
        self.asker.close()
        self.folder.cleanup()


def setup_of(header: Header, found: Settings, base_urls: Sequence[str], traces: Path | None) -> Setup:
    """What the workers of an eval are told. ``traces``: the folder that the results name."""
    demos: str | None = header.settings["demos"]
    given = Given(
        mask_of().encode(header.model_copy(update={"tasks": []})), _without_secrets(found), tuple(base_urls),
        None if demos is None else Path(demos).read_bytes(),
    )  # fmt: skip
    return Setup(
        asking, given, header.rubric, digests(found.tools_modules), found.tools_modules, str(Path.cwd()),
        None if traces is None else str(traces),
    )  # fmt: skip


def workers_for(
    executor_of: Callable[[Setup], Executor], bench: Bench, tools: dict[str, Tool], base_urls: Sequence[str]
) -> Callable[[Header, Path, Path], Executor]:  # fmt: skip
    """Makes those who ask an arm of an optimization: what they are told is what the workers of an eval are."""

    def made(header: Header, demos: Path, traces: Path) -> Executor:
        agents = {
            **settings_of_model(bench.lm, bench.settings, tools, demos), "mode": bench.mode,
            "max_steps": bench.limits.max_steps, "max_time": bench.limits.max_time,
        }  # fmt: skip
        told = header.model_copy(update={"settings": agents})
        return executor_of(setup_of(told, bench.settings, base_urls, traces))

    return made


def asking(given: Given) -> Asking:
    """Who asks in this process; the keys are those of its environment and of a ``.env`` in its working directory.

    Raises:
        ConfigurationError: The tools or the demos are not those of the driver, or the model cannot be used.
    """
    mask_the_rest()
    log_from(given.settings.micro_agent_log)
    found = _with_secrets(given.settings, load_settings(env_file=".env"))
    header, folder = Header.model_validate_json(given.header), TemporaryDirectory(prefix="micro-agent-worker-")
    header.settings["demos"] = given.demos and _written(given.demos, Path(folder.name, "demos.json"))
    others = "those of the driver: put the same files on each machine"
    named = [url.rstrip("/") for url in given.base_urls]
    asker = asker_of(header, found, named, whose="this eval", others=others)
    return Asking(*asker.asking(header), asker, folder)


def _written(content: bytes, path: Path) -> str:
    path.write_bytes(content)
    return str(path)


def _without_secrets(found: Settings) -> Settings:
    return found.having(**dict.fromkeys(_secrets_of(found)))


def _with_secrets(found: Settings, own: Settings) -> Settings:
    return found.having(**_secrets_of(own))


def _secrets_of(found: Settings) -> dict[str, SecretStr]:
    values = {name: getattr(found, name) for name in type(found).model_fields}
    return {name: value for name, value in values.items() if isinstance(value, SecretStr)}
