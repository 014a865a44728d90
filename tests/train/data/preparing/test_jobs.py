"""Jobs of `glossa prepare`: the command, two at a time, and files that were cut."""

from pathlib import Path

import pytest
from small_corpus import content, corpus, here, write

from glossa.base.errors import GlossaError
from glossa.cli.prepare import main
from glossa.train.data.arguments import DataArguments
from glossa.train.data.preparing.prepare import prepare


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(Path("a.tsv"), corpus(4))
    monkeypatch.setattr("glossa.base.jobs.pool.in_processes", lambda load, items, **_: here(load, items))
    main(["--data_path", "a.tsv", "--output", "out", "--filters.near_duplicates", "true"])
    assert "Written: out (" in capsys.readouterr().out
    assert {path.name for path in Path("out.parts").iterdir()} == {"raw", "cleaning"}
    with pytest.raises(GlossaError, match=r"out exists\. Give another --output"):
        main(["--data_path", "a.tsv", "--output", "out"])
    with pytest.raises(GlossaError, match=r"--output is s3:/+bucket/out, but jobs write to a folder .*, not to s3://"):
        main(["--data_path", "a.tsv", "--output", "s3://bucket/out"])
    assert not Path("s3:").exists()
    with pytest.raises(GlossaError, match="objective is span_corruption; glossa prepare is for pairs"):
        main(["--data_path", "a.tsv", "--output", "new", "--objective", "span_corruption"])
    with pytest.raises(GlossaError, match="nosuch"):
        main(["--data_path", "a.tsv", "--output", "new", "--nosuch", "1"])


def test_two_jobs_with_the_same_parts(tmp_path, monkeypatch):
    """While a job works in its parts, another one is refused, whatever its output; afterwards it may use them."""
    monkeypatch.chdir(tmp_path)
    write(Path("a.tsv"), corpus(4))
    refused = []

    def second(load, items, **_):
        if not refused:
            with pytest.raises(GlossaError) as error:
                main(["--data_path", "a.tsv", "--output", "other", "--parts", "parts"])
            refused.append(str(error.value))
        return here(load, items)

    monkeypatch.setattr("glossa.base.jobs.pool.in_processes", second)
    main(["--data_path", "a.tsv", "--output", "out", "--parts", "parts"])
    parts = tmp_path / "parts"
    assert refused == [f"Another process is writing {parts}. Wait for it, or give another --parts."]
    main(["--data_path", "a.tsv", "--output", "other", "--parts", "parts"])
    assert content(Path("out")) == content(Path("other"))
    assert {path.name for path in tmp_path.glob("*.locked")} <= {"other.locked"}


@pytest.mark.parametrize("cut", [lambda whole: b"", lambda whole: whole[: len(whole) // 2]], ids=["emptied", "cut"])
@pytest.mark.parametrize("pattern", ["raw/tables/*.arrow", "cleaning/*.json"])
def test_a_cut_file_of_an_interrupted_job_is_named(tmp_path, small, monkeypatch, pattern, cut):
    arguments = DataArguments(data_path=[write(tmp_path / "a.tsv", corpus(3))])
    prepare(arguments, tmp_path / "one", here, tmp_path / "parts")
    file = sorted((tmp_path / "parts").glob(pattern))[0]
    whole = file.read_bytes()
    file.write_bytes(cut(whole))
    with pytest.raises(GlossaError, match=r"is damaged: .*Remove it, and") as error:
        prepare(arguments, tmp_path / "two", here, tmp_path / "parts")
    assert str(file) in str(error.value)
    file.unlink()
    prepare(arguments, tmp_path / "two", here, tmp_path / "parts")
    assert content(tmp_path / "one") == content(tmp_path / "two")
