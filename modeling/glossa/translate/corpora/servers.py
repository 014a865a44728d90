"""Translations by a server with the interface of LibreTranslate, or with OpenAI's of chats."""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ...base.errors import GlossaError
from ...base.paths import masked
from .requests import ChatRequest

KEY = "GLOSSA_SERVER_KEY"  # environment variable with the key of the server
AT_ONCE = 20  # texts in a request
SECONDS = 120  # time limit of a request
TRIES, WAIT, LONGEST_WAIT = 6, 1.0, 300.0  # tries of a request; seconds before the second, doubled before each further
LARGEST = 10_000_000  # bytes of an answer
LONGEST_REASON = 300  # bytes of an error that are shown
BUSY = (408, 425, 429, 500, 502, 503, 504)


class _NoRedirects(HTTPRedirectHandler):
    """Answers that point elsewhere are errors: texts and key are for the host that was named."""

    def redirect_request(self, *_):
        return None


def _reason(error: HTTPError) -> str:
    """What the body of an error says: a text, or a JSON object with the field `error`, `detail` or `message`."""
    found: Any = error.read(LONGEST_REASON).decode(errors="replace")
    with contextlib.suppress(ValueError):
        found = json.loads(found)
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "detail", "message") if name in found), "")
    return " ".join(str(found).split()) if not str(found).lstrip().startswith("<") else ""


class ServerTranslator:
    """Translates with a server.

    The key in the environment variable `GLOSSA_SERVER_KEY`, if any, is sent to it, and never shown or written.

    Args:
        url: Its address: of LibreTranslate `http://localhost:5000`, with OpenAI's interface
            `http://localhost:8000/v1`.
        languages: The codes of source and target language.
        model: The model that a server with OpenAI's interface is to use; None for LibreTranslate.
        prompt: What such a model is asked; see [`ChatRequest`].
        requests: Requests at once.
        samples: Translations of each text that such a model is asked for.
        option: The option that gives the address, for messages.

    Raises:
        GlossaError: if the address is none of HTTP, or has a user, a password or a query, such as a key; or as
            [`ChatRequest`].
    """

    def __init__(
        self,
        url: str,
        languages: tuple[str, str],
        model: str | None = None,
        prompt: str | None = None,
        requests: int = 1,
        samples: int = 1,
        option: str = "--system",
    ):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise GlossaError(f"{option} is {masked(url)}; give an address such as http://localhost:5000.")
        if "@" in parts.netloc or parts.query:
            raise GlossaError(
                f"{option} is {masked(url)}, with a password or key in it, which other users of this machine can see. "
                f"Give the address without it, and the key in the environment variable {KEY}."
            )
        self.host = parts.netloc
        self.url, self.languages, self.model = url.rstrip("/"), languages, model
        self.requests, self.samples = requests, samples
        self._chat = ChatRequest(model, languages, prompt) if model else None
        self._opener = build_opener(_NoRedirects)

    def translate(self, texts: Sequence[str]) -> Iterator[str]:
        """Yield the translation of each text, on one line.

        Raises `GlossaError` if the server refuses, does not answer after several tries, or answers something else.
        """
        for first, *_ in self.answers(texts):
            yield " ".join(first.split())

    def answers(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The answers for each text, as they are; raises as `translate`."""
        step = AT_ONCE if self._chat is None else 1
        parts = [list(texts[first : first + step]) for first in range(0, len(texts), step)]
        with ThreadPoolExecutor(self.requests) as pool:
            for start in range(0, len(parts), self.requests):  # after an error, no further requests are made
                for found in pool.map(self._translations, parts[start : start + self.requests]):
                    yield from found

    def _translations(self, texts: list[str]) -> list[list[str]]:
        source, target = self.languages
        key = os.environ.get(KEY)
        if self._chat is not None:
            header = {"Authorization": f"Bearer {key}"} if key else {}
            bodies = (self._chat.body(texts[0], number) for number in range(self.samples))
            return [[self._content(self._ask("/chat/completions", body, header)) for body in bodies]]
        asked = {"q": texts, "source": source, "target": target, "format": "text"}
        found = self._ask("/translate", asked | ({"api_key": key} if key else {}), {}).get("translatedText")
        if not isinstance(found, list) or len(found) != len(texts) or not all(isinstance(one, str) for one in found):
            raise self._error(f"gave no list of {len(texts)} translations")
        return [[one] for one in found]

    def _content(self, answer: dict[str, Any]) -> str:
        try:
            found = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            found = None
        if not isinstance(found, str):
            raise self._error("gave no message")
        return found

    def _ask(self, path: str, fields: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"} | headers
        request = Request(self.url + path, json.dumps(fields).encode(), headers)
        wait, problem = WAIT, ""
        for last in (*[False] * (TRIES - 1), True):
            try:
                with self._opener.open(request, timeout=SECONDS) as answer:
                    content = answer.read(LARGEST + 1)
                break
            except HTTPError as error:
                problem = f"answers with status {error.code} ({_reason(error) or error.reason})"
                if error.code not in BUSY:
                    place = error.headers.get("Location")
                    raise self._error(f"{problem} and points to {masked(place)}" if place else problem) from error
                asked = error.headers.get("Retry-After", "")
                wait = max(wait, min(float(asked), LONGEST_WAIT)) if asked.isdigit() else wait
            except (URLError, HTTPException, OSError) as error:
                problem = f"does not answer: {getattr(error, 'reason', error)}"
            if last:
                raise self._error(f"{problem}, {TRIES} times")
            time.sleep(wait)
            wait *= 2
        if len(content) > LARGEST:
            raise self._error(f"answers with over {LARGEST:,} bytes")
        try:
            found = json.loads(content)
        except ValueError as error:
            raise self._error(f"answers with something that is not JSON: {content[:60]!r}") from error
        if not isinstance(found, dict):
            raise self._error("answers with JSON that is no object")
        return found

    def _error(self, problem: str) -> GlossaError:
        return GlossaError(
            f"The server {self.url} {problem}. Finished translations are kept, and the same command continues. Check "
            "the address, the model and the key."
        )
