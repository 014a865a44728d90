"""A demo page: translations with beam search and their scores, and the attention of the selected translation.

A Space runs this file; `glossa demo` shows its page for a local model.
"""

import html
import json
import os
from pathlib import Path

import gradio as gr
import torch
from handler import BadRequest, EndpointHandler, check_texts

WAITING = 32  # requests in the queue; more are refused
MAX_ATTENTION = 60  # in text or translation for an attention table; larger tables do not fit on a screen
EAGER = {"attn_implementation": "eager"}  # only eager attention returns its weights

CSS = """
.attention {overflow-x: auto}
.attention table {border-collapse: collapse; font-size: 0.85rem; color: var(--body-text-color)}
.attention table, .attention thead, .attention tr {border: none !important}
.attention th {font-weight: normal; padding: 2px 6px; white-space: nowrap; border: none !important}
.attention thead th {writing-mode: vertical-rl; transform: rotate(180deg); padding: 6px 2px}
.attention tbody th {text-align: right; position: sticky; left: 0; background: var(--body-background-fill)}
.attention td {min-width: 1.4rem; height: 1.4rem; padding: 0; border: 1px solid var(--border-color-primary)}
"""


class Page:
    """The page of a model; its methods are what the page and its API call.

    Args:
        answer: The handler, which checks requests and limits their time. Its model has eager attention.
        direction: Such as "English to French", or "".
        about: Markdown below the title.
        examples: Texts to try.
    """

    def __init__(self, answer: EndpointHandler, direction: str, about: str, examples: list[str]):
        self.answer, self.direction, self.about, self.examples = answer, direction, about, examples
        self.languages = getattr(answer.translate.model.config, "target_languages", None) or []

    def run(self, text: str, beams: float, count: float, language: str | None = None):
        """Updates of the page: the translations with the best one selected, its text, its attention and a message."""
        if not text or (isinstance(text, str) and not text.strip()):
            return gr.update(choices=[], value=None), "", "", "Type some text first."
        beams, count = map(whole, (beams, count))
        if isinstance(beams, int) and isinstance(count, int):
            count = min(count, beams)
        settings = {"num_beams": beams, "num_return_sequences": count, "return_scores": True, "tgt_lang": language}
        found = self.answer({"inputs": text, "parameters": settings})
        if isinstance(found, dict):
            return gr.update(choices=[], value=None), "", "", found["error"]
        best = found[0]["translation_text"]
        choices = [(f"{one['score']:.2f}  {one['translation_text']}", one["translation_text"]) for one in found]
        choices = list({value: (label, value) for label, value in reversed(choices)}.values())[::-1]
        return gr.update(choices=choices, value=best), best, self.attention(text, best, language), ""

    def choose(self, text: str, translation: str | None, language: str | None = None):
        """The selected translation and its attention."""
        if not translation:
            return "", ""
        try:
            check_texts([text, translation])  # both come from the browser
        except BadRequest as error:
            return "", f"<p>{error}</p>"
        if self.languages and language not in self.languages:
            return "", "<p>Choose a language.</p>"
        return translation, self.attention(text, translation, language)

    @torch.no_grad()
    def attention(self, text: str, translation: str, language: str | None = None) -> str:
        """An HTML table of cross-attention by translation token and text token, averaged over layers and heads."""
        tokenizer, model = self.answer.translate.tokenizer_into(language), self.answer.translate.model
        source = tokenizer(" ".join(text.split()), return_tensors="pt").to(model.device)
        target = tokenizer(text_target=translation, return_tensors="pt")["input_ids"].to(model.device)
        if max(source["input_ids"].shape[1], target.shape[1]) > MAX_ATTENTION:
            return f"<p>Attention is shown for text of up to {MAX_ATTENTION} tokens.</p>"
        decoder_input_ids = model.prepare_decoder_input_ids_from_labels(target)
        layers = model(**source, decoder_input_ids=decoder_input_ids, output_attentions=True).cross_attentions
        weights = torch.stack(layers).mean(dim=(0, 2))[0].tolist()  # [layers, 1, heads, T, S] -> [T, S]
        sources = tokenizer.backend_tokenizer
        columns = self.words(sources, source["input_ids"][0].tolist())
        rows = self.words(getattr(tokenizer, "target_tokenizer", sources), target[0].tolist())
        head = "".join(f'<th scope="col">{word}</th>' for word in columns)
        body = "".join(
            f'<tr><th scope="row">{row}</th>'
            + "".join(
                f'<td title="{row} → {column}: {weight:.0%}" style="background: rgba(249, 115, 22, {weight:.2f})">'
                "</td>"
                for column, weight in zip(columns, line, strict=True)
            )
            + "</tr>"
            for row, line in zip(rows, weights, strict=True)
        )
        caption = "<p>Rows: the translation. Columns: the text. A stronger color means more attention.</p>"
        table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'{caption}<div class="attention" tabindex="0" role="region" aria-label="Attention">{table}</div>'

    def words(self, vocabulary, ids: list[int]) -> list[str]:
        """Readable tokens; the end-of-sentence token is shown as a square."""
        end = self.answer.translate.tokenizer.eos_token_id
        return ["■" if one == end else html.escape(vocabulary.decode([one])) or "·" for one in ids]

    def blocks(self) -> gr.Blocks:
        title = f"Translate {self.direction}".strip()
        with gr.Blocks(title=title) as blocks:
            gr.Markdown(f"# {title}\n{self.about}")
            with gr.Row():
                with gr.Column(min_width=280):
                    text = gr.Textbox(
                        label="Text", lines=4, max_lines=12, autofocus=True, placeholder="Shift+Enter translates",
                        elem_id="text",
                    )  # fmt: skip
                    with gr.Row():
                        beams = gr.Slider(1, 8, value=4, step=1, label="Beams", elem_id="beams")
                        count = gr.Slider(1, 8, value=3, step=1, label="Translations", elem_id="count")
                    into = [gr.Radio(self.languages, value=self.languages[0], label="Into")] if self.languages else []
                    button = gr.Button("Translate", variant="primary", elem_id="translate")
                    if self.examples:
                        gr.Examples([[example] for example in self.examples], inputs=[text])
                with gr.Column(min_width=280):
                    message = gr.Markdown(elem_id="message")
                    result = gr.Textbox(label="Translation", lines=4, max_lines=12, elem_id="result", buttons=["copy"])
                    choices = gr.Radio([], label="All translations, with their log-probability", elem_id="choices")
            heat = gr.HTML(elem_id="heat")
            outputs = [choices, result, heat, message]
            gr.on([button.click, text.submit], self.run, [text, beams, count, *into], outputs, api_name="translate")
            choices.input(self.choose, [text, choices, *into], [result, heat], api_name=False)
        return blocks


def whole(value):
    """The integer that a slider gives as a float; anything else unchanged, for the handler to refuse."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def space_page() -> Page:
    """The page of a Space, from the file beside this one."""
    settings = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
    name = settings["model"]
    answer = EndpointHandler(os.environ.get("MODEL_ID", name), EAGER)
    return Page(answer, settings["direction"], f"[{name}](https://huggingface.co/{name})", settings["examples"])


def launch(page: Page, **options) -> None:
    """Serve the page until the process is interrupted; `options` are those of gradio's `launch`."""
    page.blocks().queue(max_size=WAITING).launch(css=CSS, **options)


if __name__ == "__main__":
    launch(space_page())
