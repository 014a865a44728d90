import pytest
from refusals import refused
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import (
    SPECIAL_TOKENS,
    AddedTokens,
    has_marks,
    train_tokenizer,
    train_tokenizer_pair,
)

TEXTS = [
    "The cat sleeps on the mat.", "Le chat dort sur le tapis.", "Où est-ce qu’il l'a posé ?",
    "Where did he put the other cat?",
] * 3  # fmt: skip
HARD = [
    "Où est l’été ? Çà et là, Noël, œuf.", "It's “l'eau” – n'est-ce pas…",
    "Vraiment\u00a0? 12\u202f345,67\u00a0€\u202f!", "👩‍👩‍👧 fini 🎉", "東京は大きいです。",
    "e\u0301 is not é", "هذا نص عربي", "</s>", "<pad>", "<s> and <unk> and </s> inside <pad>", "a  b   c",
    "ends with one ", "tab\tand\nnewline", "\ufeffmark", "a , b . c ! d 's", "", "\x00\x7f",
]  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TEXTS, vocab_size=290, max_length=40)


def test_special_ids_are_the_defaults_of_the_configuration(tokenizer):
    roles = (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.unk_token_id)
    assert roles == (0, 1, 2, 3)
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3]) == ["<pad>", "</s>", "<s>", "<unk>"]
    assert len(tokenizer) == 290 and tokenizer.model_max_length == 40


@pytest.mark.parametrize("text", HARD)
def test_any_text_is_decoded_exactly(tokenizer, text):
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert tokenizer.decode(ids[:-1]) == text
    assert ids[-1] == 1 and all(token > 3 for token in ids[:-1]), "only the end is a special id"


@pytest.mark.parametrize("languages", [(), ("en", "de")])
@pytest.mark.parametrize("split_punctuation", [True, False])
@pytest.mark.parametrize("model", ["unigram", "wordpiece", "word", "character"])
def test_what_looks_like_a_special_token_is_text_for_every_model(model, split_punctuation, languages):
    """The case `unigram-special-tokens`."""
    options = TokenizerArguments(tokenizer_model=model, split_punctuation=split_punctuation, min_frequency=1)
    text = "A man </s> sleeps here <pad> and <s> there <unk> or <2de> ."
    tokenizer = train_tokenizer(
        [text, "< / s > p a d u n k 2 e"] * 5, 90, 40, options, added=AddedTokens(languages=languages), exact=False
    )
    if languages:
        tokenizer = tokenizer.into("de")
    ids = tokenizer(text)["input_ids"]
    inside = ids[bool(languages) : -1]
    special = {tokenizer.convert_tokens_to_ids(token) for token in (*SPECIAL_TOKENS, *["<2de>"] * bool(languages))}
    assert not special - {tokenizer.unk_token_id} & set(inside) and len(inside) > 10
    if model in ("unigram", "character"):
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_every_character_of_two_bytes_is_decoded(tokenizer):
    text = "".join(chr(code) for code in range(0x800))
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_the_first_word_has_the_same_tokens_as_within_a_sentence(tokenizer):
    word = tokenizer("cat", add_special_tokens=False)["input_ids"]
    assert tokenizer("The cat", add_special_tokens=False)["input_ids"][-len(word) :] == word


def test_one_leading_space_is_the_only_thing_lost(tokenizer):
    """No space is added before text that starts with one, but decoding still removes one."""
    assert tokenizer(" cat")["input_ids"] == tokenizer("cat")["input_ids"]
    assert tokenizer.decode(tokenizer(" cat")["input_ids"], skip_special_tokens=True) == "cat"
    assert tokenizer.decode(tokenizer("  cat")["input_ids"], skip_special_tokens=True) == " cat"


def test_batches_are_padded_with_a_mask_and_no_segment_ids(tokenizer):
    batch = tokenizer(["cat", "the cat sleeps"], padding=True)
    assert set(batch) == {"input_ids", "attention_mask"}
    first, second = batch["input_ids"]
    assert len(first) == len(second) and first[-1] == 0 and second[-1] == 1
    assert batch["attention_mask"][0] == [int(token != 0) for token in first]


def test_truncation_keeps_the_end(tokenizer):
    ids = tokenizer("cat " * 100, truncation=True)["input_ids"]
    assert len(ids) == 40 and ids[-1] == 1


def test_a_vocabulary_too_large_for_the_text_is_refused_with_the_largest_size():
    with pytest.raises(GlossaError, match=r"vocab_size is 5000, but .* only (\d+) tokens") as refusal:
        train_tokenizer(TEXTS, vocab_size=5000)
    supported = int(str(refusal.value).split("only ")[1].split()[0])
    assert len(train_tokenizer(TEXTS, vocab_size=supported)) == supported
    refused(str(supported), train_tokenizer, TEXTS, vocab_size=supported + 1)


