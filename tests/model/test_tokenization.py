"""The tokenizer with two vocabularies supports the usual methods of fast tokenizers, with and without Glossa."""

import copy
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer, DataCollatorForSeq2Seq, PreTrainedTokenizerFast

from glossa import GlossaConfig, GlossaForConditionalGeneration, GlossaTokenizer
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer, train_tokenizer_pair

SOURCES = ["Il vit au Japon.", "Elle vit à Rome, n'est-ce pas ?", "Où est le chat ?"]
TARGETS = ["He lives in Japan.", "She lives in Rome, doesn't she?", "Where is the cat?"]
WORDS = TokenizerArguments(
    vocab_size=60, target_vocab_size=50, tokenizer_model="word", min_frequency=1, source_special_tokens="start_end"
)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer_pair(SOURCES, TARGETS, WORDS, max_length=40)


def test_each_side_is_encoded_with_its_own_vocabulary(tokenizer):
    encoded = tokenizer(SOURCES[0], text_target=TARGETS[0])
    source, target = tokenizer.backend_tokenizer, tokenizer.target_tokenizer
    assert [source.id_to_token(i) for i in encoded["input_ids"]] == ["<s>", "Il", "vit", "au", "Japon", ".", "</s>"]
    assert [target.id_to_token(i) for i in encoded["labels"]] == ["He", "lives", "in", "Japan", ".", "</s>"]
    assert source.token_to_id("lives") is None and target.token_to_id("vit") is None
    assert len(tokenizer) == source.get_vocab_size() != tokenizer.target_vocab_size == target.get_vocab_size()


def test_target_text_alone_then_a_source(tokenizer):
    alone = tokenizer(text_target=TARGETS[0])["input_ids"]
    assert alone == tokenizer(SOURCES[0], text_target=TARGETS[0])["labels"]
    assert tokenizer(SOURCES[0])["input_ids"][0] == 2, "the source's vocabulary and special tokens are back"


def test_decoding_uses_the_target_vocabulary(tokenizer):
    labels = tokenizer(SOURCES, text_target=TARGETS)["labels"]
    assert tokenizer.batch_decode(labels, skip_special_tokens=True) == TARGETS
    assert tokenizer.decode(labels[0]) == "He lives in Japan. </s>"
    tokens = [tokenizer.target_tokenizer.id_to_token(i) for i in labels[0][:-1]]
    assert tokenizer.convert_tokens_to_string(tokens) == TARGETS[0]
    assert tokenizer(SOURCES[0])["input_ids"][0] == 2


def test_special_ids_are_equal_on_both_sides(tokenizer):
    for index, token in enumerate(("<pad>", "</s>", "<s>", "<unk>")):
        assert tokenizer.convert_tokens_to_ids(token) == tokenizer.target_tokenizer.token_to_id(token) == index
    different = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1}, unk_token="<unk>"))
    with pytest.raises(ValueError, match=r"<pad> is 0 in the source's vocabulary and 1 in the target's"):
        GlossaTokenizer(
            tokenizer_object=tokenizer.backend_tokenizer, target_tokenizer_object=different, pad_token="<pad>"
        )
    with pytest.raises(ValueError, match=r"target_tokenizer_file is missing"):
        GlossaTokenizer(tokenizer_object=tokenizer.backend_tokenizer)


def test_padding_and_truncation_of_both_sides(tokenizer):
    batch = tokenizer(SOURCES, text_target=TARGETS, padding=True, truncation=True, max_length=6, return_tensors="pt")
    assert batch["input_ids"].shape == (3, 6) and batch["labels"].shape == (3, 6)
    assert (batch["input_ids"][:, -1] == 1).all() and (batch["labels"][:, -1] == 1).all(), "the end is kept"
    short = tokenizer(SOURCES, text_target=TARGETS, max_length=5, max_target_length=4, truncation=True)
    assert {len(ids) for ids in short["input_ids"]} == {5} and {len(ids) for ids in short["labels"]} == {4}
    left = tokenizer(SOURCES[:2], padding=True, padding_side="left")
    assert left["input_ids"][0][:2] == [0, 0] and left["attention_mask"][0][:2] == [0, 0]
    assert tokenizer(TARGETS[0])["input_ids"][-1] == 1, "padding and truncation do not persist"
    assert tokenizer.model_max_length == 40


