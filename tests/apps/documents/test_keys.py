"""`--keys`: which values of JSON and YAML are translated."""

import json
from pathlib import Path

import pytest
import yaml
from refusals import refused
from translating import KNOWN, Given

from glossa.apps.documents.formats.format import Chosen
from glossa.apps.documents.formats.keys import Keys
from glossa.apps.documents.job import DocumentJob
from glossa.base.errors import GlossaError
from glossa.cli.translate import main

POST = {
    "title": "The sea", "author": "Ann Smith", "@note": {"description": "For readers"},
    "parts": [{"title": "The boat", "description": "It is old"}, {"a.b": "The shore"}],
}  # fmt: skip


def run(source: Path, keys: str) -> None:
    job = DocumentJob(source, source.with_name("out"), languages=KNOWN, chosen=Chosen(Keys.of(keys)))
    job.run(Given(str.upper))


@pytest.mark.parametrize("ending", ["json", "yaml"])
@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ("title", ["The sea"]), ("*title", ["The sea", "The boat"]),
        ("title, *.description", ["The sea", "For readers", "It is old"]), ("parts.1.*", ["The shore"]),
        ("parts.*.a.b", ["The shore"]),
    ],
)  # fmt: skip
def test_only_the_values_of_these_keys_are_translated(tmp_path, ending, keys, chosen):
    source = tmp_path / f"post.{ending}"
    text = json.dumps(POST) if ending == "json" else yaml.safe_dump(POST)
    source.write_text(text)
    run(source, keys)
    for each in chosen:
        text = text.replace(each, each.upper())
    assert (tmp_path / "out").read_text() == text


def test_a_pattern_that_no_text_has_is_refused_by_name(tmp_path):
    (tmp_path / "a.json").write_text('{"title": "The sea", "count": 3, "menu": {"open": "Open"}}')
    with pytest.raises(GlossaError, match=r"no text has the keys count, menu\. Others are menu\.open\."):
        run(tmp_path / "a.json", "title,count,menu")
    (tmp_path / "a.md").write_text("The sea\n")
    refused(
        r"no text has the keys title\. Only JSON and YAML have keys; tables have --columns\.",
        run,
        tmp_path / "a.md",
        "title",
    )
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.parts").exists()


def test_in_a_folder_a_pattern_is_for_any_file(tmp_path):
    (tmp_path / "in").mkdir()
    for name, text in (("a.json", '{"title": "one", "a": "two"}'), ("b.yml", "text: three\n"), ("c.md", "four\n")):
        (tmp_path / "in" / name).write_text(text)
    run(tmp_path / "in", "title,text")
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert found == {"a.json": '{"title": "ONE", "a": "two"}', "b.yml": "text: THREE\n", "c.md": "FOUR\n"}


def test_keys_of_the_command(tmp_path, tiny_run, capsys):
    refused("--keys is for documents in JSON and YAML, --columns for tables", main, ["some/model", "--keys", "title"])
    (tmp_path / "a.json").write_text('{"a": "a k.", "b": "a k."}')
    files = ["--input", str(tmp_path / "a.json"), "--output", str(tmp_path / "b.json"), "--engine", "torch"]
    refused("give patterns separated by commas", main, [str(tiny_run), *files, "--keys", "a,,b"])
    main([str(tiny_run), *files, "--num_beams", "1", "--keys", "b"])
    assert json.loads((tmp_path / "b.json").read_text())["a"] == "a k."
    assert "1 texts: 1 sentences." in capsys.readouterr().err
