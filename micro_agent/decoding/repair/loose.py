"""JSON with the words, quotes and signs of its relatives: Python's and JavaScript's, comments, typographic signs.

Each sign is put right by what stands at its place; nothing here looks for what is lost, and nothing is a guess.
"""

import re

STRING = r'"[^"\\]*(?>(?:\\.[^"\\]*)*)"?'  # or up to the end: were the last quote wanted, the time would be quadratic
STRINGS = re.compile(STRING, re.DOTALL)
_COMMENT = r"//(?<![\w)]//)[^\n]*+|\#[^\n]*+|/\*.*?(?:\*/|\Z)"
# What means nothing here is skipped by the first set; what may be whole as it stands (`string`, `bare`) is one part.
# Strings are joined where a blank stands beside the sign; else it is as often part of one, as in "1 "+" 1" for 1 + 1.
_PART = re.compile(
    rf"""(?=[\w"'`“„”‘:：,，/\#=+.\u00a0\u200b\u2028\u2029\u3000\ufeff])(?:
    (?P<fence>"{{3}}|'{{3}}|`)(?P<tripled>.*?)(?:(?P=fence)(?=\s*+[,}}\]])|\Z)
    |(?P<string>{STRING})(?>(?P<joined>(?>(?:(?:\s++\+\s*+|\+\s++)(?>{STRING}))+))?)
    |'(?<=[{{\[(,:=>\s]')(?P<single>[^'\\\n]*+(?>(?:\\.[^'\\\n]*+)*))'(?=\s*+[,:=}}\])])
    |[“„”](?:(?<!”)|(?<=[:\[,{{\s]”))(?P<smart>[^“”„"\\]*)[“”]
    |‘(?P<curly>[^‘"\\\n]{{0,2000}}?)’(?=\s*+[,:}}\]，：])
    |:\s{{0,20}}+(?P<sum>-?[\d(](?>(?:[\w .+*^%()!×÷-]|/(?![/*])|//(?<=[\w)]//)){{0,200}}))
      (?=\s{{0,20}}(?:\}}|,\s{{0,20}}["']?[^"'\\:]{{1,100}}["']?\s{{0,20}}:))
    |(?P<comma>[,，])(?=(?>(?:\s++|{_COMMENT})*)[}}\]])
    |(?P<comment>{_COMMENT})
    |(?P<key>[A-Za-z_][\w-]*+)(?=\s*+(?:[:：]|=(?!=)))
    |(?P<bare>\w[\w-]*+)
    |(?P<equals>=(?!=)>?)
    |(?P<sign>[，：]|\+(?<=[:\[,\s]\+)(?=\d)|\.(?<=[:\[,\s]\.)(?=\d)|[\u00a0\u200b\u2028\u2029\u3000\ufeff])
    )""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_SIGNS = {"，": ",", "：": ":", "=": ":", "=>": ":", ".": "0.", "+": ""}
_KINDS = {
    "tripled": "tripled_quotes",
    "sum": "unquoted_arithmetic",
    "joined": "joined",
    "equals": "assignments",
    "": "loose_json",
    "single": "python_literal",
    "bare": "python_literal",
    "comma": "trailing_comma",
}
"""What a repair is called by the parts it changed: the first of these, and the one in the middle for all others."""
_OPERATOR = re.compile(r"[*/^%!×÷]|(?<![eE])[+-]|\bx\b|\dx\d|\bmod\b")
_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_QUOTES = {'"': '\\"', "\\'": "'"}


def tightened(text: str) -> tuple[str, str | None]:
    """``text``, whose backslashes are legal, as JSON has it, and the kind of that repair, if anything changed."""
    found: set[str] = set()

    def as_json(part: re.Match[str]) -> str:
        kind = part.lastgroup or ""
        if (
            kind == "string"
            or (kind == "bare" and part[0] not in _WORDS)
            or (kind == "sum" and not _is_arithmetic(part["sum"]))
        ):
            return part[0]
        found.add(kind if kind in _KINDS else "")
        if kind == "joined":
            return f'"{"".join(term[1:-1] for term in STRINGS.findall(part[0]))}"'
        if kind in ("tripled", "single"):
            return f'"{requoted(part[kind])}"'
        if kind == "sum":
            return f': "{part["sum"].strip()}"'
        if kind in ("smart", "curly", "key"):
            return f'"{part[kind]}"'
        if kind in ("comma", "comment"):
            return ""
        return _WORDS[part[0]] if kind == "bare" else _SIGNS.get(part[0], " ")

    tight = _PART.sub(as_json, text)
    return tight, next((name for part, name in _KINDS.items() if part in found), None)


def _is_arithmetic(text: str) -> bool:
    """Whether it is numbers with signs between them; nothing is computed, it becomes a text as it stands."""
    return bool(_OPERATOR.search(text.rstrip(), 1)) and text.count("(") == text.count(")")


def requoted(text: str) -> str:
    """What stands between other quotes, as it has to stand between those of JSON."""
    return _ESCAPE_OR_QUOTE.sub(lambda found: _QUOTES.get(found[0], found[0]), text)
