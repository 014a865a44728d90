"""LibreTranslate's HTTP interface, written from its published specification, and the Hub's translation task.

LibreTranslate's clients work with it. docs/serving.md lists the differences.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse

from ...base.languages import language_name
from ...readers.corrections import refusal
from .fields import (
    JSON,
    MULTIPART,
    DetectFields,
    ExplainFields,
    FileFields,
    InputsFields,
    StreamFields,
    SuggestFields,
    TakeBackFields,
    TranslateFields,
    openapi_body,
    validated,
)
from .fields import Request as AnyFields
from .files import Files
from .memories import Memories
from .models import RequestOptions
from .queue import in_thread
from .refusals import MAX_SECONDS, MAX_WITH_GLOSSARY, Refused, handler
from .requests import cancel_on_disconnect, read_fields
from .service import Answer, Part, Service, missing_terms, rounded

Fields = TypeVar("Fields", bound=AnyFields)
routes = APIRouter()
UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # for proxies too


def service_of(request: Request) -> Service:
    return request.app.state.service


async def read_request(request: Request, kind: type[Fields]) -> Fields:
    """Read and check the fields of a request. Raises `Refused` for a request that is invalid or not allowed."""
    given = await read_fields(request)
    service = service_of(request)
    name = service.allow(given.get("api_key"), request.headers.get("authorization"))
    service.clients.count(f"key {name}" if name else request.client.host if request.client else "")
    fields = validated(kind, given, service.limits)
    fields._key = name or ""
    return fields


@routes.post("/translate", openapi_extra=openapi_body(TranslateFields))
async def translate(request: Request) -> JSONResponse:
    """Translate one or several texts."""
    fields = await read_request(request, TranslateFields)
    options = RequestOptions(1 + fields.alternatives, fields.confidence, fields.terms, **fields.kept)
    if options.glossary and (size := sum(map(len, fields.texts))) > MAX_WITH_GLOSSARY:
        raise Refused(
            f"With a glossary, q may have {MAX_WITH_GLOSSARY:,} characters, and it has {size:,}. /translate_stream "
            "takes more."
        )
    service, html = service_of(request), fields.format == "html"
    if html and options.confident:
        raise Refused("confidence is for texts without tags: leave it out, or send format text.")
    work = (service.translate_html if html else service.translate)(fields.texts, fields.source, fields.target, options)
    answers = await cancel_on_disconnect(request, work)
    with_alternatives = "alternatives" in fields.model_fields_set
    found = _reply(answers, isinstance(fields.q, list), with_alternatives, options)
    matches = [service.memories.describe_matches(answer.translations[0]) for answer in answers]
    if any(matches):
        found["matches"] = matches if isinstance(fields.q, list) else matches[0]
    return JSONResponse(found)


def _reply(answers: list[Answer], several: bool, with_alternatives: bool, options: RequestOptions) -> dict[str, Any]:
    """LibreTranslate's response: lists for several texts, and languages only if they were detected."""

    def shaped(values: list) -> Any:
        return values if several else values[0]

    found: dict[str, Any] = {"translatedText": shaped([answer.translations[0].text for answer in answers])}
    if with_alternatives:
        found["alternatives"] = shaped([answer.alternatives for answer in answers])
    if answers[0].confidence is not None:
        found["detectedLanguage"] = shaped(
            [{"confidence": answer.confidence, "language": answer.source} for answer in answers]
        )
    if options.glossary:
        found["missingTerms"] = shaped([answer.missing for answer in answers])
    if options.confident:
        found["confidence"] = shaped([rounded(answer.translations[0].confidence) for answer in answers])
    if any(answer.pivot for answer in answers):
        found["pivot"] = shaped([answer.pivot for answer in answers])
    return found


