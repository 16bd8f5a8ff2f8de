"""The options that say who asks trials: threads of this process, or workers of a Ray cluster."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.options import is_typed, option
from micro_agent.extras import need

if TYPE_CHECKING:
    from micro_agent.evaluation.workers.feed import Executor
    from micro_agent.evaluation.workers.worker import Setup


class By(StrEnum):
    """Who asks trials."""

    threads = "threads"
    ray = "ray"


PER_WORKER = 16
ExecutorOption = Annotated[By, option("--executor", metavar="HOW", env="MICRO_AGENT_EXECUTOR", help="threads or ray.")]
RayAddress = Annotated[
    str | None, option(metavar="ADDR", env="MICRO_AGENT_RAY_ADDRESS", help="Ray cluster, or auto [one started here].")
]
Workers = Annotated[
    int | None, option(metavar="N", env="MICRO_AGENT_WORKERS", help="ray: processes [one a node].", min=1)
]
PerWorker = Annotated[
    int | None, option(metavar="C", env="MICRO_AGENT_PER_WORKER", help="ray: trials in each [16].", min=1)
]


@dataclass(frozen=True, slots=True)
class Spread:
    """Workers of Ray, see `micro_agent.evaluation.workers.ray_crew.RayCrew`."""

    address: str | None
    workers: int | None
    per_worker: int

    def executor(self, setup: "Setup") -> "Executor":  # pragma: no cover (needs Ray: tests/torture/test_ray.py)
        """That which asks with them."""
        from micro_agent.evaluation.workers.crew import CrewExecutor
        from micro_agent.evaluation.workers.ray_crew import RayCrew

        crew = RayCrew(setup, address=self.address, workers=self.workers, per_worker=self.per_worker)
        return CrewExecutor(crew)


def spread_of(
    context: typer.Context, by: By, address: str | None, workers: int | None, per_worker: int | None, *,
    phoenix: bool | None = None,
) -> Spread | None:  # fmt: skip
    """The workers that are asked for; ``None``: threads of this process ask.

    Raises:
        ConfigurationError: Options do not go together, or Ray is not installed.
    """
    from micro_agent.errors import ConfigurationError

    if by is By.threads:
        for name in ("ray_address", "workers", "per_worker"):
            if is_typed(context, name):  # a variable may be set for other commands too
                raise ConfigurationError(f"--{name.replace('_', '-')} goes with --executor ray")
        return None
    if is_typed(context, "concurrency"):
        raise ConfigurationError("--concurrency is of threads; with --executor ray say --workers and --per-worker")
    if phoenix:
        raise ConfigurationError("--phoenix sees runs of this process: after --executor ray, send what is on record")
    if address is not None and address.startswith("ray://"):
        told = "start this on a machine of the cluster with --ray-address auto, or name the address of its GCS"
        raise ConfigurationError(f"--ray-address {address} is one of Ray Client, which is not used: {told}")
    need("ray", "ray")
    return Spread(address, workers, per_worker or PER_WORKER)  # pragma: no cover (needs Ray)