def test_the_smallest_vocabulary_is_256_bytes_and_4_special_tokens(tokenizer):
    refused(r"vocab_size is 259; .* at least 260", train_tokenizer, TEXTS, vocab_size=259)
    smallest = train_tokenizer(TEXTS, vocab_size=260)
    assert len(smallest) == 260
    # One space, one token per byte (two for "é"), and the end.
    assert len(smallest("été")["input_ids"]) == 1 + 5 + 1


def test_texts_may_come_in_batches():
    batches = (TEXTS[start : start + 4] for start in range(0, len(TEXTS), 4))
    assert train_tokenizer(batches, 290).get_vocab() == train_tokenizer(TEXTS, 290).get_vocab()


def test_saved_folder_is_a_plain_fast_tokenizer(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.py"))
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert isinstance(loaded, PreTrainedTokenizerFast)
    assert type(loaded).__module__.startswith("transformers.")
    assert loaded.get_vocab() == tokenizer.get_vocab() and loaded.model_max_length == 40
    for text in HARD:
        ids = loaded(text)["input_ids"]
        assert ids == tokenizer(text)["input_ids"]
        assert loaded.decode(ids, skip_special_tokens=True) == text


THAI = ["ฉันรักแมวสีขาว", "แมวสีขาวรักฉัน", "เขาอยู่ที่ญี่ปุ่น", "ฉันอยู่ที่บ้านกับแมว"] * 3
JAPANESE = ["私は白い猫が好きです。", "白い猫は家にいます。", "彼は日本に住んでいます。", "猫と家にいる。"] * 3


def kind(tokenizer_model, texts, vocab_size=60, **options):
    return train_tokenizer(
        texts, vocab_size, options=TokenizerArguments(tokenizer_model=tokenizer_model, min_frequency=1, **options)
    )


def tokens(tokenizer, text):
    return tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])


def test_whole_words_and_punctuation_marks():
    tokenizer = kind("word", TEXTS)
    assert tokens(tokenizer, "Where is the cat?") == ["Where", "<unk>", "the", "cat", "?", "</s>"]
    unsplit = kind("word", TEXTS, split_punctuation=False)
    assert tokens(unsplit, "the mat. the cat") == ["the", "mat.", "the", "cat", "</s>"]
    # Four of the six ids are special tokens; the others are the most frequent words.
    assert len(kind("word", TEXTS, vocab_size=6)) == 6


def test_rare_words_are_unknown():
    texts = ["a a b", "a b c"]
    options = TokenizerArguments(tokenizer_model="word", min_frequency=2)
    assert set(train_tokenizer(texts, 50, options=options).get_vocab()) == {*SPECIAL_TOKENS, "a", "b"}
    with pytest.raises(GlossaError, match=r"no token that occurs 9 times"):
        train_tokenizer(texts, 50, options=TokenizerArguments(tokenizer_model="word", min_frequency=9))


@pytest.mark.parametrize("name", ["word", "wordpiece"])
@pytest.mark.parametrize(
    "text", ["He said: yes (twice), didn't he?", "Qu'est-ce que c'est, l'été…", "A well-known word; 20% of it!"]
)
def test_punctuation_is_decoded_without_extra_spaces(name, text):
    tokenizer = kind(name, [text] * 3, vocab_size=60 if name == "word" else 1)  # with 1, single characters
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


@pytest.mark.parametrize("text", [text for text in HARD if text])
def test_characters_are_decoded_exactly(text):
    tokenizer = kind("character", [text, "é 🎉"], vocab_size=300)
    assert set(tokenizer.get_vocab()) == {*SPECIAL_TOKENS, *text, *"é 🎉"}
    found = tokenizer(text)["input_ids"]
    assert tokens(tokenizer, text) == [*text, "</s>"]
    assert tokenizer.decode(found, skip_special_tokens=True) == text


def test_rare_characters_are_unknown_and_the_vocabulary_has_its_limit():
    options = TokenizerArguments(tokenizer_model="character", min_frequency=3)
    assert set(train_tokenizer(["aaa bb  "], 50, options=options).get_vocab()) == {*SPECIAL_TOKENS, "a", " "}
    assert set(kind("character", ["aaabbc"], vocab_size=6).get_vocab()) == {*SPECIAL_TOKENS, "a", "b"}
    assert tokens(kind("character", ["ab"]), "a?") == ["a", "<unk>", "</s>"]


def test_wordpiece_marks_subwords_that_continue_a_word():
    tokenizer = kind("wordpiece", ["lower lowest low slow"] * 3, vocab_size=16)
    pieces = tokens(tokenizer, "slowest")[:-1]
    assert len(pieces) > 1 and not pieces[0].startswith("##") and all(p.startswith("##") for p in pieces[1:])
    assert tokenizer.decode(tokenizer("slowest low")["input_ids"], skip_special_tokens=True) == "slowest low"


