"""Published models of other families translate and score as transformers does it, in the languages that are asked."""

import json

import pytest
import torch
from published_models import publish
from sentencepiece import SentencePieceProcessor
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from glossa.base.errors import GlossaError
from glossa.translate.build import build_translator, load_engine
from glossa.translate.engines.forced import force
from glossa.translate.interface import Search
from glossa.translate.languages import Languages, Wanted
from glossa.translate.loading import load_model, load_tokenizer

WORDS = [(a, b) for a in "abcdefghij" for b in "klmnopqrst"]
SOURCES, TARGETS = [f"{a} {b} {a}{b}" for a, b in WORDS], [f"{b}{b} {a}{a}!" for a, b in WORDS]
CODES = {"nllb": ("eng_Latn", "fra_Latn"), "m2m100": ("__en__", "__fr__"), "mbart-50": ("en_XX", "fr_XX"),
         "mbart-25": ("en_XX", "fr_XX")}  # fmt: skip


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The folder of a random model of a family, written once."""
    root = tmp_path_factory.mktemp("published")

    def folder(family):
        path = root / family
        return path if path.is_dir() else publish(family, path, SOURCES, TARGETS)

    return folder


def encoded(folder, source, target):
    tokenizer = load_tokenizer(str(folder))
    Languages.choose(tokenizer, str(folder), Wanted("French", "English"))
    found = tokenizer([source], text_target=[target])
    return [tokenizer.convert_ids_to_tokens(found[side][0]) for side in ("input_ids", "labels")]


@pytest.mark.parametrize("family", CODES)
def test_codes_stand_where_the_family_has_them(family, published):
    source, target = encoded(published(family), "a k", "kk aa!")
    first, second = CODES[family]
    ends = {"mbart-25": (["</s>", first], ["</s>", second])}.get(family, (["</s>"], ["</s>"]))
    starts = {"mbart-25": ([], [])}.get(family, ([first], [second]))
    for tokens, start, end in zip((source, target), starts, ends, strict=True):
        assert tokens[: len(start)] == start and tokens[-len(end) :] == end
        assert not {*tokens[len(start) : -len(end)]} & {first, second, "</s>"}


def test_nllb_with_its_old_form_has_the_code_of_the_source_at_the_end(published, tmp_path):
    folder = publish("nllb", tmp_path / "nllb", SOURCES, TARGETS)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"legacy_behaviour": True}))
    source, target = encoded(folder, "a k", "kk aa!")
    assert source[-2:] == ["</s>", "eng_Latn"]
    assert (target[0], target[-1]) == ("fra_Latn", "</s>")  # the decoder is asked at its start all the same


def test_a_model_with_several_targets_has_the_code_before_the_source(published):
    source, target = encoded(published("opus-mt, many targets"), "a k", "kk aa!")
    assert source[0] == ">>fra<<" and target[-1] == "</s>" and ">>fra<<" not in target


@pytest.mark.parametrize("family", ["opus-mt", "opus-mt, many targets", "opus-mt, two vocabularies"])
def test_targets_are_cut_by_the_model_of_the_target(family, published):
    folder = published(family)
    pieces = {
        side: SentencePieceProcessor(model_file=str(folder / f"{side}.spm")).encode("kk aa!", out_type=str)
        for side in ("source", "target")
    }
    assert pieces["source"] != pieces["target"]
    vocabulary = json.loads((folder / ("target_vocab.json" if "two" in family else "vocab.json")).read_text())
    tokenizer = load_tokenizer(str(folder))
    own = tokenizer.into("fr")(["a"], text_target=["kk aa!"])["labels"][0]
    assert own == [*(vocabulary.get(piece, vocabulary["<unk>"]) for piece in pieces["target"]), vocabulary["</s>"]]


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("family", CODES)
def test_translations_are_those_of_generate_with_the_code_forced(family, beams, published):
    folder = published(family)
    tokenizer = AutoTokenizer.from_pretrained(folder, src_lang=CODES[family][0].strip("_"))
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    code = tokenizer.convert_tokens_to_ids(CODES[family][1])
    first = {"decoder_start_token_id": code} if family == "mbart-25" else {"forced_bos_token_id": code}
    longest = 8 if family == "mbart-25" else 9  # with the code
    ids = tokenizer("a k", return_tensors="pt")
    found = model.generate(**ids, **first, num_beams=beams, max_new_tokens=longest, max_length=None)[0].tolist()
    engine, own = load_engine([str(folder)], "torch", Wanted("fr", "en"))
    batch, prompt = own(["a k"], return_tensors="pt"), own.prompt(engine.start)
    assert engine.pipeline._forward(batch, prompt=prompt, num_beams=beams, max_new_tokens=8)["sequences"].tolist() == [
        found
    ]
    (text,) = engine.translate(batch["input_ids"].tolist(), Search(beams, prompt=tuple(prompt)))
    assert CODES[family][1] not in text.text


@pytest.mark.parametrize("family", [*CODES, "opus-mt", "t5", "t5gemma", "bart"])
def test_scores_are_those_of_the_model_without_the_code(family, published):
    folder = published(family)
    tokenizer, model = load_tokenizer(str(folder)), load_model(str(folder))
    Languages.choose(tokenizer, str(folder), Wanted("fr", "en"))
    (found,) = force(model, tokenizer, ["a k"], ["kk aa!"])
    ids = tokenizer(["a k"], text_target=["kk aa!"], return_tensors="pt")
    inputs = {"input_ids": ids["input_ids"], "attention_mask": ids["attention_mask"]}
    with torch.no_grad():
        logits = model(**inputs, labels=ids["labels"]).logits.log_softmax(-1)  # the family makes the decoder's input
    each = logits[0].gather(-1, ids["labels"][0, :, None])[:, 0]
    names = tokenizer.convert_ids_to_tokens(ids["labels"][0].tolist())
    scored = [value for value, name in zip(each.tolist(), names, strict=True) if name not in CODES.get(family, ())]
    assert found.log_probability == pytest.approx(sum(scored), abs=1e-4)
    assert found.tokens == len(scored)


def test_a_model_that_must_know_the_source_says_so(published):
    with pytest.raises(GlossaError, match=r"--source_language is not given, but .*nllb must know it: en, fr, de\."):
        build_translator([str(published("nllb"))], language="fr")
    with pytest.raises(GlossaError, match=r"--target_language is it, but .*nllb translates into en, fr, de\."):
        build_translator([str(published("nllb"))], language=Wanted("it", "en"))
