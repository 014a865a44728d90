"""The end of a label is of the same kind in the translation, and written as its language does."""

import pytest

from glossa.inference.texts.labels import end_of, ended_as


@pytest.mark.parametrize(
    ("source", "target", "language", "expected"),
    [
        ("The house", "La maison.", "fr", "La maison"),
        ("The house.", "La maison", "fr", "La maison."),
        ("Wait...", "Attends.", "fr", "Attends..."),
        ("Wait…", "Attends...", "fr", "Attends..."),
        ("Name:", "Nom", "fr", "Nom\u00a0:"),
        ("Name:", "Nom:", "fr", "Nom\u00a0:"),
        ("Name:", "Nom :", "fr", "Nom\u00a0:"),
        ("Name:", "Name.", "de", "Name:"),
        ("Who?", "Qui.", "fr", "Qui\u202f?"),
        ("Who?", "Quién.", "es", "¿Quién?"),
        ("Who?", "¿Quién?", "es", "¿Quién?"),
        ("Who?", "Ποιος;", "el", "Ποιος;"),
        ("Who?", "谁。", "zh", "谁？"),
        ("Stop!", "住手", "zh", "住手！"),
        ("The book, for example", "Das Buch, z. B.", "de", "Das Buch, z. B."),
        ("lxml 4.8.0", "LXML 4.8.0.", "de", "LXML 4.8.0"),
        ("Open", "", "fr", ""),
    ],
)
def test_ends(source, target, language, expected):
    assert ended_as(source, target, language) == expected


def test_kinds():
    kinds = [end_of(text).kind for text in ("a", "a.", "a...", "a…", "a:", "a ?", "a!?", "a。", "a؟")]
    assert kinds == [
        "", "stop", "ellipsis", "ellipsis", "colon", "question", "exclamation", "stop", "question"
    ]  # fmt: skip
    assert end_of("." * 50_000).kind == "ellipsis"
