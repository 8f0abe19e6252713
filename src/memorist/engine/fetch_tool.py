"""The tool by which a model fetches back what compaction removed. Pure."""

from __future__ import annotations

from memorist.core.messages import JsonObject

FETCH_TOOL_NAME = "memorist_fetch"


def build_fetch_tool_definition(format: str) -> JsonObject:
    """Return the tool's definition in a wire format.

    A host that offers the tool answers its calls with `Session.fetch`.
    """
    description = (
        "Fetch the whole text of an earlier message or tool result that is no longer shown "
        "in full, by the id that stands in its place."
    )
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id of the message or tool result"}
        },
        "required": ["id"],
        "additionalProperties": False,
    }
    match format:
        case "anthropic":
            return {"name": FETCH_TOOL_NAME, "description": description, "input_schema": schema}
        case "openai_responses":
            return {
                "type": "function",
                "name": FETCH_TOOL_NAME,
                "description": description,
                "parameters": schema,
                "strict": True,
            }
        case _:
            return {
                "type": "function",
                "function": {
                    "name": FETCH_TOOL_NAME,
                    "description": description,
                    "parameters": schema,
                },
            }
