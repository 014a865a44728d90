"""Small files that would fill memory or disk, or take long: each is bounded."""

import time
import tracemalloc
import zipfile

import numpy
import pyarrow
import pyarrow.parquet
import pytest
from reading import BY_LANGUAGE, read, refused

from glossa.base.errors import GlossaError
from glossa.readers import parquet
from glossa.readers.files import MAX_LINE, aligned_members
from glossa.train.data.arguments import DataArguments
from glossa.train.data.encoding import encoding
from glossa.train.data.encoding.encoding import parts, tokenize_pairs
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.train.data.pairs import prepare_pairs
from glossa.train.data.streaming.streams import Stream, block_rows


def same_cells(path, text, rows, nested=False):
    """A file of a few hundred bytes with the same source in every row."""
    number = pyarrow.array(numpy.zeros(rows), pyarrow.int32())
    sides = {
        "en": pyarrow.DictionaryArray.from_arrays(number, pyarrow.array([text])),
        "fr": pyarrow.DictionaryArray.from_arrays(number, pyarrow.array(["Va"])),
    }
    columns = {"translation": pyarrow.StructArray.from_arrays(list(sides.values()), list(sides))} if nested else sides
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 5000
    return path


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("length", [MAX_LINE, 8 * MAX_LINE])
def test_a_cell_of_parquet_has_the_limit_of_a_line(tmp_path, nested, length):
    path = same_cells(tmp_path / "a.parquet", "x" * length, 2000, nested)
    tracemalloc.start()
    try:
        rows = read(path)
        assert tracemalloc.get_traced_memory()[1] < 30 * MAX_LINE
    finally:
        tracemalloc.stop()
    key = "value of 'en' has over 1048576 bytes"
    assert rows == [("x" * 80, "", number, key) for number in range(1, 2001)]


def test_bytes_count_not_characters(tmp_path):
    for text, problem in (
        ("é" * (MAX_LINE // 2), True),
        ("é" * (MAX_LINE // 2 - 1), False),
        ("x" * (MAX_LINE - 1), False),
    ):
        assert bool(read(same_cells(tmp_path / "a.parquet", text, 1))[0][3]) == problem


def test_parquet_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    path = same_cells(tmp_path / "a.parquet", "x" * (MAX_LINE - 1), 2000)
    refused(path, r"a.parquet cannot be read: its text decompresses to over 64 MiB, over 1,000 times its size")
    settings = DataArguments(data_path=[str(path)], streaming=True, validation_size=0, test_size=0)
    stream = Stream(settings)
    with pytest.raises(GlossaError, match="decompresses to over 64 MiB"):
        list(block_rows(stream.blocks[0][0], settings))


def test_the_size_that_a_file_declares_is_checked_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "LARGEST", 1000)
    table = pyarrow.table({"en": ["x" * 100_000, "a"], "fr": ["b", "c"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    monkeypatch.setattr(parquet, "RATIO", 10)
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(GlossaError, match="decompresses to over 0 MiB"):
        read(tmp_path / "a.parquet", BY_LANGUAGE)


def test_ordinary_repetition_is_no_fault(tmp_path, monkeypatch):
    """The same short target ten thousand times, as in dialogues."""
    monkeypatch.setattr(parquet, "LARGEST", 1000)
    table = pyarrow.table({"en": [f"sentence number {n}" for n in range(10_000)], "fr": ["Oui."] * 10_000})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert len(read(tmp_path / "a.parquet")) == 10_000


# Text that is too long to be a sentence


def test_the_tokenizer_gets_a_bounded_text_at_once(monkeypatch):
    monkeypatch.setattr(encoding, "AT_ONCE", 10)
    sources, targets = ["aaa", "bbb", "c" * 30, "d", "e"], ["aaa", "b", "c", "d", "e"]
    assert list(parts(sources, targets)) == [slice(0, 2), slice(2, 3), slice(3, 5)]
    assert list(parts([])) == [] and list(parts(["x"])) == [slice(0, 1)]


def test_tokens_do_not_depend_on_the_parts(tmp_path, monkeypatch):
    (tmp_path / "a.tsv").write_text("".join(f"one two {n}\tun deux {n}\n" for n in range(50)))
    arguments = DataArguments(data_path=[str(tmp_path / "a.tsv")], validation_size=0, test_size=0)
    pairs, report = prepare_pairs(arguments)
    tokenizer = train_tokenizer([pairs["train"]["source"][:]], 265)
    columns = []
    for size in (1 << 20, 40):
        monkeypatch.setattr(encoding, "AT_ONCE", size)
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / f"cache{size}")
        fresh, report = prepare_pairs(arguments)
        columns.append(tokenize_pairs(fresh, tokenizer, DataArguments(), report)["train"][:])
    assert columns[0] == columns[1]


def test_texts_with_more_characters_than_any_token_has_are_not_tokenized(tmp_path):
    rows = [("a " * 6400 + "end", "b"), ("a" * 12_800, "c"), ("Go", "Va")]
    (tmp_path / "a.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows))
    settings = {"data_path": [str(tmp_path / "a.tsv")], "validation_size": 0, "test_size": 0}
    kept, report = prepare_pairs(DataArguments(**settings))
    assert kept["train"]["target"][:] == ["c", "Va"] and report.splits["train"]["characters"] == 1
    kept, report = prepare_pairs(DataArguments(**settings, max_length=129))
    assert len(kept["train"]) == 3 and "characters" not in report.splits["train"], "none was dropped"


# Names in archives


def test_long_names_in_an_archive_take_no_time(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for mark in ("-", "a", "a-", "./", "a."):
            archive.writestr((mark * 60_000)[:60_000] + "!", "x")
        archive.writestr("X.en-fr.en", "x")
        archive.writestr("X.en-fr.fr", "y")
    started = time.process_time()
    assert aligned_members(tmp_path / "a.zip") == {"en": "X.en-fr.en", "fr": "X.en-fr.fr"}
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["moses/en-fr.txt/Books.en-fr.en", "moses/en-fr.txt/Books.en-fr.fr"], {"en", "fr"}),
        (["a-b.v1.pt_BR-zh_CN.pt_BR", "a-b.v1.pt_BR-zh_CN.zh_CN"], {"pt_BR", "zh_CN"}),
        (["en-fr.en", "en-fr.fr"], {"en", "fr"}), (["corpus-en-fr.en", "corpus-en-fr.fr"], {"en", "fr"}),
        (["X.en-fr.en", "X.en-fr.de"], set()), (["X.en-fr.en", "Y.en-fr.fr"], set()), (["X.-fr.fr", "X.-fr."], set()),
        (["en.en", "fr.fr"], set()),
    ],
)  # fmt: skip
def test_names_of_aligned_members(tmp_path, names, found):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    assert set(aligned_members(tmp_path / "a.zip")) == found