def test_offsets_of_both_sides(tokenizer):
    source = tokenizer(SOURCES[0], return_offsets_mapping=True)["offset_mapping"]
    assert [SOURCES[0][start:end] for start, end in source] == ["", "Il", "vit", "au", "Japon", ".", ""]
    target = tokenizer(text_target=TARGETS[0], return_offsets_mapping=True)["offset_mapping"]
    assert [TARGETS[0][start:end] for start, end in target] == ["He", "lives", "in", "Japan", ".", ""]


def test_special_tokens_as_text_and_new_ones(tokenizer):
    ids = tokenizer("</s> Il <pad>", text_target="<s> He")
    assert ids["input_ids"].count(1) == 1 and 0 not in ids["input_ids"] and 2 not in ids["labels"]
    mask = tokenizer(SOURCES[0], return_special_tokens_mask=True)["special_tokens_mask"]
    assert mask == [1, 0, 0, 0, 0, 0, 1]
    grown = copy.deepcopy(tokenizer)
    assert grown.add_tokens(["Kyoto"]) == 1
    encoded = grown("Il vit au Kyoto", text_target="He lives in Kyoto")
    assert encoded["input_ids"][-2] == len(tokenizer) and encoded["labels"][-2] == tokenizer.target_vocab_size
    assert grown.decode(encoded["labels"], skip_special_tokens=True) == "He lives in Kyoto"


def test_languages_are_saved(tokenizer, tmp_path):
    named = copy.deepcopy(tokenizer)
    assert named.src_lang is named.tgt_lang is None
    GlossaTokenizer(
        tokenizer_object=named.backend_tokenizer, target_tokenizer_object=named.target_tokenizer, src_lang="fr",
        tgt_lang="en",
    ).save_pretrained(tmp_path)  # fmt: skip
    loaded = GlossaTokenizer.from_pretrained(tmp_path)
    assert (loaded.src_lang, loaded.tgt_lang) == ("fr", "en")


def test_an_added_special_token_has_an_id_in_each_vocabulary(tokenizer, tmp_path):
    grown = copy.deepcopy(tokenizer)
    assert len(grown) != grown.target_vocab_size
    grown.add_special_tokens({"extra_special_tokens": ["<de>"]})
    grown.save_pretrained(tmp_path)
    loaded = GlossaTokenizer.from_pretrained(tmp_path)
    assert loaded("Il vit", text_target="He lives") == tokenizer("Il vit", text_target="He lives")
    assert loaded.convert_tokens_to_ids("<de>") == len(tokenizer)
    assert loaded.target_tokenizer.token_to_id("<de>") == tokenizer.target_vocab_size


def test_collating_and_copies(tokenizer):
    rows = [tokenizer(s, text_target=t) for s, t in zip(SOURCES, TARGETS, strict=True)]
    batch = DataCollatorForSeq2Seq(tokenizer)([dict(row) for row in rows])
    assert (batch["labels"] == -100).any() and (batch["input_ids"] == 0).any()
    for same in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert same(SOURCES, text_target=TARGETS) == tokenizer(SOURCES, text_target=TARGETS)
        assert same.decode(rows[0]["labels"]) == tokenizer.decode(rows[0]["labels"])


class Meanwhile:
    """A target vocabulary that calls `act` in the middle of each call, as another thread may."""

    def __init__(self, vocabulary, act):
        self.vocabulary, self.act = vocabulary, act

    def __getattr__(self, name):
        if name in ("decode", "encode_batch"):
            self.act()
        return getattr(self.vocabulary, name)


def test_a_source_encoded_during_a_call_on_the_target_has_source_ids(tokenizer):
    shared, seen = copy.deepcopy(tokenizer), []
    wanted, labels = tokenizer(SOURCES[0])["input_ids"], tokenizer(text_target=TARGETS[0])["input_ids"]
    vocabulary = shared.target_tokenizer
    shared.target_tokenizer = Meanwhile(vocabulary, lambda: seen.append(shared(SOURCES[0])["input_ids"]))
    assert shared.decode(labels, skip_special_tokens=True) == TARGETS[0]
    assert shared(SOURCES[0], text_target=TARGETS[0])["labels"] == labels
    shared.target_tokenizer = Meanwhile(vocabulary, lambda: seen.append(shared.convert_ids_to_tokens(wanted)[1:-1]))
    assert shared.decode(labels, skip_special_tokens=True) == TARGETS[0]
    assert seen == [wanted, wanted, ["Il", "vit", "au", "Japon", "."]]


