"""A demo page: translations with beam search and their scores, and the attention of the selected translation."""

import html
import json
import os
from pathlib import Path

import gradio as gr
import torch
from transformers import pipeline

SETTINGS = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
MODEL = os.environ.get("MODEL_ID", SETTINGS["model"])
MAX_CHARACTERS = 10_000
MAX_TOKENS = 60  # in text or translation for an attention table; larger tables do not fit on a screen

# Only eager attention returns its weights.
translate = pipeline("translation", model=MODEL, trust_remote_code=True, model_kwargs={"attn_implementation": "eager"})

CSS = """
.attention {overflow-x: auto}
.attention table {border-collapse: collapse; font-size: 0.85rem; color: var(--body-text-color)}
.attention table, .attention thead, .attention tr {border: none !important}
.attention th {font-weight: normal; padding: 2px 6px; white-space: nowrap; border: none !important}
.attention thead th {writing-mode: vertical-rl; transform: rotate(180deg); padding: 6px 2px}
.attention tbody th {text-align: right; position: sticky; left: 0; background: var(--body-background-fill)}
.attention td {min-width: 1.4rem; height: 1.4rem; padding: 0; border: 1px solid var(--border-color-primary)}
"""


def run(text: str, beams: float, count: float):
    """Updates of the page: the translations with the best one selected, its text, its attention and a message."""
    text = text or ""
    if not text.strip():
        return gr.update(choices=[], value=None), "", "", "Type some text first."
    if len(text) > MAX_CHARACTERS:
        message = f"The text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed."
        return gr.update(choices=[], value=None), "", "", message
    count = min(int(count), int(beams))
    settings = {"num_beams": int(beams), "num_return_sequences": count, "return_scores": True}
    found = translate(text, split_sentences=True, **settings)
    best = found[0]["translation_text"]
    choices = [(f"{one['score']:.2f}  {one['translation_text']}", one["translation_text"]) for one in found]
    choices = list({value: (label, value) for label, value in reversed(choices)}.values())[::-1]
    return gr.update(choices=choices, value=best), best, attention(text, best), ""


def choose(text: str, translation: str | None):
    """The selected translation and its attention."""
    return (translation, attention(text, translation)) if translation else ("", "")


@torch.no_grad()
def attention(text: str, translation: str) -> str:
    """An HTML table of cross-attention by translation token and text token, averaged over layers and heads."""
    tokenizer, model = translate.tokenizer, translate.model
    source = tokenizer(" ".join(text.split()), return_tensors="pt").to(model.device)
    target = tokenizer(text_target=translation, return_tensors="pt")["input_ids"].to(model.device)
    if max(source["input_ids"].shape[1], target.shape[1]) > MAX_TOKENS:
        return f"<p>Attention is shown for text of up to {MAX_TOKENS} tokens.</p>"
    decoder_input_ids = model.prepare_decoder_input_ids_from_labels(target)
    layers = model(**source, decoder_input_ids=decoder_input_ids, output_attentions=True).cross_attentions
    weights = torch.stack(layers).mean(dim=(0, 2))[0].tolist()  # [layers, 1, heads, T, S] -> [T, S]
    sources = tokenizer.backend_tokenizer
    columns = words(sources, source["input_ids"][0].tolist())
    rows = words(getattr(tokenizer, "target_tokenizer", sources), target[0].tolist())
    head = "".join(f'<th scope="col">{word}</th>' for word in columns)
    body = "".join(
        f'<tr><th scope="row">{row}</th>'
        + "".join(
            f'<td title="{row} → {column}: {weight:.0%}" style="background: rgba(249, 115, 22, {weight:.2f})"></td>'
            for column, weight in zip(columns, line, strict=True)
        )
        + "</tr>"
        for row, line in zip(rows, weights, strict=True)
    )
    caption = "Rows: the translation. Columns: the text. A stronger color means more attention."
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<p>{caption}</p><div class="attention" tabindex="0" role="region" aria-label="Attention">{table}</div>'


def words(vocabulary, ids: list[int]) -> list[str]:
    """Readable tokens; the end-of-sentence token is shown as a square."""
    end = translate.tokenizer.eos_token_id
    return ["■" if one == end else html.escape(vocabulary.decode([one])) or "·" for one in ids]


def page() -> gr.Blocks:
    with gr.Blocks(title=f"Translate {SETTINGS['direction']}".strip()) as blocks:
        gr.Markdown(
            f"# Translate {SETTINGS['direction']}\n[{SETTINGS['model']}](https://huggingface.co/{SETTINGS['model']})"
        )
        with gr.Row():
            with gr.Column(min_width=280):
                text = gr.Textbox(
                    label="Text", lines=4, max_lines=12, autofocus=True, placeholder="Shift+Enter translates",
                    elem_id="text",
                )  # fmt: skip
                with gr.Row():
                    beams = gr.Slider(1, 8, value=4, step=1, label="Beams", elem_id="beams")
                    count = gr.Slider(1, 8, value=3, step=1, label="Translations", elem_id="count")
                button = gr.Button("Translate", variant="primary", elem_id="translate")
                gr.Examples([[example] for example in SETTINGS["examples"]], inputs=[text])
            with gr.Column(min_width=280):
                message = gr.Markdown(elem_id="message")
                result = gr.Textbox(label="Translation", lines=4, max_lines=12, elem_id="result", buttons=["copy"])
                choices = gr.Radio([], label="All translations, with their log-probability", elem_id="choices")
        heat = gr.HTML(elem_id="heat")
        outputs = [choices, result, heat, message]
        gr.on([button.click, text.submit], run, [text, beams, count], outputs, api_name="translate")
        choices.input(choose, [text, choices], [result, heat], api_name=False)
    return blocks


if __name__ == "__main__":
    page().launch(css=CSS)
