"""Lines of plain and packed files: nothing uncaught, and memory that does not follow the file."""

import bz2
import gzip
import lzma
import tracemalloc
import zipfile

import pyarrow
import pytest
from reading import written
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.base.paths import ending, is_table
from glossa.readers.files import MAX_LINE, lines


def zst(content):
    """Two frames, as from `zstd -c a b`."""
    return b"".join(pyarrow.compress(part, "zstd", asbytes=True) for part in (content[:3], content[3:]))


def test_endings_of_any_case_and_packing():
    assert [ending(name) for name in ("A.TSV.gz", "a.b/c.CSV.XZ", "a.gz", "a", "x.en")] == [
        ".tsv", ".csv", "", "", ".en",
    ]  # fmt: skip
    assert is_table("A.Tab") and is_table("a.parquet") and not is_table("train.en.gz")


@pytest.mark.parametrize(
    ("name", "pack"), [("a.tsv.xz", lzma.compress), ("A.TXT.GZ", gzip.compress), ("a.txt.zst", zst)]
)
def test_packed_lines(tmp_path, name, pack):
    assert list(lines(written(tmp_path / name, pack("\ufeffé\r\nb".encode())))) == [("é", ""), ("b", "")]


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_zip_of_any_ending_and_compression(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "A.ZIP", "w", method) as archive:
        archive.writestr("FRA.TXT", "Go\tVa\n")
    assert list(lines(tmp_path / "A.ZIP")) == [("Go\tVa", "")]


def zipped(name, content=b"Go\tVa\n", method=zipfile.ZIP_DEFLATED):
    def make(path):
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr(name, content)

    return make


def patched(make, old, new):
    """The archive of `make` with bytes exchanged, in its local and central headers."""

    def patch(path):
        make(path)
        path.write_bytes(path.read_bytes().replace(old, new))

    return patch


PLAIN = b"\x14\x00\x00\x00\x08\x00"  # version, flags and method in the headers of an archive


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (patched(zipped("a.txt"), PLAIN, b"\x14\x00\x00\x00\x63\x00"), "compression method is not supported"),
        (patched(zipped("a.txt"), PLAIN, b"\x14\x00\x01\x00\x08\x00"), "protected by a password"),
        (zipped("x\ny.md"), r"contains 0 text files among \['x\\ny.md'\]"),
        (zipped("_about.txt"), r"contains 0 text files among \['_about.txt'\]; exactly one"),
    ],
    ids=["method", "password", "no text", "about alone"],
)
def test_a_zip_that_cannot_be_read(tmp_path, make, message):
    make(tmp_path / "a.zip")
    with pytest.raises(GlossaError, match=message) as error:
        list(lines(tmp_path / "a.zip"))
    assert "\n" not in str(error.value)


def test_damaged_packing(tmp_path):
    with pytest.raises(GlossaError, match=r"a.tsv.zst cannot be read: Truncated compressed stream"):
        list(lines(written(tmp_path / "a.tsv.zst", zst(b"Go\tVa\n" * 1000)[:-5])))
    refused("cannot be read", list, lines(written(tmp_path / "a.tsv.xz", bz2.compress(b"x"))))
    patched(zipped("a.txt", b"Go" * 99, zipfile.ZIP_LZMA), b"\x5d\x00", b"\xff\xff")(tmp_path / "a.zip")
    refused("cannot be read", list, lines(tmp_path / "a.zip"))


def test_lines_that_end_with_cr_alone_are_refused_with_the_command_that_converts_them(tmp_path):
    path = written(tmp_path / "a.tsv", b"Go.\tVa !\rRun\tCours\r")
    refused(r"line 1: lines end with CR alone.*tr '\\r' '\\n' < a.tsv > lf-a.tsv", list, lines(path))
    assert list(lines(written(path, b"one line\r"))) == [("one line", "")]
    assert list(lines(written(path, b"a\rb\n"))) == [("a\rb", "")], "a CR within a line is white space"


def test_utf16_is_refused_and_a_nul_costs_its_line(tmp_path):
    path = written(tmp_path / "a.tsv", "Go.\tVa !\n".encode("utf-16-le"))
    refused("looks like UTF-16", list, lines(path))
    written(path, b"a\0b\nc\n")
    assert list(lines(path)) == [("a\0b", "a NUL character"), ("c", "")]


def test_a_line_that_is_too_long_costs_itself(tmp_path):
    just, over = b"x" * (MAX_LINE - 4) + b"\n", b"y" * MAX_LINE + b"\n"
    read = list(lines(written(tmp_path / "a.txt", just + over + over * 3 + b"last")))
    assert [(len(text), problem) for text, problem in read] == [
        (MAX_LINE - 4, ""), *[(80, "over 1048576 bytes in one line")] * 4, (4, ""),
    ]  # fmt: skip


def test_a_bomb_needs_little_memory(tmp_path):
    path = written(tmp_path / "a.txt.xz", lzma.compress(b"x" * 30 * MAX_LINE, preset=0))
    tracemalloc.start()
    try:
        assert [problem for _, problem in lines(path)] == ["over 1048576 bytes in one line"]
        assert tracemalloc.get_traced_memory()[1] < 10 * MAX_LINE
    finally:
        tracemalloc.stop()
