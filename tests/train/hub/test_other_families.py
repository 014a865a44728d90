"""A model of another family that was trained further is pushed: a card whose code runs, and files that load alone."""

import pytest
from published_models import publish
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from glossa.train.hub.push import check, stage
from glossa.translate.languages import Languages, Wanted
from glossa.translate.loading import load_model, load_tokenizer

WORDS = [(a, b) for a in "abcdefghij" for b in "klmnopqrst"]
SOURCES, TARGETS = [f"{a} {b} {a}{b}" for a, b in WORDS], [f"{b}{b} {a}{a}!" for a, b in WORDS]


def tuned(family, folder):
    """A folder as training saves it, without training."""

    from glossa.train.building import ask_for_language

    publish(family, folder / "start", SOURCES, TARGETS)
    model, tokenizer = load_model(str(folder / "start")), load_tokenizer(str(folder / "start"))
    Languages.choose(tokenizer, family, Wanted("fr", "en"), by_line=True)
    Languages("en", ("fr",)).write(model, tokenizer)
    ask_for_language(model, tokenizer, tokenizer.tgt_lang)
    model.save_pretrained(folder / "run")
    tokenizer.save_pretrained(folder / "run")
    return folder / "run"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["opus-mt, many targets", "nllb", "mbart-25", "t5", "bert2bert"])
def test_the_card_shows_code_that_runs(family, tmp_path):
    run = tuned(family, tmp_path)
    folder = tmp_path / "pushed"
    folder.mkdir()
    stage(run, "someone/tuned", folder)
    card = (folder / "README.md").read_text()
    assert "pipeline(" not in card and "trust_remote_code" not in card and "model.generate(" in card
    assert not list(folder.glob("*.py")) and (folder / "model.safetensors").is_file()
    shown = check(folder, run)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    before = {"t5": "translate English to French: ", "opus-mt, many targets": ">>fra<< "}.get(family, "")
    ids = tokenizer([f"{before}Hello."], return_tensors="pt")
    code = {"nllb": "fra_Latn", "mbart-25": "fr_XX"}.get(family)
    name = {"nllb": "forced_bos_token_id", "mbart-25": "decoder_start_token_id"}.get(family)
    asked = {name: tokenizer.convert_tokens_to_ids(code)} if name else {}
    found = model.generate(ids["input_ids"], attention_mask=ids["attention_mask"], **asked)
    assert shown == tokenizer.batch_decode(found, skip_special_tokens=True)[0].strip("\n")
