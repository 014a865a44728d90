"""A model is trained further on a target language that it did not know."""

import json

import pytest
import torch
from published_models import publish
from small_models import UNSIZED

from glossa.base.errors import GlossaError
from glossa.train.data.encoding.extension import piece_parts
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.start import add_language, add_pieces, grow
from glossa.train.run import train
from glossa.translate.build import build_translator
from glossa.translate.languages import Wanted
from glossa.translate.loading import load_model, load_tokenizer

pytestmark = pytest.mark.slow  # minutes in all

WORDS = [(a, b) for a in "abcdefghij" for b in "klmnopqrst"]
SOURCES, TARGETS = [f"{a} {b} {a}{b}" for a, b in WORDS], [f"{b}{b} {a}{a}!" for a, b in WORDS]


@pytest.mark.parametrize("left", [0, 2])
def test_the_new_token_begins_as_the_mean_of_the_languages(tmp_path, left):
    """NLLB on the Hub has two rows of embeddings more than its tokenizer has tokens: rows that are left."""
    folder = publish("nllb", tmp_path / "nllb", SOURCES, TARGETS)
    model, tokenizer = load_model(str(folder)), load_tokenizer(str(folder))
    known = len(tokenizer)
    model.resize_token_embeddings(known + left)
    before = model.model.shared.weight.detach().clone()
    codes = tokenizer.convert_tokens_to_ids(["eng_Latn", "fra_Latn", "deu_Latn"])
    add_language(tokenizer, "it")
    grow(model, tokenizer, known)
    after = model.get_input_embeddings().weight
    assert len(after) == known + max(left, 1) and after[:known].equal(before[:known])
    torch.testing.assert_close(after[known], before[codes].mean(0))
    assert model.get_output_embeddings().weight is after and model.config.vocab_size == len(after)
    assert tokenizer.into("it").prompt(2) == [2, known]


@pytest.mark.parametrize("family", ["m2m100", "mbart-50", "opus-mt"])
def test_families_with_fixed_languages_refuse_another(family, tmp_path):
    folder = publish(family, tmp_path / "model", SOURCES, TARGETS)
    with pytest.raises(GlossaError, match="add_language is tlh, but the model of init_from does not support new"):
        add_language(load_tokenizer(str(folder)), "tlh")


@pytest.fixture
def new_pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in zip(SOURCES, TARGETS, strict=True)))
    return path


@pytest.fixture
def further(tiny_train, new_pairs, tmp_path):
    """Trains a model further on the new pairs."""
    return lambda start, **changes: tiny_train(
        tmp_path / "run", data_path=new_pairs, init_from=start, trust_data=True, **UNSIZED, **changes
    )


def test_nllb_learns_a_language(further, tmp_path):
    start = publish("nllb", tmp_path / "nllb", SOURCES, TARGETS)
    run = further(start, add_language="it", source_language="en", target_language="it")
    tokenizer = load_tokenizer(str(run))
    assert tokenizer.target_languages == ["en", "fr", "de", "it"] and tokenizer.tgt_lang == "it"
    decoding = json.loads((run / "generation_config.json").read_text())
    assert decoding["forced_bos_token_id"] == tokenizer.convert_tokens_to_ids("ita_Latn")
    assert build_translator([str(run)]).best(["a k"])
    assert build_translator([str(run)], language=Wanted("fr", "en")).best(["a k"])  # the old ones are still there


@pytest.mark.parametrize("apart", [False, True], ids=["one vocabulary", "two vocabularies"])
def test_a_glossa_model_of_several_languages_learns_another(apart, tiny_settings, further, new_pairs, tmp_path):
    sources = [{"name": code, "data_path": str(new_pairs), "target_language": code} for code in ("de", "fr")]
    (tmp_path / "several.yaml").write_text(json.dumps({"sources": sources}))
    two = {"target_vocab_size": 285, "share_encoder_decoder_embeddings": False} if apart else {}
    several = tiny_settings(tmp_path / "several", trust_data=True, data_path=None, dataset=None, **two)
    first = train(parse_settings([str(tmp_path / "several.yaml"), *several]))
    run = further(first, add_language="it", target_language="it")
    before, after = load_model(str(first)), load_model(str(run))
    assert after.config.vocab_size == before.config.vocab_size + 1
    assert after.config.target_languages == ["de", "fr", "it"]
    for code in ("it", "fr"):
        assert len(build_translator([str(run)], language=code).best(["a k"])) == 1


@pytest.mark.parametrize("kind", ["nllb", "glossa"])
def test_further_pieces_begin_as_the_mean_of_their_parts(kind, tmp_path, tiny_run):
    folder = publish("nllb", tmp_path / "nllb", SOURCES, TARGETS) if kind == "nllb" else tiny_run
    model, tokenizer = load_model(str(folder)), load_tokenizer(str(folder))
    before, text = model.get_input_embeddings().weight.detach().clone(), "zzyyxx zzyyxx wwvv"
    if kind == "nllb":
        tokenizer.src_lang, tokenizer.tgt_lang = "en", "fr"
    cut = tokenizer(text, add_special_tokens=False)["input_ids"]
    add_pieces(tokenizer, [text.replace("z", "k").replace("y", "a")] * 20, 5)
    grow(model, tokenizer, len(before))
    after = model.get_input_embeddings().weight
    assert after[: len(before)].equal(before) and len(after) == len(tokenizer) > len(before)
    parts = piece_parts(tokenizer.backend_tokenizer, len(before))
    assert sorted(parts) == list(range(len(before), len(after)))
    for piece, old in parts.items():
        torch.testing.assert_close(after[piece], before[old].mean(0))
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == cut or kind == "nllb"


def test_a_model_with_further_pieces_is_trained_and_loaded(further, tiny_run):
    run = further(tiny_run, add_vocabulary=6)
    before, after = (load_tokenizer(str(folder)) for folder in (tiny_run, run))
    assert len(before) < len(after) == load_model(str(run)).config.vocab_size
    text = TARGETS[0]
    assert after.decode(after(text)["input_ids"], skip_special_tokens=True) == text
    lengths = [sum(map(len, own(TARGETS)["input_ids"])) for own in (before, after)]
    assert lengths[1] < lengths[0]
    assert build_translator([str(run)]).best(["a k"])


def test_a_vocabulary_in_other_files_takes_no_pieces(tmp_path):
    folder = publish("opus-mt", tmp_path / "model", SOURCES, TARGETS)
    with pytest.raises(GlossaError, match="add_vocabulary is 5, which MarianTokenizer does not support"):
        add_pieces(load_tokenizer(str(folder)), TARGETS, 5)