@routes.post("/translate_stream", openapi_extra=openapi_body(StreamFields))
async def translate_stream(request: Request) -> StreamingResponse:
    """Translate one text, or several in one language, and send each sentence when it is translated.

    The response is JSON lines: first the number of `sentences`, then the sentences.
    """
    fields = await read_request(request, StreamFields)
    options = RequestOptions(1, fields.confidence, fields.terms, words=fields.confidence, **fields.kept)
    source, target, service = fields.source, fields.target, service_of(request)
    head: dict[str, Any] = {}
    if source == "auto":
        source, share = (await service.detected([" ".join(fields.texts)]))[0][0]
        head["detectedLanguage"] = {"confidence": share, "language": source}
    if source != target and len(steps := service.models.route(source, target)) > 1:
        head["pivot"] = steps[0].target
    texts = await cancel_on_disconnect(request, service.plan(fields.texts, source, target, options))
    parts = service.stream(texts, source, target, options)
    first = await cancel_on_disconnect(
        request, anext(parts)
    )  # before the response starts, an error still sets its status
    head["sentences"] = sum(len(text.sentences) for text in texts)
    return StreamingResponse(
        _lines(head, first, parts, options, service.memories), media_type="application/x-ndjson", headers=UNBUFFERED
    )


async def _lines(
    head: dict[str, Any],
    first: list[Part],
    parts: AsyncIterator[list[Part]],
    options: RequestOptions,
    memories: Memories,
) -> AsyncIterator[str]:
    """The lines of a response. An error is the last line."""

    def written(sentences: list[Part]) -> str:
        return "".join(json.dumps(_sentence(one, options, memories)) + "\n" for one in sentences)

    yield json.dumps(head) + "\n" + written(first)
    try:
        async for sentences in parts:
            yield written(sentences)
    except Refused as error:
        yield json.dumps({"error": str(error)}) + "\n"


def _sentence(one: Part, options: RequestOptions, memories: Memories) -> dict[str, Any]:
    found: dict[str, Any] = {"text": one.text, "before": one.before, "source": one.source}
    found["translatedText"] = one.translation.text
    if matches := memories.describe_matches(one.translation):
        found["match"] = matches[0]
    if options.confident:
        found["confidence"] = rounded(one.translation.confidence)
        found["words"] = [[word, rounded(share)] for word, share in one.translation.words]
    if options.glossary:
        found["missingTerms"] = missing_terms(one.translation)
    return found


@routes.post("/", openapi_extra=openapi_body(InputsFields, (JSON,)))
async def translate_as_on_the_hub(request: Request) -> JSONResponse:
    """Translate one or several texts, with the request of the Hub's translation task."""
    fields = await read_request(request, InputsFields)
    try:
        texts, settings = handler.check(fields.model_dump(exclude={"api_key"}, exclude_unset=True))
    except handler.BadRequest as error:
        raise Refused(str(error)) from error
    service = service_of(request)
    source, target = _direction(service, settings.get("tgt_lang"), fields.parameters)
    count = settings.get("num_return_sequences", 1)
    options = RequestOptions(count, key=fields._key)
    several = texts if isinstance(texts, list) else [texts]
    answers = await cancel_on_disconnect(request, service.translate(several, source, target, options))
    found = [[{"translation_text": one.text} for one in answer.translations] for answer in answers]
    if count > 1:
        return JSONResponse(found if isinstance(texts, list) else found[0])
    return JSONResponse([one[0] for one in found])


def _direction(service: Service, target: str | None, parameters: Any) -> tuple[str, str]:
    """The languages in the `parameters` of a request, by default the languages of the first model."""
    first = next(iter(service.models.steps.values()))
    given = (parameters or {}).get("src_lang")
    if target is None and given is None:
        return first.source, first.target
    source = given or ("auto" if len(service.models.languages) > 1 else first.source)
    if target is None:
        target = next((step.target for step in service.models.steps.values() if step.source == source), first.target)
    return source, target


@routes.post("/translate_file", openapi_extra=openapi_body(FileFields, (MULTIPART,)))
async def translate_file(request: Request) -> dict[str, Any]:
    """Translate a document. The response has the URL of the translation."""
    fields = await read_request(request, FileFields)
    content = await fields.file.read()
    service, source = service_of(request), fields.source
    if source == "auto":
        source = (await service.detected([content.decode("utf-8", "ignore")]))[0][0][0]
    step, options = service.step(source, fields.target), RequestOptions(glossary=fields.terms, **fields.kept)
    name, missing = await cancel_on_disconnect(
        request, service.files.translate_file(content, str(fields.file.filename), step, options)
    )
    answer = {"translatedFileUrl": str(request.url_for("download_file", name=name))}
    return answer | ({"missingTerms": missing} if options.glossary else {})


@routes.get("/download_file/{name}")
async def download_file(request: Request, name: str) -> FileResponse:
    """A translated document."""
    files = service_of(request).files
    return FileResponse(files.path(name), media_type="application/octet-stream", filename=files.names.get(name, name))


