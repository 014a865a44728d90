"""The file of corrections: every line is a correction or has a number and a reason, and lines are appended whole."""

import json

import pytest

from glossa.base.errors import GlossaError
from glossa.readers.corrections import append_line, read_corrections


def row(correction, **more):
    return {"source": "We find it.", "correction": correction} | more


def line_of(*words, **more):
    return json.dumps(row(*words, **more), ensure_ascii=False).encode()


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(tmp_path, end):
    """The corrections of the case `hostile/server`; the last line has no end."""
    better = f"Nous{end}le trouvons."
    (tmp_path / "c.jsonl").write_bytes(b"\xef\xbb\xbf" + line_of(better) + b"\r\n\n" + line_of("Nous le trouvons."))
    found, problems = read_corrections(tmp_path / "c.jsonl")
    assert found == {1: row(better), 3: row("Nous le trouvons.")} and not problems


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (line_of("Nous le trouvons.")[:-9], "not JSON"), (b'{"source": "a", "correction": "\xff"}', "not JSON"),
        (b"[" * 100_000, "not JSON"), (b"[]", "has no texts"), (b'{"source": "a"}', "has no texts"),
        (b'{"source": "a", "correction": 1}', "has no texts"),
        (line_of("a", output=["b"]), "`output`, `from` or `to`"), (line_of("a", to=7), "`output`, `from` or `to`"),
        (b'{"source": "a", "correction": "b \\ud83d"}', "half of a surrogate pair"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_correction_has_a_reason(tmp_path, line, reason):
    (tmp_path / "c.jsonl").write_bytes(b"\n".join([line_of("a b."), line, line_of("c d.", output=None)]))
    found, problems = read_corrections(tmp_path / "c.jsonl")
    assert list(found) == [1, 3] and list(problems) == [2] and reason in problems[2]


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(GlossaError, match="cannot be read"):
        read_corrections(tmp_path)


@pytest.mark.parametrize("before", [b"", b'{"cut', b"whole\n"])
def test_a_line_is_appended_on_its_own(tmp_path, before):
    file = tmp_path / "c.jsonl"
    file.write_bytes(before)
    append_line(file, "one")
    append_line(file, "two é")
    wanted = [part for part in (before.decode().strip(), "one", "two é") if part]
    assert file.read_text(encoding="utf-8") == "".join(f"{part}\n" for part in wanted)
