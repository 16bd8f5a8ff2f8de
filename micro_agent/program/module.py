# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false
"""The agent as a module of a DSPy program."""

from abc import abstractmethod
from typing import Any

import dspy

from micro_agent.program.prediction import prediction
from micro_agent.session import Session, adrive, drive


class Program(dspy.Module):
    """What `MicroAgent` is to DSPy: ``agent(question=…)``, for any optimizer and ``dspy.Evaluate``."""

    def forward(self, question: str) -> dspy.Prediction:
        """``ask`` as a DSPy program: a `prediction`."""
        return prediction(drive(self._session(question)))

    async def aforward(self, question: str) -> dspy.Prediction:
        """`forward`, awaited."""
        return prediction(await adrive(await self._asession(question)))

    @abstractmethod
    def _session(self, question: str, lm: Any = None, **options: Any) -> Session: ...

    @abstractmethod
    async def _asession(self, question: str, **options: Any) -> Session: ...
