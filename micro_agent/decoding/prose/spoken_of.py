"""Calls that a text speaks of and does not make: refused, offered, asked about, told of, shown as an example.

Prose stands before and after most calls that weak models mean ("I look that up: {…} This gives us the weather."). So
prose alone says nothing, and neither does "the call would be". One of these signs must be there:

- a negation, a report or a question right before the call in its own sentence ("I will not run {…}", "the previous call
  {…} failed", "should I send {…}?");
- a condition before it or a request after it that waits for the user ("once you confirm", "please confirm first",
  "shall I proceed?");
- a refusal before it, and then the conditional ("I won't do that. The call would be {…}");
- an example announced before it, and after it that nothing was run or what its parts are;
- inline code in the middle of a paragraph, and before it somebody else who says it or words for any such call ("an
  agent sends `{…}`. The server …", "the model answered `{…}`. …", "such as `{…}`, …");
- after it that it was refused or what it would have done ("That would have been …");
- a case that nobody brought up before it ("if you asked for …, I would answer with"), or words for any such
  call ("I can", "the format") and ``...`` for a value in it;
- a command or a program that it is the data of (``curl … -d '{…}'``).
"""

import re

_REACH = 400
"""Characters before and after a call that are looked at."""
_NEAR = 200
"""Characters before a call that hold what is said right before it."""
_DO = (
    r"(?:runs?|running|calls?|calling|execut(?:e|es|ing)|sends?|sending|us(?:e|es|ing)|invok(?:e|es|ing)|mak(?:e|es|ing)"
    r"|perform(?:s|ing)?|issu(?:e|ing)|writ(?:e|ing))"
)
_NOT = (
    r"(?:(?:will|shall|must|should|do|does|did|can|could|would)(?: not|n['’]t)|won['’]t|can['’]t|cannot|never|refuse to"
    r"|not (?:going|allowed|able|permitted|supposed) to|(?:unable|wrong|unsafe|dangerous|harmful|declin(?:e|ing)) to"
    r"|have(?: not|n['’]t)|instead of|rather than|avoid)"
)
_GAP = r"(?:(?!\b(?:but|so|and|then|I)\b)[^.!?,;:\n])"
_OPENING = r"[`\"'“(\[]{0,4}\s{0,3}\Z"
_TOLD = (
    r"(?:I|we|you|he|she|they|it|the model) (?:(?:have|has|had|just|already) ){0,2}"
    r"(?:ran|called|executed|sent|used|tried|made)"
)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_DIRECTLY_BEFORE = _any(
    rf"\b{_NOT} (?:\w+ ){{0,2}}{_DO}\b{_GAP}{{0,40}}{_OPENING}",
    rf"\b{_TOLD}\b{_GAP}{{0,30}}{_OPENING}",
    r"\b(?:previous|last|earlier|old|failed) (?:(?:tool|function) )?(?:call|attempt|request)\b"
    rf"{_GAP}{{0,20}}{_OPENING}",
    rf"\bwhat (?:does |is |did )?{_OPENING}",
)
_QUOTED = _any(
    r"\b(?:agents?|models?|clients?|assistants?|apps?|applications?|programs?|bots?|LLMs?|attackers?|logs?)\b"
    rf"{_GAP}{{0,30}}\b(?:sends?|sent|answer(?:s|ed)|repl(?:y|ies|ied)|respond(?:s|ed)|wrote|writes?|emit(?:s|ted)?"
    r"|produce[sd]?|outputs?|return(?:s|ed)?|said|says?|issue[sd]?|show(?:s|ed)?|contain(?:s|ed))\b"
    rf"{_GAP}{{0,60}}:?\s{{0,3}}\Z",
    rf"\b(?:such as|e\.g\.|for (?:example|instance)|you (?:can|could|may|might) (?:also )?{_DO})\b{_GAP}{{0,40}}\Z",
)
"""What introduces a call of somebody else, or any call: in inline code with more text behind it, that one is no own."""
_CODE_BEFORE = re.compile(r"(?<!`)`(?!`)(?:[^`\n]{0,200}\s)?['\"(]?\Z")
_CODE_AFTER = re.compile(r"['\")]?(?:[^`\n]{0,200})?`[^`\n]{0,200}\w")
_IN_COMMAND = re.compile(
    r"(?:(?<=\s)-d|--(?:data(?:-raw|-binary|-urlencode)?|json|body))[\s=]\s{0,9}\$?['\"]\s{0,9}\Z"
    r"|\(\s{0,9}[^()\n]{0,200},\s{0,9}(?:json|data|body|payload)\s?[=:]\s{0,9}['\"]?\Z"
)
"""A program is told to send the object: as the data of ``curl``, or as an argument of a request."""
_NOT_DONE = _any(
    r"\b(?:that|this|it|which|doing so|running (?:it|that|this)) would have (?:been|\w+ed)\b",
    r"\b(?:that|this|it|which)(?: call| request)? (?:was|is|has been|had been) (?:\w+ly )?"
    r"(?:refused|rejected|blocked|denied|declined)\b",
    r"\bI (?:did not|didn['’]t|have not|haven['’]t|won['’]t|will not|refused? to|declined? to) "
    rf"{_DO} (?:it|that|this)\b",
)
_ASKED = _any(
    r"(?:\A|[.!?:;\n,-])\s{0,9}(?:(?:please|so|now|but|okay|ok)[,:]? )?(?:do you want me to|would you like me to"
    rf"|(?:shall|should|may|can) I)\b[^.!\n]{{0,80}}{_OPENING}"
)
_QUESTION_BEFORE = re.compile(r"\?\s{0,9}\Z")
_QUESTION_AFTER = re.compile(r"[^.!\n]{0,40}\?")
_WAITS_BEFORE = _any(
    r"\b(?:if|once|when|after|until|unless|as soon as) you "
    r"(?:confirm|approve|agree|allow|permit|consent|give (?:me )?(?:your|the) )",
    r"\bwith your (?:permission|approval|confirmation|consent)\b",
    r"\bwait(?:ing)? for (?:you to (?:confirm|approve|agree)|(?:you|the user)(?:r|['’]s) "
    r"(?:confirmation|approval|permission|consent|go-ahead|okay|ok))\b",
)
_WAITS_AFTER = _any(
    r"\bplease (?:first )?(?:confirm|approve)\b(?! (?:that|whether|the|your)\b)",
    r"\b(?:please|you|your|need)\b[^.!?\n]{0,30}\b(?:confirm|approv|permission)\w*[^.!?\n]{0,40}"
    r"\b(?:first|before|to proceed)\b",
    r"\b(?:(?:shall|should|may|can) I|(?:do you want|would you like) me to) (?:proceed|go ahead"
    r"|(?:run|do|execute|send|call|make|continue)(?: with)? (?:it|this|that|the))\b(?:[^.!\n]|\.(?=\w)){0,60}\?",
    r"\bis (?:that|this|it) (?:ok|okay|alright|all right|fine)\b[^.!\n]{0,30}\?",
    r"\bI(?: am|['’]m) not (?:allowed|permitted|going) to (?:run|call|execute|do|send|make|use)\b",
)
_REFUSAL = _any(
    r"\bI (?:won['’]t|will not|refuse|must not|mustn['’]t|should not|shouldn['’]t"
    r"|am not (?:allowed|going|permitted))\b",
    r"\bI['’]m not (?:allowed|going|permitted)\b",
)
_CONDITIONAL = _any(r"\b(?:would|could|might)\b[^.!?\n]{0,80}\Z")
_SHOWN = _any(
    r"\b(?:for example|for instance|e\.g\.|examples? of|looks? like (?:this|so|the following)|an example|sample"
    r"|documentation|syntax)\b[^.!?]{0,80}\Z"
)
_EXPLAINED = _any(
    r"\b(?:only|just|merely|simply) (?:an? |for )?(?:example|illustration|documentation|demonstration|sample|template)",
    r"\b(?:nothing|not|never|no (?:tool|call|function)\w*)\b[^.!?\n]{0,20}"
    r"\b(?:executed|run|ran|called|sent|performed)\b",
    r"\bthe [`\"'\w]{1,30} (?:field|key|tag|attribute|placeholder)s?\b",
)
_SAID_TO_BE_SHOWN = _any(
    r"\b(?:this|that|it) (?:is|was) (?:only|just|merely) (?:an? )?(?:example|illustration|documentation|demonstration)"
)
_HYPOTHETICAL = _any(
    r"\b(?:for (?:example|instance)|e\.g\.|suppose|(?:if|had) (?:you|someone|somebody|the user|a user) (?:had )?"
    r"(?:said|asked|told|wrote|typed|were|wanted))\b(?:[^.!?\n]|[.!?](?=['\"”’])){0,160}"
    r"\bI(?: would|['’]d| could| might) (?:then )?(?:answer|reply|respond|return|output|emit"
    rf"|{_DO})\b[^.!?\n]{{0,60}}{_OPENING}"
)
"""What the model would say to something that nobody said."""
_ANY_CALL = _any(r"\b(?:for instance|e\.g\.|examples?|would|could|might|can|format|syntax|template)\b")
_PLACEHOLDER = re.compile(r"""[:=]\s{0,9}["'](?:\.{3}|…)["']\s{0,9}[,})]""")
_CHOICE_BEFORE = _any(
    r"\b(?:one|any|either) of (?:these|those|them|the (?:following|two|options))\b",
    r"\b(?:choose|pick|select|decide)\b[^.!?\n]{0,40}\b(?:one|from|between|among|following)\b",
    r"\b(?:options?|alternatives?|possibilities|either)\b[^.!?\n]{0,60}\s*\Z",
)
_CHOICE_AFTER = _any(r"\bwhich (?:one|of (?:these|those|them|the))\b", r"\b(?:choose|pick|select) one\b")