def test_an_error_in_a_target_leaves_the_source_as_it_was(tokenizer):
    wanted = tokenizer.convert_tokens_to_ids("Japon")
    with pytest.raises(ValueError, match="text input must be of type"):
        tokenizer(text_target=5)
    assert tokenizer.convert_tokens_to_ids("Japon") == wanted


def test_eight_threads_share_a_tokenizer(tokenizer):
    ids, labels = tokenizer(SOURCES[0])["input_ids"], tokenizer(text_target=TARGETS[0])["input_ids"]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def use(_):
        return (
            tokenizer.decode(labels, skip_special_tokens=True) == TARGETS[0]
            and tokenizer(SOURCES[0])["input_ids"] == ids
            and tokenizer(text_target=TARGETS[0])["input_ids"] == labels
        )

    try:
        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(use, range(4000)))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("tidy", [None, False, True])
def test_decoding_honors_the_settings_of_fast_tokenizers(tokenizer, skip, tidy):
    plain = PreTrainedTokenizerFast(tokenizer_object=tokenizer.target_tokenizer)
    ids = tokenizer(text_target="She lives in Rome , does n't she ?")["input_ids"]
    settings = {"skip_special_tokens": skip, "clean_up_tokenization_spaces": tidy}
    assert tokenizer.decode(ids, **settings) == plain.decode(ids, **settings)
    assert tokenizer.batch_decode([ids], **settings) == plain.batch_decode([ids], **settings)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "word"])
def test_a_saved_tokenizer_loads_unchanged(kind, tmp_path):
    sizes = {"bpe": (268, 266), "unigram": (40, 40), "wordpiece": (50, 48), "word": (30, 30)}[kind]
    options = TokenizerArguments(
        vocab_size=sizes[0], target_vocab_size=sizes[1], tokenizer_model=kind, normalization=["nfkc", "lowercase"]
    )
    tokenizer = train_tokenizer_pair(SOURCES * 4, TARGETS * 4, options)
    tokenizer.save_pretrained(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "tokenizer.json", "target_tokenizer.json", "tokenizer_config.json", "tokenization_glossa.py",
    }  # fmt: skip
    loaded = GlossaTokenizer.from_pretrained(tmp_path)
    texts = (["IL VIT À Rome ?"], ["She LIVES in the cat"])
    assert loaded(texts[0], text_target=texts[1]) == tokenizer(texts[0], text_target=texts[1])
    assert loaded.decode(loaded(text_target=texts[1][0])["input_ids"], skip_special_tokens=True) == texts[1][0].lower()
    assert loaded.get_vocab() == tokenizer.get_vocab()
    again = tmp_path / "again"
    loaded.save_pretrained(again)
    assert (
        json.loads((again / "target_tokenizer.json").read_text())["model"]
        == json.loads((tmp_path / "target_tokenizer.json").read_text())["model"]
    )


LOAD = """
import json, sys
sys.modules.update(dict.fromkeys(["glossa", "datasets", "sacrebleu", "accelerate"]))
from transformers import AutoTokenizer, pipeline
folder, source, target = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
translate = pipeline("translation", model=folder, trust_remote_code=True, device="cpu")
encoded = tokenizer(source, text_target=target)
print(json.dumps({
    "class": type(tokenizer).__name__,
    "pipeline": type(translate.tokenizer).__name__,
    "module": type(tokenizer).__module__.split(".")[0],
    "source": encoded["input_ids"],
    "target": encoded["labels"],
    "text": tokenizer.decode(encoded["labels"], skip_special_tokens=True),
    "translation": translate(source, max_new_tokens=8)[0]["translation_text"],
}))
"""


