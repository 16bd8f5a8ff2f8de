"""The JSON Schema of a file of tasks, for editors: `evals/tasks.schema.json` is what `schema_text` gives."""

import json
from typing import Any, cast

from micro_agent.evaluation.task import EXPECTATIONS, Task


def tasks_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a YAML or JSON file of tasks.

    It is made of the model `Task`, with the texts under its fields as descriptions, and is a little stricter than the
    reader: a text that looks like a number or a date needs quotes, since other readers of YAML take it for one.
    """
    task = Task.model_json_schema()
    definitions = cast("dict[str, Any]", task.pop("$defs"))
    task["anyOf"] = [{"required": [name]} for name in EXPECTATIONS]
    definitions["Task"] = task
    for definition in definitions.values():
        definition["properties"] = {name: _field(field) for name, field in definition["properties"].items()}
    tasks = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Task"}}
    whole = {
        "type": "object",
        "properties": {"version": {"const": 1, "description": "The version of this format."}, "tasks": tasks},
        "required": ["tasks"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tasks of a micro-agent eval",
        # Not anyOf, of which an editor can only say that nothing fits.
        "if": {"type": "array"},
        "then": tasks,
        "else": whole,
        "$defs": definitions,
    }


def schema_text() -> str:
    """The schema as it stands in the file."""
    return json.dumps(tasks_schema(), indent=2, ensure_ascii=False) + "\n"


def _field(field: dict[str, Any]) -> dict[str, Any]:
    """A field without what only Python needs: titles, integers beside numbers, and null (a file leaves a field out)."""
    kept = {key: value for key, value in field.items() if key != "title" and not (key == "default" and value is None)}
    if "description" in kept:
        kept["description"] = kept["description"].replace("``", "`")
    if "anyOf" not in kept:
        return kept
    forms = [form for form in kept.pop("anyOf") if form not in ({"type": "null"}, {"type": "integer"})]
    return {**kept, **(forms[0] if len(forms) == 1 else {"anyOf": forms})}