_FENCE_BEFORE = re.compile(r"```\w*\s*+\Z")
_FENCE_AFTER = re.compile(r"\A\s*+```")


def is_spoken_of(text: str, span: tuple[int, int]) -> bool:
    """Whether the calls in ``span`` are only spoken of, so that the text is an answer."""
    before, after = _around(text, span)
    near = before[-_NEAR:]
    asked = _ASKED.search(near) and (_QUESTION_BEFORE.search(near) or _QUESTION_AFTER.match(after))
    refused = _CONDITIONAL.search(near) and _REFUSAL.search(before)
    shown = _SAID_TO_BE_SHOWN.search(after) or (_SHOWN.search(near) and _EXPLAINED.search(after))
    waits = _WAITS_BEFORE.search(before) or _WAITS_AFTER.search(after)
    posed = _HYPOTHETICAL.search(before) or (_ANY_CALL.search(before) and _PLACEHOLDER.search(text, *span))
    other = posed or _NOT_DONE.search(after) or _IN_COMMAND.search(before) or _is_quoted(before, after)
    return bool(asked or refused or shown or waits or other or _DIRECTLY_BEFORE.search(near))


def _is_quoted(before: str, after: str) -> bool:
    """Whether what somebody else says, or an example, stands in inline code and the paragraph goes on behind it."""
    code = _CODE_BEFORE.search(before)
    return code is not None and bool(_CODE_AFTER.match(after) and _QUOTED.search(before[: code.start()]))


def is_choice(text: str, span: tuple[int, int]) -> bool:
    """Whether the different calls in ``span`` are offered, so that the user may choose one of them."""
    before, after = _around(text, span)
    return bool(_CHOICE_BEFORE.search(before) or _CHOICE_AFTER.search(after))


def _around(text: str, span: tuple[int, int]) -> tuple[str, str]:
    before, after = text[max(0, span[0] - _REACH) : span[0]], text[span[1] : span[1] + _REACH]
    return _FENCE_BEFORE.sub("", before), _FENCE_AFTER.sub("", after)
