"""The fields of each request, for the OpenAPI document at /spec."""

from typing import Any

from .refusals import MAX_CHARACTERS, MAX_GLOSSARY, MAX_TERMS, MAX_TEXTS, MAX_TRANSLATIONS

_TEXT = {"type": "string", "maxLength": MAX_CHARACTERS}
_TEXTS = {"oneOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MAX_TEXTS}]}
_CODE = {"type": "string", "minLength": 1, "maxLength": 100}
_KEY = {"api_key": {"type": "string", "description": "The key, if the server needs one."}}
_CONFIDENCE = {
    "type": "boolean",
    "default": False,
    "description": "Whether the answer has the probability that the translation needs no correction.",
}
_GLOSSARY = {
    "type": "string",
    "default": "",
    "maxLength": MAX_GLOSSARY,
    "description": f"Up to {MAX_TERMS} lines with a term, => or a tab, and its translation.",
}
_FIELDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "translate": (
        {
            "q": _TEXTS | {"description": "The text, or several."},
            "source": _CODE | {"description": "Code of its language, or auto.", "default": "auto"},
            "target": _CODE | {"description": "Code of the wanted language."},
            "format": {"type": "string", "enum": ["text", "html"], "default": "text"},
            "alternatives": {"type": "integer", "minimum": 0, "maximum": MAX_TRANSLATIONS - 1, "default": 0},
            "confidence": _CONFIDENCE,
            "glossary": _GLOSSARY,
        },
        ["q", "target"],
    ),
    "translate_stream": (
        {
            "q": _TEXTS | {"description": "The text, or several in one language."},
            "source": _CODE | {"description": "Code of its language, or auto.", "default": "auto"},
            "target": _CODE | {"description": "Code of the wanted language."},
            "confidence": _CONFIDENCE,
            "glossary": _GLOSSARY,
        },
        ["q", "target"],
    ),
    "file": (
        {
            "file": {"type": "string", "format": "binary", "description": "The document."},
            "source": _CODE | {"description": "Code of its language, or auto.", "default": "auto"},
            "target": _CODE,
            "glossary": _GLOSSARY,
        },
        ["file", "target"],
    ),
    "detect": ({"q": _TEXT}, ["q"]),
    "suggest": (
        {
            "q": _TEXT | {"description": "The text."},
            "s": _TEXT | {"description": "Its better translation."},
            "output": _TEXT | {"description": "The translation that it corrects."},
            "source": _CODE,
            "target": _CODE,
        },
        ["q", "s", "source", "target"],
    ),
    "inputs": ({"inputs": _TEXTS, "parameters": {"type": "object"}}, ["inputs"]),
    "explain": (
        {
            "q": _TEXT | {"description": "A sentence."},
            "source": _CODE,
            "target": _CODE,
            "prefix": {
                "type": "array",
                "items": {"type": "integer", "minimum": 0},
                "maxItems": 512,
                "description": "Numbers of the tokens with which the translation begins.",
                "default": [],
            },
        },
        ["q", "source", "target"],
    ),
}
ERRORS = {400: "The request cannot be answered.", 403: "No permission.", 429: "Too many requests.", 500: "A fault."}


def body(name: str) -> dict[str, Any]:
    """What FastAPI's description of a route lacks: the fields of its body, and its errors."""
    properties, required = _FIELDS[name]
    schema = {"type": "object", "properties": properties | _KEY, "required": required}
    plain = ["application/json"] if name == "inputs" else ["application/json", "application/x-www-form-urlencoded"]
    kinds = ["multipart/form-data"] if name == "file" else plain
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    return {
        "requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}},
        "responses": {
            str(status): {"description": why, "content": {"application/json": {"schema": error}}}
            for status, why in ERRORS.items()
        },
    }
