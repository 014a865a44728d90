"""Texts of one language that are written in two ways."""

import pytest

from glossa.train.data.cleaning.plausibility import warn_of_mixed_writing

SIMPLIFIED, TRADITIONAL, EITHER = "汤姆学习汉语。", "湯姆學習漢語。", "你好。"


@pytest.mark.parametrize(
    ("language", "texts", "expected"),
    [
        ("zh", [SIMPLIFIED] * 10 + [TRADITIONAL] * 5 + [EITHER] * 5,
         ["of 20 target texts looked at, 10 have simplified characters and 5 have traditional characters"]),
        ("zh_CN", [SIMPLIFIED] * 96 + [TRADITIONAL] * 4, []),
        ("zh", [EITHER] * 10, []),
        ("zh", [], []),
        ("ja", ["１３歳です。"] * 9 + ["13歳です。"] * 3 + ["はい。"],
         ["of 13 target texts looked at, 9 have letters or digits of full width and 3 have letters or digits of"]),
        ("ja", ["Tomです。"] * 10, []),
        ("fr", [SIMPLIFIED, TRADITIONAL, "１", "1"], []),
    ],
)  # fmt: skip
def test_mixed_writing(language, texts, expected, caplog):
    warn_of_mixed_writing("target", language, texts)
    assert len(caplog.records) == len(expected)
    for record, text in zip(caplog.records, expected, strict=True):
        assert f"{language}: {text}" in record.getMessage()