@routes.post("/detect", openapi_extra=openapi_body(DetectFields))
async def detect(request: Request) -> list:
    """Detect the language of a text: candidates, most probable first. Several texts give a list for each."""
    fields = await read_request(request, DetectFields)
    ranks = await service_of(request).detected(fields.texts)
    found = [[{"confidence": share, "language": code} for code, share in ranked if share > 0] for ranked in ranks]
    return found if isinstance(fields.q, list) else found[0]


@routes.get("/languages")
async def languages(request: Request) -> list[dict[str, Any]]:
    """All languages, each with its target languages."""
    known = service_of(request).models.listed
    return [{"code": code, "name": language_name(code), "targets": targets} for code, targets in known.items()]


@routes.post("/suggest", openapi_extra=openapi_body(SuggestFields))
async def suggest(request: Request) -> dict[str, bool]:
    """Save a better translation of a text. `remembered` is true if a translation memory has it now."""
    fields = await read_request(request, SuggestFields)
    service, pair = service_of(request), (fields.source, fields.target)
    steps = service.models.route(*pair)
    remembers = service.memories.accepts(fields._key) and len(steps) == 1
    if service.corrections is None and not remembers:
        raise Refused("This server does not take suggestions.", 403)
    if remembers and fields.q.count("\n") != fields.s.count("\n"):
        raise Refused("s must have as many lines as q, since a memory has lines.")
    given = {"source": fields.q, "correction": fields.s, "output": fields.output}
    given |= {"from": fields.source, "to": fields.target, "model": " ".join(step.model for step in steps)}
    teaches = not remembers or fields.s != fields.q  # a memory also takes texts that are their own translations
    if service.corrections is not None and teaches:
        await in_thread(service.corrections.add, given, remembers)
    elif teaches and (reason := refusal(fields.q, fields.output, fields.s)):
        raise Refused(reason)
    if remembers and await in_thread(service.memories.add, fields._key, pair, fields.q, fields.s):
        return {"success": True, "remembered": True}
    if service.corrections is None:
        raise Refused("The memory does not take this text.")
    return {"success": True}


@routes.post("/take_back", openapi_extra=openapi_body(TakeBackFields))
async def take_back(request: Request) -> dict[str, bool]:
    """Remove a suggestion of this key from its memory."""
    fields = await read_request(request, TakeBackFields)
    pair, memories = (fields.source, fields.target), service_of(request).memories
    service_of(request).models.route(*pair)
    if not await in_thread(memories.take_back, fields._key, pair, fields.q):
        raise Refused("The memory has no suggestion of this key for this text.")
    return {"success": True}


@routes.post("/memory_version", openapi_extra=openapi_body(AnyFields))
async def memory_version(request: Request) -> dict[str, str]:
    """A version that changes with the translation memories of this key."""
    fields = await read_request(request, AnyFields)
    return {"version": await in_thread(service_of(request).memories.version, fields._key)}


@routes.get("/frontend/settings")
async def frontend_settings(request: Request) -> dict[str, Any]:
    """Settings for a page of this server."""
    service = service_of(request)
    first = next(iter(service.models.steps.values()))
    return {
        "apiKeys": service.keys is not None,
        "charLimit": service.limits.characters,
        "filesTranslation": service.folder is not None,
        "frontendTimeout": 500,
        "keyRequired": service.keys is not None,
        "language": {
            name: {"code": code, "name": language_name(code)}
            for name, code in (("source", first.source), ("target", first.target))
        },
        "requestTimeout": MAX_SECONDS,
        "memory": bool(service.memories.shared) or service.memories.folder is not None,
        "suggestions": service.corrections is not None or service.memories.accepts_any,
        "supportedFilesFormat": Files.endings() if service.folder else [],
    }


@routes.get("/health")
async def health() -> dict[str, str]:
    """Health check."""
    return {"status": "ok"}


@routes.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counters in the format of Prometheus."""
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.post("/explain", openapi_extra=openapi_body(ExplainFields))
async def explain(request: Request) -> dict[str, Any]:
    """Explain the translation of a sentence: choices, beams and attention. See docs/serving.md."""
    fields = await read_request(request, ExplainFields)
    service = service_of(request)
    step = service.step(fields.source, fields.target)
    return await cancel_on_disconnect(request, service.explain(step, fields.q, fields.prefix))
