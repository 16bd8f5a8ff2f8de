"""The steps that the loop records beside tool calls, by the names that they have on record."""

POLICY_VIOLATION = "⛔️policy_violation"
VALIDATION_ERROR = "⛔️validation_error"
MALFORMED_DECISION = "⛔️malformed_decision"
NO_ACTION = "⛔️no_action"
CONFIRMATION_REQUIRED = "⛔️confirmation_required"
REPETITION = "⛔️repetition"
WARNING = "⚠️warning"
SELF_CORRECTION = "🔁self_correction"
CONTEXT_TRIMMED = "✂️context_trimmed"
FINISH_ASKED = "❓finish_asked"
MAKE_ASKED = "❓make_asked"
EDITED = "✏️edited"

MARKERS = frozenset({
    POLICY_VIOLATION, VALIDATION_ERROR, MALFORMED_DECISION, NO_ACTION, CONFIRMATION_REQUIRED,
    REPETITION, WARNING, SELF_CORRECTION, CONTEXT_TRIMMED, FINISH_ASKED, MAKE_ASKED, EDITED,
})  # fmt: skip
"""The names that stand in ``Step.tool`` for steps which the loop records. No tool can have one of them."""