def test_auto_classes_load_it_where_glossa_is_not_installed(tokenizer, early, tmp_path):
    torch.manual_seed(0)
    config = GlossaConfig(
        vocab_size=len(tokenizer), decoder_vocab_size=tokenizer.target_vocab_size, d_model=16, encoder_layers=1,
        decoder_layers=1, share_encoder_decoder_embeddings=False,
    )  # fmt: skip
    model = GlossaForConditionalGeneration(config).eval()
    folder = tmp_path / "model"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    assert type(AutoTokenizer.from_pretrained(folder)) is GlossaTokenizer, "with Glossa installed, its own class"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    environment |= {"HF_HOME": str(tmp_path / "home"), "HF_MODULES_CACHE": str(tmp_path / "modules")}
    process = subprocess.run(
        [early.path / "python", "-I", "-c", LOAD, str(folder), SOURCES[0], TARGETS[0]],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    there = json.loads(process.stdout.splitlines()[-1])
    encoded = tokenizer(SOURCES[0], text_target=TARGETS[0])
    assert there["class"] == there["pipeline"] == "GlossaTokenizer" and there["module"] == "transformers_modules"
    assert (there["source"], there["target"]) == (encoded["input_ids"], encoded["labels"])
    assert there["text"] == TARGETS[0]
    generated = model.generate(**tokenizer([SOURCES[0]], return_tensors="pt"), max_new_tokens=8)
    assert there["translation"] == tokenizer.batch_decode(generated, skip_special_tokens=True)[0]


@pytest.fixture(scope="module", params=["shared", "pair"])
def several(request):
    """A tokenizer of two target languages; a text has its token, two words and, in "pair", marks at both ends."""
    if request.param == "pair":
        return train_tokenizer_pair(
            SOURCES, TARGETS, WORDS, max_length=40, added=AddedTokens(languages=["de", "pt_BR"])
        )
    words = TokenizerArguments(tokenizer_model="word", min_frequency=1)
    return train_tokenizer(SOURCES + TARGETS, 80, 40, words, added=AddedTokens(languages=["de", "pt_BR"]))


def test_a_source_begins_with_the_token_of_the_target_language(several):
    assert several.target_languages == ["de", "pt_BR"]
    assert several.convert_tokens_to_ids(["<2de>", "<2pt_BR>"]) == [4, 5], "after the four of every tokenizer"
    il, vit = several.convert_tokens_to_ids(["Il", "vit"])
    start = [2] if several.convert_tokens_to_ids("He") == 3 else []  # unknown as a source: two vocabularies, start_end
    for language, tag in (("de", 4), ("pt_BR", 5)):
        there = several.into(language)
        encoded = there("Il vit", text_target="He")
        assert encoded["input_ids"] == there.encode("Il vit") == [tag, *start, il, vit, 1]
        assert encoded["labels"] == [several.target_tokenizer.token_to_id("He"), 1], "targets have none"
        padded = there(["Il vit"], padding="max_length", max_length=8)["input_ids"]
        assert padded == [([tag, *start, il, vit, 1] + 8 * [0])[:8]]
        short = there("Il vit au Japon", truncation=True, max_length=4)["input_ids"]
        assert short == [*[tag, *start, il, vit][:3], 1], "tag and end stay"
        assert there("Il", return_special_tokens_mask=True)["special_tokens_mask"] == [
            1, *([1] if start else []), 0, 1,
        ]  # fmt: skip
    assert several.tgt_lang is None, "`into` changes nothing"


def test_a_tag_in_the_text_is_text(several):
    ids = several.into("de")("<2pt_BR> Il <2de>")["input_ids"]
    assert ids[0] == 4 and ids.count(4) == 1 and 5 not in ids


def test_only_a_language_of_several_is_taken(several, tokenizer):
    with pytest.raises(ValueError, match="tgt_lang is None; it must be one of de, pt_BR"):
        several("Il vit")
    for choose in (several.into, lambda language: setattr(several, "tgt_lang", language)):
        with pytest.raises(ValueError, match="tgt_lang is 'fr'; it must be one of de, pt_BR"):
            choose("fr")
    assert tokenizer.target_languages == [] and tokenizer.into("fr")("Il") == tokenizer("Il")


def test_several_languages_are_saved_and_copied(several, tmp_path):
    chosen = copy.deepcopy(several)
    chosen.tgt_lang = "pt_BR"
    expected = chosen(SOURCES)["input_ids"]
    chosen.save_pretrained(tmp_path)
    loaded = GlossaTokenizer.from_pretrained(tmp_path)
    assert loaded.target_languages == ["de", "pt_BR"] and loaded.tgt_lang is None
    for same in (loaded, pickle.loads(pickle.dumps(chosen))):
        assert same.into("pt_BR")(SOURCES)["input_ids"] == expected != same.into("de")(SOURCES)["input_ids"]
    loaded.add_tokens(["Kyoto"])
    assert loaded.into("de")("Kyoto")["input_ids"][-2] == len(several)
    loaded.tgt_lang = "de"
    loaded("Il vit")
    loaded.add_tokens(["Osaka"])
    assert loaded("Osaka")["input_ids"][-2] == len(several) + 1
