"""The keys under which models write a call, its arguments and a final answer, each as `plain` has it."""

import re

NAMES = ("tool", "toolname", "functionname", "selectedtool", "name", "function", "action")
"""Of the name of a tool."""
ARGUMENTS = (
    "args", "arguments", "parameters", "params", "kwargs", "input", "inputs",
    "actioninput", "toolinput", "toolargs", "toolarguments",
)  # fmt: skip
"""Of the arguments."""
WRAPPERS = (
    "tool", "function", "toolcall", "functioncall", "action", "decision", "output", "response",
    "nextaction", "nextstep", "message", "content", "text", "tooluse", "invoke", "call", "command", "params",
)  # fmt: skip
"""Of an object that a call stands in."""
LISTS = ("toolcalls", "tooluses", "functioncalls", "calls", "tools", "actions", "functions", "parts")
"""Of a list of calls."""
TELLING = frozenset({
    "toolcall", "toolscall", "functioncall", "calltool", "callfunction", "usetool", "invoketool", "executetool",
    "runtool",
})  # fmt: skip
"""Names of functions that call the tool which their arguments name."""
FINAL_KEYS = ("final", "final_answer", "answer")
FINAL_NAMES = frozenset({"final", "final_answer", "final answer", "finalanswer", "answer"})
"""As they are written: the key of a final answer, and the name of a tool that models make up for it."""
SAID = frozenset({"input", "inputs", "actioninput", "toolinput"})
"""Of arguments that may be a text for the only one."""
BESIDE = frozenset({"id", "type", "callid", "toolcallid"})
"""What stands beside a name and is not an argument."""
THOUGHTS = frozenset({"thought", "thoughts", "thinking", "reasoning", "reason", "explanation"})
NOT_TO_DO = re.compile(
    r"example|history|previous|past|done|complete|result|log|available|supported|option|choice|candidate|alternative"
    r"|suggest|failed|error|schema|defin|forbidden|not"
)
"""Keys of lists whose calls are not to be made, or not yet."""
_SEPARATOR = re.compile(r"[\s_/-]+")


def plain(key: str) -> str:
    """A key without case, ``_``, ``-`` and blanks."""
    return key if key.islower() and key.isalpha() else _SEPARATOR.sub("", key).casefold()
