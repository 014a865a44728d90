"""The words of `tokenizer_model: word`, compared with spaCy's on sentences like those of tutorials.

spaCy is not needed: its splits are written down, by spaCy 3.8. Where it is installed they are checked.
"""

import pytest

from glossa.data.arguments import TokenizerArguments
from glossa.data.encoding.vocabulary import train_tokenizer

EQUAL = [
    ("fr", "Il vit au Japon .", "Il vit au Japon."),
    ("fr", "Ce stylo est utilisé par lui .", "Ce stylo est utilisé par lui."),
    ("fr", "Il conduit une voiture et va à New York .", "Il conduit une voiture et va à New York."),
    ("en", "He drives a car and goes to New York .", "He drives a car and goes to New York."),
    ("en", "A well - known word ; 20 % of it !", "A well-known word; 20% of it!"),
    ("en", "Resumption of the session", "Resumption of the session"),
    ("de", "Wiederaufnahme der Sitzungsperiode", "Wiederaufnahme der Sitzungsperiode"),
    ("de", "Wo ist der Bahnhof ?", "Wo ist der Bahnhof?"),
]
# spaCy's split, then Glossa's: apostrophes are words, and hyphens, numbers and abbreviations are always split.
DIFFERENT = [
    ("fr", "J' aime la guitare .", "J ' aime la guitare .", "J'aime la guitare."),
    ("fr", "C' est ma chanson préférée .", "C ' est ma chanson préférée .", "C'est ma chanson préférée."),
    ("en", "It 's my favorite song .", "It ' s my favorite song .", "It's my favorite song."),
    ("en", "I do n't know .", "I don ' t know .", "I don't know."),
    ("de", "Geht's dir gut ?", "Geht ' s dir gut ?", "Geht's dir gut?"),
    ("de", "der Millennium-Bug", "der Millennium - Bug", "der Millennium-Bug"),
    ("de", "Das kostet z.B. 3,50 Euro .", "Das kostet z . B . 3 , 50 Euro .", "Das kostet z.B. 3,50 Euro."),
]


def split(text):
    tokenizer = train_tokenizer(
        [text], 100, options=TokenizerArguments(tokenizer_model="word", min_frequency=1, source_special_tokens="none")
    )
    words = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text or "z.B." in text, "spaces are put back"
    return " ".join(words)


@pytest.mark.parametrize(("language", "words", "text"), EQUAL)
def test_sentences_that_both_split_alike(language, words, text):
    assert split(text) == words


@pytest.mark.parametrize(("language", "spacy", "words", "text"), DIFFERENT)
def test_sentences_that_are_split_differently(language, spacy, words, text):
    assert split(text) == words != spacy


def test_the_splits_of_spacy_are_still_these():
    spacy = pytest.importorskip("spacy", reason="spaCy is no dependency; its splits are written down above")
    for language, words, *_, text in EQUAL + DIFFERENT:
        assert [token.text for token in spacy.blank(language)(text)] == words.split(), text
