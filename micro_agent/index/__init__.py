"""An index over a folder of traces, in SQLite: a cache, made from the traces and never the truth.

It answers which past successes are like a task. Whatever becomes of it, it is made again from the traces.
"""

from micro_agent.index.exemplars import Exemplar, told
from micro_agent.index.traces import TraceIndex

__all__ = ["Exemplar", "TraceIndex", "told"]
