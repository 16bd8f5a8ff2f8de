"""The dialects as data: which marks and words open a call, stand between its name and its arguments, and close it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    """A dialect whose calls are JSON, a name and JSON, Python or lines between marks.

    Args:
        dialect: Its name, for the record.
        opens: The marks (see `lexer`) that open a call or all calls of a reply.
        connects: The marks between the name of a tool and its arguments.
        closes: The marks that close a call or all of them.
        written: What opens a call and is no mark, as a pattern. A group ``name`` in it is the name of the tool.
        sign: What is in every text that ``written`` matches, so that other text costs next to nothing.
        ends: What closes such a call and is no mark, as a pattern.
        keyed: Whether the name is the key of an object that holds the arguments, ``{"name": {…}}``.
        reserved: What stands in the place of a name and is none, unless a tool is called so.
        code: Whether what is no call of a tool is code for a tool called ``python``.
    """

    dialect: str
    opens: tuple[str, ...] = ()
    connects: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    written: str = ""
    sign: str = ""
    ends: str = ""
    keyed: bool = False
    reserved: tuple[str, ...] = ()
    code: bool = False


_NAME = r"[A-Za-z_][\w./:\\-]{0,127}"
_LABEL = (
    r"(?i:(?:call|invok|execut|runn|us)ing(?:[ ](?:the[ ])?(?:tool|function))?|run|execute|call"
    r"|(?:tool|function|action)(?:[ _](?:call|use|request))?)"
)

_TO = (
    rf"(?:(?:<\|start\|>\s*+assistant\s*+)?<\|channel\|>\s*+\w{{1,20}}\s*+|\b(?:commentary|analysis|assistant)\s{{1,9}})?"
    rf"\bto=(?:functions[.:])?(?P<name>{_NAME}(?:[ ](?!commentary)\w{{1,40}}){{0,3}}(?=\s*+<\|)|{_NAME})"
    r"(?:\s{1,9}commentary\b|[ \t][^\n<>{}]{0,60}(?=\n\s{0,9}\{))?"
)
_FIELDS = (
    rf"\[\[ ## (?:next_)?tool_name(?:_\d{{1,3}})? ## \]\]\s*+[\"'`]?(?P<name>{_NAME})[\"'`]?\s*+"
    r"\[\[ ## (?:next_)?tool_args(?:_\d{1,3})? ## \]\]"
)
_TOLD = rf"\[{_LABEL}[ ]?[:-]?[ ]?(?=[`'\"]?{_NAME}[`'\"]?\s{{0,9}}[({{,|:-]|[`'\"]?{_NAME}[`'\"]?[ ]with|\{{)"
_FENCE = r"```(?i:tool|function|action)s?(?i:[_ -]?(?:call|use|code|request)s?)?[ \t]*+\n"
_TO_NAME = rf"(?:>>>|\A)\s*+(?P<name>{_NAME})[ \t]*+\n\s*+(?=\{{|\"\{{|(?<=python\n))"

ROWS: Final = (
    Row(
        "kimi",
        opens=("tool_call_section_begin", "tool_calls_section_begin", "tool_call_begin"),
        connects=("tool_call_argument_begin",),
        closes=("tool_call_end", "tool_call_section_end", "tool_calls_section_end"),
    ),
    Row(
        "deepseek", opens=("tool_calls_begin",), connects=("tool_sep",),
        closes=("tool_call_end", "tool_calls_end"),
    ),
    Row(
        "mistral", opens=("[tool_calls]", "[tool_call]", "[tool_request]", "[unused11]"),
        connects=("[args]", "[call_id]"), closes=("[end_tool_request]", "[unused12]"),
    ),
    Row(
        "harmony", connects=("channel", "constrain", "message"), closes=("call", "end", "return"), written=_TO,
        sign="to=", reserved=("assistant", "user", "system", "all"), code=True,
    ),
    Row("functionary", closes=("eot_id", "end_of_text"), written=_TO_NAME, sign="\n", reserved=("all",), code=True),
    Row("functionary_v2", opens=("recipient",), connects=("content",), closes=("stop", "from"), reserved=("all",)),
    Row("gigachat", opens=("role_sep",), closes=("message_sep",)),
    Row("internlm", opens=("action_start", "plugin", "interpreter"), closes=("action_end",)),
    Row("apertus", opens=("tools_prefix",), closes=("tools_suffix",), keyed=True),
    Row("command_r", opens=("start_action",), closes=("end_action",)),
    Row(
        "hyperclova", closes=("im_end", "stop"), written=r"(?:<\|im_start\|>assistant)?\s?-> tool/function_call",
        sign="-> tool/",
    ),
    Row("inkling", opens=("content_invoke_tool_json",), closes=("end_message",)),
    Row("llama", opens=("python_tag", "python_start"), closes=("eom_id", "eot_id", "python_end"), code=True),
    Row("phi", closes=("end",), written=r"(?<!\w)functools(?=\s*\[)", sign="functools"),
    Row("dspy_fields", written=_FIELDS, sign="tool_name", ends=r"\[\[ ## \w{1,40} ## \]\]", reserved=("finish",)),
    Row("narrated", written=_TOLD, sign="[", ends=r"\)?\s{0,9}\]"),
    Row("fenced", written=_FENCE, sign="```", ends=r"```"),
    Row("gorilla", written=r"<<function>>", sign="<<function>>"),
)  # fmt: skip
"""What a row cannot say is a small module: parameters in tags, ReAct's labels, Gemma's delimiters, options."""

RANKS: Final = {dialect: rank for rank, dialect in enumerate((
    "gemma", "flags", "argument_blocks", "argument_pairs", "xml_parameters", "xml_elements",
    *(row.dialect for row in ROWS), "hermes", "tag_lines", "code", "chatglm",
    "react", "", "pythonic", "named",
))}  # fmt: skip
"""Of two claims at one place that of the lower rank counts. What says more of its form than one mark comes first; an
object and calls in Python come last."""

CALLS: Final = frozenset(
    f"{word}{s}{joint}{kind}{plural}{start}"
    for word in ("tool", "function", "action")
    for s in ("", "s")
    for joint, kind in (
        ("", ""),
        ("_", "call"),
        ("_", "use"),
        ("_", "request"),
        ("_", "code"),
        ("_", "invocation"),
        ("", "call"),
    )
    for plural in (("", "s") if kind else ("",))
    for start in ("", "_start", "_begin")
) | {"call", "invoke", "use_tool", "use_mcp_tool", "start_function_call", "end_function_call"}
"""Tags around a call, in whatever form it stands there: ``<tool_call>``, ``<tools>``, ``<function_calls>``."""
PARTS: Final = frozenset({"parameter", "param", "argument", "arg", "property"})
"""Tags around one argument, whose name stands in the tag."""
PAIRS: Final = frozenset({"arg_key", "arg_value", "arg_type"})
WRAPPERS: Final = frozenset({
    "arguments", "args", "parameters", "params", "input", "kwargs",
    *(f"{kind}_{word}" for kind in ("tool", "action", "function") for word in ("input", "args", "arguments")),
})  # fmt: skip
"""Tags around all arguments."""
NAMES: Final = frozenset({"name", "tool_name", "function_name"})
TURNS: Final = frozenset({
    "tool_response", "tool_responses", "tool_result", "tool_results", "tool_output", "tool_outputs", "[tool_results]",
    "tool_outputs_begin", "tool_output_begin",
})  # fmt: skip
"""Marks with which a model goes on with the result that it imagines."""
ROLES: Final = (
    "assistant",
    "model",
    "commentary",
    "analysis",
    "final",
    "tool",
    "function",
    "json",
    "code",
    "python",
    "user",
    "system",
)
"""What stands behind the mark of a header: who speaks, to whom, in what form."""
ALIASES: Final[dict[str, tuple[bool, str]]] = {
    "tool_requests": (False, "tool_calls"), "tool_arguments": (False, "arguments"),
    "tool_call:start": (False, "tool_call"), "tool_call:end": (True, "tool_call"),
    "tool_arg:start": (False, "arg_key"), "tool_arg:value": (False, "arg_value"), "tool_arg:end": (True, "arg_value"),
    "toolcall": (False, "tool_call"), "toolcalls": (False, "tool_calls"),
    "tool_call_start": (False, "tool_call"), "tool_call_end|": (True, "tool_call"),
}  # fmt: skip
OPENS: Final = {mark: row for row in reversed(ROWS) for mark in row.opens}
CONNECTS: Final = {mark: row for row in reversed(ROWS) for mark in row.connects}
STOPS: Final = frozenset({*OPENS, *CALLS, *(mark for row in ROWS for mark in row.closes)})
CLOSES: Final = frozenset(mark for row in ROWS for mark in row.closes)
PREFIXED: Final = r"(?:tool|function)_calls?|invoke|arg_(?:key|value)|parameter"
KNOWN: Final = frozenset({
    *OPENS, *CONNECTS, *CLOSES, *CALLS, *PARTS, *PAIRS, *WRAPPERS, *NAMES, *TURNS, *ALIASES,
    "start", "im_start", "start_header_id", "end_header_id", "start_of_turn", "end_of_turn", "from", '"', "escape",
})  # fmt: skip