@pytest.mark.parametrize("texts", [THAI, JAPANESE], ids=["thai", "japanese"])
@pytest.mark.parametrize("name", ["bpe", "unigram", "wordpiece"])
def test_a_language_without_spaces_is_decoded_exactly(name, texts):
    """Subwords are shorter than the sentence, and decoding adds no spaces."""
    sizes = {"bpe": 300, "unigram": 60, "wordpiece": 65}
    tokenizer = kind(name, texts, sizes[name], split_punctuation=False)
    joined = texts[0] + texts[2]
    ids = tokenizer(joined)["input_ids"]
    assert len(ids) > 3 and tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == joined
    long = "".join(texts) * 6
    assert tokenizer.unk_token_id not in tokenizer(long)["input_ids"], "long text without spaces has no unknown tokens"


@pytest.mark.parametrize(
    ("steps", "text", "normal"),
    [
        (["nfkc"], "ﬁn ½ Ｔｏｍ", "fin 1⁄2 Tom"), (["lowercase"], "ÉTÉ Tom", "été tom"),
        (["hyphens_to_spaces"], "est-ce porte‑clés – dit", "est ce porte clés – dit"),
        (["strip_punctuation"], "« J’ai » dit-il, l'eau ! 5 €", " J'ai  ditil l'eau  5 "),
        (["lowercase", "hyphens_to_spaces", "strip_punctuation"], "Vas-y !", "vas y "),
    ],
)  # fmt: skip
def test_normalization_is_saved(steps, text, normal, tmp_path):
    kind("word", TEXTS, normalization=steps).save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path).backend_tokenizer.normalizer.normalize_str(text) == normal


def test_special_tokens_of_a_source():
    for setting, expected in (
        ("none", ["the", "cat"]),
        ("end", ["the", "cat", "</s>"]),
        ("start_end", ["<s>", "the", "cat", "</s>"]),
    ):
        assert tokens(kind("word", TEXTS, source_special_tokens=setting), "the cat") == expected


def test_extra_special_tokens_follow_the_default_ones():
    tokenizer = train_tokenizer(TEXTS, 290, added=AddedTokens(["<mask>", "<extra_id_0>"]))
    assert tokenizer.convert_tokens_to_ids(["<unk>", "<mask>", "<extra_id_0>"]) == [3, 4, 5]
    assert len(tokenizer) == 290 and {4, 5} < set(tokenizer.all_special_ids)
    assert 4 not in tokenizer("<mask>")["input_ids"], "in the user's text, it is text"


def test_invalid_settings_are_refused():
    refused(r"normalization has 'lower'; its steps are nfkc, lowercase", TokenizerArguments, normalization=["lower"])
    refused(r"target_vocab_size is 0", TokenizerArguments, target_vocab_size=0)
    with pytest.raises(GlossaError, match=r"target_vocab_size is 9999, but .* only \d+ tokens"):
        train_tokenizer_pair(TEXTS, TEXTS, TokenizerArguments(vocab_size=290, target_vocab_size=9999))


HINDI = ["वह हिन्दी गाता है।", "ये लक्षण कितने समय से हैं?", "वायरस से संक्रमण का पता लगाया जा सकता है।"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (HINDI, True), (["Où est l'élève ?"], False), (["ทำไมเขาไม่ไปที่นั่น"], True), (["東京へ行く。", "がぎ"], False),
        ([], False),
    ],
)  # fmt: skip
def test_scripts_with_marks(texts, expected):
    assert has_marks(texts) is expected


def test_words_with_marks_become_whole_pieces():
    split, whole = (train_tokenizer(HINDI * 5, 500, exact=False, marks=marks) for marks in (False, True))
    assert len(whole.tokenize("हिन्दी गाता है।")) == 3 < len(split.tokenize("हिन्दी गाता है।"))
    for text in (*HINDI, 'He sings: "है", no. A\u00a0b?'):
        ids = whole(text).input_ids
        assert whole.decode(ids, skip_special_tokens=True) == text and ids[-1] == whole.eos_token_id
    first, inside = whole("है वह", add_special_tokens=False), whole("वह है", add_special_tokens=False)
    assert sorted(first.input_ids) == sorted(inside.input_ids)  # a word has the same pieces everywhere


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Il conduit une voiture et va à New York .", "Il conduit une voiture et va à New York."),
        ("A well - known word ; 20 % of it !", "A well-known word; 20% of it!"),
        ("Resumption of the session", "Resumption of the session"),
        ("Wo ist der Bahnhof ?", "Wo ist der Bahnhof?"), ("J ' aime la guitare .", "J'aime la guitare."),
        ("I don ' t know .", "I don't know."), ("der Millennium - Bug", "der Millennium-Bug"),
        ("Das kostet z . B . 3 , 50 Euro .", "Das kostet z.B. 3,50 Euro."),
    ],
)  # fmt: skip
def test_words_of_a_sentence(words, text):
    """Most are those of spaCy, but apostrophes are words, and hyphens, numbers and abbreviations are always split."""
    options = TokenizerArguments(tokenizer_model="word", min_frequency=1, source_special_tokens="none")
    tokenizer = train_tokenizer([text], 100, options=options)
    ids = tokenizer(text)["input_ids"]
    assert " ".join(tokenizer.convert_ids_to_tokens(ids)) == words
    assert tokenizer.decode(ids) == text or "z.B." in text, "spaces are put back"
