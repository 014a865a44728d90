"""What a chat model is asked for a translation: its own request if its model card has one, or a general one."""

import re
from dataclasses import dataclass
from typing import Any

from ...base.errors import GlossaError
from ...base.languages import language_name

GENERAL = "Translate the text below from {source} into {target}. Answer with the translation only.\n\n{text}"
# Requests of model cards by a pattern of the model's name, looked up on 30 November 2026 in the README of
# github.com/Tencent-Hunyuan/Hy-MT2 (26 May 2026) and HY-MT (23 March 2026, for MT and MT1.5),
# github.com/NiuTrans/LMT (7 May 2026) and huggingface.co/Unbabel/Tower-Plus-2B and -9B (copies of their cards).
CARDS = {
    r"hy-?mt-?2": "Translate the following text into {target}. Note that you should only output the translated result "
    "without any additional explanation:\n\n{text}",
    r"hunyuan-?mt|hy-?mt": "Translate the following segment into {target}, without additional explanation.\n\n{text}",
    r"lmt-60": "Translate the following text from {source} into {target}:\n{source}: {text}\n{target}:",
    r"tower-?plus": "Translate the following {source} source text to {target}:\n{source}: {text}\n{target}: ",
}
# The card of google/translategemma-12b-it (13 January 2026) asks for a part of a message with the codes of the
# languages; llama.cpp gives its chat template the codes of `chat_template_kwargs` (pull request 19052).
CODED = re.compile("translategemma", re.IGNORECASE)
WARMTH = 0.7  # temperature of further translations of a text; the cards of Hy-MT2 and HY-MT recommend it


@dataclass(frozen=True)
class ChatRequest:
    """How a chat model is asked for translations.

    Attributes:
        model: Its name on the server.
        languages: The codes of source and target language.
        prompt: What it is asked, with `{source}`, `{target}` and `{text}`; None for the request of its card.

    Raises:
        GlossaError: if the prompt lacks `{text}`.
    """

    model: str
    languages: tuple[str, str]
    prompt: str | None = None

    def __post_init__(self):
        if self.prompt is not None and "{text}" not in self.prompt:
            raise GlossaError("The prompt has no {text}. Write {text} where the text to translate is to stand.")

    def body(self, text: str, number: int = 0) -> dict[str, Any]:
        """The fields of the request for translation `number` of a text: 0 is the most probable one, others vary."""
        asked: dict[str, Any] = {"model": self.model, "temperature": WARMTH if number else 0}
        if number:
            asked["seed"] = number
        source, target = self.languages
        if self.prompt is None and CODED.search(self.model):
            codes = {"source_lang_code": source, "target_lang_code": target}
            content: Any = [{"type": "text", "text": text} | codes]
            asked["chat_template_kwargs"] = codes
        else:
            names = {"source": language_name(source), "target": language_name(target), "text": text}
            content = re.sub(r"\{(source|target|text)\}", lambda found: names[found[1]], self._prompt())
        return asked | {"messages": [{"role": "user", "content": content}]}

    def _prompt(self) -> str:
        if self.prompt is not None:
            return self.prompt
        cards = (prompt for pattern, prompt in CARDS.items() if re.search(pattern, self.model, re.IGNORECASE))
        return next(cards, GENERAL)
