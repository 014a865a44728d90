"""The fields of each request: their checks, and their schema for the OpenAPI document at /spec.

Error messages put the description of a field after "... must be".
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from starlette.datastructures import UploadFile

from ...base.errors import GlossaError
from ...base.matches import USED
from ..documents.glossary import terms_of_lines
from .limits import Limits
from .refusals import MAX_GLOSSARY, MAX_TERMS, MAX_TRANSLATIONS, Refused

Fields = TypeVar("Fields", bound=BaseModel)
MAX_TOKENS = 512  # in a prefix
LEAST_SCORE = 50  # of a match
MAX_KEPT = 100  # texts that translations keep, and characters of each


def _within_limits(value: Any, info: ValidationInfo) -> Any:
    """Check a value against the limits of the server, which are the context of the validation."""
    assert isinstance(info.context, Limits)
    info.context.check(str(info.field_name), value)
    return value


def _flag(value: Any) -> Any:
    """Read a flag. The values of a form are texts."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 5 else value


def _terms(value: str) -> str:
    if len(value) > MAX_GLOSSARY:
        raise Refused(f"glossary has {len(value):,} characters; at most {MAX_GLOSSARY:,} are allowed.")
    try:
        terms = terms_of_lines(value)
    except GlossaError as error:
        raise Refused(str(error)) from error
    if len(terms) > MAX_TERMS:
        raise Refused(f"glossary has {len(terms):,} terms; at most {MAX_TERMS:,} are allowed.")
    return value


def _kept(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _file(value: Any) -> UploadFile:
    if not isinstance(value, UploadFile) or not value.filename:
        raise Refused("Invalid request: missing file parameter: a file, sent as multipart/form-data.")
    return value


_TEXT = {"type": "string"}
_TEXTS = {"oneOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
Texts = Annotated[
    str | list[str],
    AfterValidator(_within_limits),
    WithJsonSchema(_TEXTS),
    Field(description="a text or a list of texts"),
]
OneText = Annotated[str, AfterValidator(_within_limits), WithJsonSchema(_TEXT), Field(description="one text")]
Code = Annotated[
    str, Field(min_length=1, max_length=100, description="a text of 1 to 100 characters, the code of a language")
]
Flag = Annotated[bool, BeforeValidator(_flag), Field(description="true or false")]


class Request(BaseModel):
    """The fields of every request."""

    model_config = {"strict": True, "extra": "ignore", "arbitrary_types_allowed": True}
    api_key: Annotated[
        Any, WithJsonSchema({"type": "string"}), Field(description="the key, if the server needs one")
    ] = None
    _key: str = PrivateAttr("")  # the name of the key


class Directed(Request):
    """A request with two languages."""

    source: Code
    target: Code


class WithTerms(Request):
    """A request with a glossary."""

    glossary: Annotated[
        str,
        AfterValidator(_terms),
        WithJsonSchema({"type": "string", "maxLength": MAX_GLOSSARY}),
        Field(description="a text whose lines are: term => translation"),
    ] = ""

    @property
    def terms(self) -> tuple[tuple[str, str], ...]:
        return tuple(terms_of_lines(self.glossary))


class WithKept(Request):
    """A request that may use the server's translation memories, and name texts that translations keep."""

    memory: Flag = True
    memory_threshold: Annotated[
        int,
        BeforeValidator(_number),
        Field(ge=LEAST_SCORE, le=100, description=f"a whole number from {LEAST_SCORE} to 100"),
    ] = USED
    keep: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_KEPT)]],
        BeforeValidator(_kept),
        Field(
            max_length=MAX_KEPT,
            description=f"a text of 1 to {MAX_KEPT} characters that translations keep, or up to {MAX_KEPT} of them",
        ),
    ] = []

    @property
    def kept(self) -> dict[str, Any]:
        """The fields of [`RequestOptions`] for these."""
        recall = {"key": self._key, "memory": self.memory, "threshold": self.memory_threshold}
        return recall | {"keep": tuple(self.keep)}


class WithTexts(Request):
    """A request with one or several texts."""

    q: Texts

    @property
    def texts(self) -> list[str]:
        return self.q if isinstance(self.q, list) else [self.q]


class StreamFields(WithTexts, WithTerms, WithKept, Directed):
    source: Code = "auto"
    confidence: Flag = False


class TranslateFields(StreamFields):
    format: Annotated[Literal["text", "html"], Field(description="text or html")] = "text"
    alternatives: Annotated[
        int,
        BeforeValidator(_number),
        Field(ge=0, lt=MAX_TRANSLATIONS, description=f"a whole number from 0 to {MAX_TRANSLATIONS - 1}"),
    ] = 0


class FileFields(WithTerms, WithKept, Directed):
    file: Annotated[
        Any,
        BeforeValidator(_file),
        WithJsonSchema({"type": "string", "format": "binary"}),
        Field(description="a file"),
    ]
    source: Code = "auto"


class DetectFields(WithTexts):
    """A request to detect the languages of texts."""


class SuggestFields(Directed):
    q: OneText
    s: OneText
    output: OneText | None = None


class TakeBackFields(Directed):
    q: OneText


class ExplainFields(Directed):
    q: OneText
    prefix: Annotated[
        list[Annotated[int, Field(ge=0, lt=1 << 31)]],
        Field(max_length=MAX_TOKENS, description="a list of numbers of tokens"),
    ] = []


class InputsFields(Request):
    inputs: Annotated[
        Any, AfterValidator(_within_limits), WithJsonSchema(_TEXTS), Field(description="a text or a list of texts")
    ]
    parameters: Annotated[Any, WithJsonSchema({"type": "object"}), Field(description="an object")] = None
    options: Annotated[Any, WithJsonSchema({"type": "object"}), Field(description="an object")] = None


def validated(kind: type[Fields], given: dict[str, Any], limits: Limits) -> Fields:
    """Validate the fields of a request. Raises `Refused` for the first one that is missing or invalid."""
    try:
        return kind.model_validate(given, context=limits)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        name = str(first["loc"][0])
        description = kind.model_fields[name].description or "another value"
        if first["type"] == "missing":
            raise Refused(f"Invalid request: missing {name} parameter: {description}.") from error
        raise Refused(f"{name} must be {description}.") from error


ERRORS = {400: "Invalid request.", 403: "No permission.", 429: "Too many requests.", 500: "Server error."}
FIRST, LAST = ("q", "file", "inputs"), ("glossary", "api_key")  # in the documentation
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


def openapi_body(kind: type[Request], kinds: tuple[str, ...] = (JSON, FORM)) -> dict[str, Any]:
    """Describe the body and the errors of a route for FastAPI's OpenAPI document."""
    schema = kind.model_json_schema()
    fields = schema["properties"]
    order = sorted(fields, key=lambda name: (name not in FIRST, name in LAST))
    schema["properties"] = {name: fields[name] for name in order}
    schema["required"] = [name for name in order if name in schema.get("required", ())]
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    return {
        "requestBody": {"required": True, "content": {media: {"schema": schema} for media in kinds}},
        "responses": {
            str(status): {"description": why, "content": {"application/json": {"schema": error}}}
            for status, why in ERRORS.items()
        },
    }
