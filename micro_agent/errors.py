"""The errors that micro-agent raises for its user: one tree, each with one line that says what to do.

What a model, a tool or a server does never raises out of `MicroAgent.ask`: ``run.status`` and ``run.error`` say it.
"""


class MicroAgentError(Exception):
    """Anything that micro-agent refuses or cannot do; ``str(error)`` is one line for a person."""


class ConfigurationError(MicroAgentError):
    """A setting, an argument or a file of settings is missing or wrong. Nothing was run."""


class DemosError(ConfigurationError):
    """The file of compiled demos is damaged or is not one."""


class ToolDefinitionError(ConfigurationError):
    """A tool cannot be registered as it is: a bad name, a bad schema, an untyped function."""


class StorageError(MicroAgentError):
    """A trace or a journal cannot be written or read: full disk, no permission, not a file."""


class RunNotFound(MicroAgentError):
    """No journal or trace of this run id, or no run to choose from."""


class RunBusy(MicroAgentError):
    """Another process holds this run."""


class NotWaiting(MicroAgentError):
    """The run has no open question that could be decided."""


class ApprovalExpired(NotWaiting):
    """The question is too old to be decided: the run asks it anew when it is resumed."""


class AlreadyDecided(MicroAgentError):
    """Somebody else decided this question first."""
