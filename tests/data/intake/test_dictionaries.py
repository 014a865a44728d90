"""Dictionaries: what their lines mean, and errors with file, line and field."""

import gzip

import pytest

from glossa.data.augmentation.dictionary import Entry
from glossa.data.intake.dictionaries import read_dictionary
from glossa.errors import GlossaError


def test_a_line_has_source_target_and_perhaps_a_kind(tmp_path):
    file = tmp_path / "dictionary.tsv.gz"
    file.write_bytes(
        gzip.compress("\ufeffsea  dog\t loup de mer\ncat\tchat\tn\r\n\ncat\tchat\tn\ncat\tchat\t\n".encode())
    )
    assert read_dictionary(str(file)) == [
        Entry("sea dog", "loup de mer"), Entry("cat", "chat", "n"), Entry("cat", "chat")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"cat", "1 field, not two or three: 'cat'"),
        (b"cat\tchat\tn\tm", r"4 fields, not two or three: 'cat\\tchat\\tn\\tm'"),
        (b"\tchat", r"the source is empty: '\\tchat'"),
        (b"cat\t ", r"the target is empty: 'cat\\t '"),
        (b"cat\tch\0at", r"a NUL character"),
        (b"caf\xe9\tcaf\xe9", r"wrong encoding: not UTF-8: byte 0xe9 at column 4"),
    ],
)
def test_a_broken_line_is_an_error(tmp_path, line, problem):
    file = tmp_path / "dictionary.tsv"
    file.write_bytes(b"dog\tchien\n" + line + b"\n")
    with pytest.raises(GlossaError, match=f"{file}, line 2: {problem}"):
        read_dictionary(str(file))


def test_an_empty_file_and_a_missing_one_are_errors(tmp_path):
    (tmp_path / "empty.tsv").write_text("\n")
    with pytest.raises(GlossaError, match=r"empty.tsv has no entries. Give a line for each: source, tab, target"):
        read_dictionary(str(tmp_path / "empty.tsv"))
    with pytest.raises(GlossaError, match=r"none.tsv cannot be read: .*No such file"):
        read_dictionary(str(tmp_path / "none.tsv"))
