"""The words of `tokenizer_model: word`, on sentences like those of tutorials.

Most are those of spaCy, but apostrophes are words, and hyphens, numbers and abbreviations are always split.
"""

import pytest

from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer


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
    options = TokenizerArguments(tokenizer_model="word", min_frequency=1, source_special_tokens="none")
    tokenizer = train_tokenizer([text], 100, options=options)
    ids = tokenizer(text)["input_ids"]
    assert " ".join(tokenizer.convert_ids_to_tokens(ids)) == words
    assert tokenizer.decode(ids) == text or "z.B." in text, "spaces are put back"
