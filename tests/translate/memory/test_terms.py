"""Which values of texts count as equal, and what short and long texts are found by."""

import pytest

from glossa.translate.memory import terms
from glossa.translate.memory.terms import NUMBER, TAG, find_values, key_of, terms_of


def marks(text):
    return [(text[slice(*place)], mark) for mark, place in find_values(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Page 12 of 1,200.", ["12", "1,200"]),
        ("MP3 and H2O", []),  # parts of words
        ("It is 5 km, or 5km.", ["5", "5"]),  # the unit is text
        ("第5章", ["5"]),
        ("Open {file} or %s.", ["{file}", "%s"]),
        ("See https://a.org/b?c=1.", ["https://a.org/b?c=1"]),
        ("Run /bin/ls --all v1.2.3 🙂", ["/bin/ls", "--all", "v1.2.3", "🙂"]),
        ("A <b>bold</b> word", ["<b>", "</b>"]),
        ("No values here, at all.", []),
        (
            "Set max_length of utf-8 and `x += 1` for DE89 3704 0044 0532 0130 00.",
            ["8", "1", "3704", "0044", "0532", "0130", "00"],
        ),
    ],
)
def test_values(text, values):
    assert [value for value, _ in marks(text)] == values
    key = key_of(text)
    assert len(key) == len(text) - sum(map(len, values)) + len(values)


def test_kinds_differ():
    assert key_of("Page 1.5") == key_of("Page 20,000") == f"Page {NUMBER}"
    assert key_of("a <b>c") == key_of("a <i>c") == f"a {TAG}c"
    assert len({key_of(f"a {value}") for value in ("1", "{b}", "<b>", "http://b.c", "/b/c", "--bc", "🙂")}) == 7


def test_texts_that_are_not_searched_for_values_have_none(monkeypatch):
    texts = [
        "Plain words, only; with (marks)!", "Ein Satz – mit „Zeichen“…", "é & è", "a_b", "5", "a.b", "x@y.zz", "-v",
    ]  # fmt: skip
    found = [key_of(text) for text in texts]
    monkeypatch.setattr(terms, "_MAYBE", terms.re.compile(""))
    assert found == [key_of(text) for text in texts]


def test_terms_of_short_and_of_long_texts():
    assert {"ab", "cd", "ab cd", "3^ab", "3cd$", "2 c"} <= terms_of("Ab cd")
    long = " ".join(["word"] * 20)
    assert terms_of(long) == {"word", "word word"}
    assert {"保", "保存"} <= {term.replace(" ", "") for term in terms_of("保存する")}
