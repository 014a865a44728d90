"""New pairs from teachers: by hand with a fixed teacher, and by the command with a trained one."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from glossa.cli import distill
from glossa.errors import GlossaError
from glossa.export.ctranslate2_model import export_ctranslate2
from glossa.inference import translator
from glossa.inference.distillation import Counts, Job, Teacher, load_teacher, new_pairs
from glossa.inference.engines import Translation
from glossa.inference.loading import load_model, load_tokenizer
from glossa.run_folder import RunFolder


class Fixed:
    """A translator that knows its translations by heart."""

    def __init__(self, translations):
        self.translations = translations

    def translate(self, texts):
        return [self.translations[text] for text in texts]


FORWARD = {
    "one": [Translation("un"), Translation("une")],
    "two": [Translation("deux deux", problem="repetitive"), Translation("deux")],
    "three": [Translation(""), Translation("trois"), Translation("trois")],
}
ROWS = [("one", "une"), ("two", "deux"), ("three", "trois.")]


def pairs(*arguments, **options):
    counts = Counts()
    made = [(pair["source"], pair["target"]) for pair in new_pairs(*arguments, counts, **options)]
    return made, counts


def test_forward_pairs_by_hand():
    made, counts = pairs(Teacher("t", Fixed(FORWARD)), ROWS)
    assert made == [("one", "un"), ("one", "une"), ("two", "deux"), ("three", "trois")]
    assert (counts.texts, counts.pairs, counts.dropped) == (3, 4, {"repetitive": 1, "empty": 1})
    made, _ = pairs(Teacher("t", Fixed(FORWARD)), ROWS, closest=True)
    assert made == [("one", "une"), ("two", "deux"), ("three", "trois")]


def test_back_translations_are_tagged_sources():
    back = {target: [Translation(f"{target} in English")] for _, target in ROWS}
    made, _ = pairs(Teacher("t", Fixed(back), reverse=True), ROWS, tag="<bt> ")
    assert made == [(f"<bt> {target} in English", target) for _, target in ROWS]


def test_an_interrupted_job_continues_where_it_was(tmp_path):
    def chunks(failing=None):
        def make(number):
            def pairs(counts):
                for row in range(3):
                    if number == failing and row == 1:
                        raise KeyboardInterrupt
                    counts.pairs += 1
                    yield {"source": f"{number} {row}", "target": "é"}

            return pairs

        return ((number, make(number)) for number in range(4))

    whole = Job(tmp_path / "whole.jsonl", {"beams": 1}).run(chunks())
    with pytest.raises(KeyboardInterrupt):
        Job(tmp_path / "part.jsonl", {"beams": 1}).run(chunks(failing=2))
    assert not (tmp_path / "part.jsonl").exists()
    with pytest.raises(GlossaError, match=r"is of a job with another beams"):
        Job(tmp_path / "part.jsonl", {"beams": 2})
    assert Job(tmp_path / "part.jsonl", {"beams": 1}).run(chunks()) == whole
    assert (tmp_path / "part.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.jsonl", "whole.jsonl"]
    with pytest.raises(GlossaError, match=r"part\.jsonl exists"):
        Job(tmp_path / "part.jsonl", {"beams": 1})


def test_a_job_keeps_others_out_and_knows_what_it_wrote(tmp_path):
    def chunks(failing=None):
        def make(number):
            def pairs(counts):
                if number == failing:
                    raise KeyboardInterrupt
                yield {"source": str(number), "target": "x"}

            return pairs

        return ((number, make(number)) for number in range(3))

    output = tmp_path / "pairs.jsonl"
    with FileLock(f"{output}.locked"), pytest.raises(GlossaError, match=r"Another process is writing .*pairs\.jsonl"):
        Job(output, {}).run(chunks())
    with pytest.raises(KeyboardInterrupt):
        Job(output, {}).run(chunks(failing=2))
    partial = tmp_path / "pairs.jsonl.partial"
    whole = partial.read_bytes()
    for damage in (b"", whole[:-1], whole.replace(b"0", b"7")):
        partial.write_bytes(damage)
        with pytest.raises(GlossaError, match=r"partial is not what was written there\. To begin again, remove"):
            Job(output, {}).run(chunks())
    partial.write_bytes(whole + 9 * b"{half a line")  # longer than what is left; a kill came before the record
    Job(output, {}).run(chunks())
    assert [row["source"] for row in written(output)] == ["0", "1", "2"]


def interrupted(argv, monkeypatch):
    """Run the command, and interrupt it after its first piece of work."""

    def write(job, chunks):
        def two():
            yield next(chunks)
            raise KeyboardInterrupt

        return original(job, two())

    original = Job._write
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Job, "_write", write)
        distill.main(argv)


def test_other_pairs_and_other_teachers_are_refused(tiny_run, tmp_path, monkeypatch):
    data, teacher = tmp_path / "pairs.tsv", tmp_path / "teacher"
    shutil.copytree(tiny_run, teacher, ignore=shutil.ignore_patterns("checkpoint-*"))
    rows = ["a k.\tx y\n", "b l.\tz\n"]
    data.write_text("".join(rows))
    output = tmp_path / "out.jsonl"
    argv = [str(teacher), "--data_path", str(data), "--output", str(output), "--with_original", "--num_beams", "1"]
    interrupted(argv, monkeypatch)
    data.write_text("".join(reversed(rows)))
    with pytest.raises(GlossaError, match=r"progress is of a job with another data\. Give the same"):
        distill.main(argv)
    data.write_text("".join(rows))
    weights = teacher / "model.safetensors"
    before = weights.read_bytes()
    weights.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    with pytest.raises(GlossaError, match=r"is of a job with another model .*teacher\."):
        distill.main(argv)
    weights.write_bytes(before)
    distill.main(argv)
    assert [row["source"] for row in written(output)[:2]] == ["a k.", "b l."]


def test_the_record_of_a_run_decides_what_is_held_out(tmp_path, tiny_run):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run, ignore=shutil.ignore_patterns("checkpoint-*"))
    recipe = RunFolder(run).recipe
    (given,) = [Path(path) for path in recipe["data_path"]]
    data = tmp_path / "pairs.tsv"
    lines = given.read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "recipe.yaml").write_text(yaml.safe_dump(recipe | {"data_path": [str(data)]}), encoding="utf-8")
    argv = [str(run), "--num_beams", "1", "--output", str(tmp_path / "out.jsonl")]
    for changed in ([*lines, "new\tnouveau\n"], lines[:-1], lines[::-1]):
        data.write_text("".join(changed), encoding="utf-8")
        with pytest.raises(GlossaError, match=r"are not those that it was trained on \(.*pairs.*Restore"):
            distill.main(argv)
    report = RunFolder(run).data_report
    (run / "data_report.json").write_text(json.dumps({**report, "fingerprints": None}))
    with pytest.raises(GlossaError, match="has no record of which pairs were held out"):
        distill.main(argv)
    (run / "data_report.json").write_text(json.dumps(report))
    data.write_text("".join(lines), encoding="utf-8")
    distill.main(argv)
    held_out = {row["source"] for split in ("validation", "test") for row in RunFolder(run).load_held_out(split)}
    assert not held_out & {row["source"] for row in written(tmp_path / "out.jsonl")}


def test_a_message_for_each_refusal(tmp_path, documented):
    Job(tmp_path / "pairs.jsonl", {"num_beams": 1}).run(iter([]))
    with pytest.raises(GlossaError) as error:
        Job(tmp_path / "pairs.jsonl", {})
    documented("Translating and scoring", error.value)


def written(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def reversed_copy(run, folder):
    """A copy of `run` that says it translates in the opposite direction."""
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("checkpoint-*"))
    for name, (first, second) in {
        "config.json": ("source_language", "target_language"),
        "tokenizer_config.json": ("src_lang", "tgt_lang"),
    }.items():
        values = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(values | {first: "fr", second: "en"}))
    return folder


def test_the_command_translates_what_the_teacher_was_trained_on(tiny_run, tmp_path, capsys):
    output = tmp_path / "pairs.jsonl"
    distill.main([str(tiny_run), "--output", str(output), "--with_original", "--num_beams", "1"])
    rows = written(output)
    original = {(row["source"], row["target"]) for row in rows if row["origin"] == "original"}
    assert len(original) == 160
    held_out = {row["source"] for split in ("validation", "test") for row in RunFolder(tiny_run).load_held_out(split)}
    assert not held_out & {row["source"] for row in rows}
    assert {row["source"] for row in rows} <= {source for source, _ in original}
    assert "160 texts gave" in capsys.readouterr().out


def test_exported_teachers(tiny_run, tmp_path, monkeypatch):
    monkeypatch.setattr(translator, "find_problem", lambda *_: "")  # the tiny model repeats words
    for name, run in {"forward": tiny_run, "back": reversed_copy(tiny_run, tmp_path / "run")}.items():
        export_ctranslate2(load_model(run), load_tokenizer(run), tmp_path / name)
    (tmp_path / "pairs.tsv").write_text("a k.\tx y\nb l.\tz\n")
    teachers = [str(tmp_path / name) for name in ("forward", "back")]
    options = ["--engine", "ctranslate2", "--data_path", str(tmp_path / "pairs.tsv")]
    distill.main([*teachers, *options, "--output", str(tmp_path / "pairs.jsonl")])
    rows = written(tmp_path / "pairs.jsonl")
    assert {row["origin"] for row in rows} == set(teachers)
    for row in rows:
        side, texts = ("source", {"a k.", "b l."}) if row["origin"] == teachers[0] else ("target", {"x y", "z"})
        assert row[side] in texts


def test_exported_teachers_of_a_run(tiny_run, tmp_path, capsys):
    export_ctranslate2(load_model(tiny_run), load_tokenizer(tiny_run), tmp_path / "engine")
    given = [str(tmp_path / "engine"), "--engine", "ctranslate2", "--data_path", str(tiny_run), "--with_original"]
    distill.main([*given, "--output", str(tmp_path / "engine.jsonl")])
    distill.main([str(tiny_run), "--with_original", "--num_beams", "1", "--output", str(tmp_path / "run.jsonl")])
    by_engine, by_run = (
        [row for row in written(tmp_path / f"{name}.jsonl") if row["origin"] == "original"]
        for name in ("engine", "run")
    )
    assert by_engine == by_run and len(by_run) == 160
    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("Train on them"))
    held_out = " ".join(
        f"--{split}_path {RunFolder(tiny_run).held_out_file(split)}" for split in ("validation", "test")
    )
    files = " ".join(str(RunFolder(tiny_run).held_out_file(split)) for split in ("validation", "test"))
    assert first.endswith(f" {held_out} --exclude {files}") and second.endswith(f" {held_out} --exclude {files}")
    with pytest.raises(GlossaError, match="are for files of --data_path"):
        distill.main([*given, "--source_column", "en", "--output", str(tmp_path / "other.jsonl")])


def test_a_teacher_of_the_opposite_direction_makes_sources(tiny_run, tmp_path):
    back = reversed_copy(tiny_run, tmp_path / "back")
    text = tmp_path / "text.txt"
    text.write_text("a k.\nb l.\n")
    languages = ["--source_language", "en", "--target_language", "fr"]
    output = tmp_path / "pairs.jsonl"
    distill.main([str(back), "--text", str(text), *languages, "--output", str(output), "--sample", "--tag", "<bt> "])
    for row in written(output):
        assert row["source"].startswith("<bt> ") and row["target"] in ("a k.", "b l.")


@pytest.mark.parametrize("name", ["table.tsv", "folder"])
def test_a_table_of_texts_needs_its_column(tiny_run, tmp_path, documented, name):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "table.tsv", tmp_path / "folder" / "table.tsv"):
        path.write_text("en\tfr\na k.\tx y\nb l.\tz\n")
    given = ["--text", str(tmp_path / name), "--source_language", "en", "--target_language", "fr"]
    output = ["--output", str(tmp_path / "pairs.jsonl"), "--num_beams", "1"]
    with pytest.raises(GlossaError, match=r"table\.tsv is a table") as error:
        distill.main([str(tiny_run), *given, *output])
    documented("Translating and scoring", str(error.value).replace(f"{tmp_path}/", "").replace("folder/", ""))
    distill.main([str(tiny_run), *given, *output, "--text_column", "en"])
    assert {row["source"] for row in written(tmp_path / "pairs.jsonl")} <= {"a k.", "b l."}


def test_samples_are_drawn_from_all_tokens_without_beams(tiny_run):
    found = load_teacher([str(tiny_run)], ("en", "fr"), num_return_sequences=60, sample=True).translator
    assert found.search.num_beams == 1 and found.engine.options == {"do_sample": True, "top_k": 0}
    (translations,) = found.translate(["a k."])
    assert len(translations) == 60 and len({translation.text for translation in translations}) > 1


def test_options_are_checked(tiny_run, tmp_path, documented):
    back = reversed_copy(tiny_run, tmp_path / "back")
    out = ["--output", str(tmp_path / "o.jsonl")]
    text = tmp_path / "text.txt"
    text.write_text("a k.\n")
    both = ["--text", str(text), "--source_language", "en", "--target_language", "fr"]
    for argv in (
        ["--text", str(text), "--data_path", "pairs.tsv"],
        ["--text", str(text)],
        ["--text_column", "en"],
        ["--source_column", "2", "--target_column", "3"],
        [*both, "--closest"],
        ["--sample", "--num_beams", "4"],
        [str(back), "--ensemble"],
        [str(back), *both],
        ["--source_language", "en", "--target_language", "de"],
        ["--source_language", "French", "--target_language", "English"],
    ):
        with pytest.raises(GlossaError) as error:
            distill.main([str(tiny_run), *argv, *out])
        documented("Translating and scoring", str(error.value).replace(str(tiny_run), "TEACHER"))
