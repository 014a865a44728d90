"""New pairs from teachers: by hand with a fixed teacher, and by the command with a trained one."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from refusals import refused
from small_corpus import records

from glossa.base.errors import GlossaError
from glossa.base.jobs.pool import in_this_process
from glossa.base.run_folder import RunFolder
from glossa.cli import distill
from glossa.translate import sentences
from glossa.translate.corpora import distillation
from glossa.translate.corpora.distillation import Counts, Job, Teacher, chunks_of, load_teacher, new_pairs
from glossa.translate.export.ctranslate2_model import export_ctranslate2
from glossa.translate.interface import Translation
from glossa.translate.loading import load_model, load_tokenizer


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


def write_rows(log, failing, chunk, stem):
    """Write the rows of a chunk as pairs, and note its number."""
    with open(log, "a") as file:
        file.write(f"{chunk.seed} ")
    if chunk.seed == failing:
        raise KeyboardInterrupt
    lines = [json.dumps({"source": source, "target": target}) + "\n" for source, target in chunk.rows]
    stem.with_suffix(".jsonl").write_text("".join(lines))
    return {"texts": len(lines), "pairs": len(lines), "dropped": {"empty": 1}}


def run_job(output, log, settings=None, failing=None, rows=(("a", "b"), ("c", "d"), ("e", "f"), ("g", "h"))):
    job = Job(output, settings or {"beams": 1})
    chunks = chunks_of(list(rows), 1, with_original=False)
    return job.run(partial(partial, write_rows, log, failing), chunks, in_this_process)


@pytest.fixture
def short_chunks(monkeypatch):
    monkeypatch.setattr(distillation, "CHUNK", 1)


def test_an_interrupted_job_continues_where_it_was(tmp_path, short_chunks):
    output, log = tmp_path / "pairs.jsonl", tmp_path / "log"
    with pytest.raises(KeyboardInterrupt):
        run_job(output, log, failing=2)
    assert not output.exists()
    refused(r"belongs to a job with different beams", run_job, output, log, {"beams": 2})
    counts = run_job(output, log)
    assert (counts.texts, counts.pairs, counts.dropped) == (4, 4, {"empty": 4})
    assert log.read_text() == "0 1 2 2 3 "
    assert [row["source"] for row in records(output)] == ["a", "c", "e", "g"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "pairs.jsonl"]
    refused(r"pairs\.jsonl exists", run_job, output, log)


def test_a_job_keeps_others_out_and_makes_what_was_damaged_again(tmp_path, short_chunks):
    output, log = tmp_path / "pairs.jsonl", tmp_path / "log"
    with FileLock(f"{output}.locked"), pytest.raises(GlossaError, match=r"Another process is writing .*pairs\.jsonl"):
        run_job(output, log)
    with pytest.raises(KeyboardInterrupt):
        run_job(output, log, failing=3)
    for number, damage in enumerate((b"", b'{"source": "x", "target": "d"}\n')):
        (tmp_path / "pairs.jsonl.parts" / f"{number:06d}.jsonl").write_bytes(damage)
    run_job(output, log)
    assert log.read_text() == "0 1 2 3 0 1 3 "
    assert [row["source"] for row in records(output)] == ["a", "c", "e", "g"]


def test_chunks_follow_one_another_by_teacher(short_chunks):
    chunks = chunks_of([("a", "b"), ("c", None)], 2, with_original=True)
    assert list(chunks) == ["000000", "000001", "000002", "000003", "000004", "000005"]
    found = [(chunk.teacher, *chunk.rows, chunk.seed) for chunk in chunks.values()]
    first, second = ("a", "b"), ("c", None)
    assert found == [(None, first, 0), (None, second, 1), (0, first, 2), (0, second, 3), (1, first, 4), (1, second, 5)]


def interrupted(argv, monkeypatch):
    """Run the command, and interrupt it after its first piece of work."""

    def first(load, items):
        yield from in_this_process(load, items[:1])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("glossa.base.jobs.pool.in_this_process", first)
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
    refused(r"parts belongs to a job with different data\. Give the same", distill.main, argv)
    data.write_text("".join(rows))
    weights = teacher / "model.safetensors"
    before = weights.read_bytes()
    weights.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    refused(r"belongs to a job with different model .*teacher\.", distill.main, argv)
    weights.write_bytes(before)
    distill.main(argv)
    assert [row["source"] for row in records(output)[:2]] == ["a k.", "b l."]


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
        refused(r"have changed since training \(.*pairs.*Restore", distill.main, argv)
    report = RunFolder(run).data_report
    (run / "data_report.json").write_text(json.dumps({**report, "fingerprints": None}))
    refused("has no record of which pairs were held out", distill.main, argv)
    replayed = report | {"fingerprints": report["fingerprints"] | {"replay": "0", "watch": "1"}}
    (run / "data_report.json").write_text(json.dumps(replayed))  # of a run that kept what its start knew
    data.write_text("".join(lines), encoding="utf-8")
    distill.main(argv)
    held_out = {row["source"] for split in ("validation", "test") for row in RunFolder(run).load_held_out(split)}
    assert not held_out & {row["source"] for row in records(tmp_path / "out.jsonl")}


def test_a_message_for_each_refusal(tmp_path):
    (tmp_path / "pairs.jsonl").touch()
    refused(r"exists\. Give another --output", Job, tmp_path / "pairs.jsonl", {})


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
    rows = records(output)
    original = {(row["source"], row["target"]) for row in rows if row["origin"] == "original"}
    assert len(original) == 160
    held_out = {row["source"] for split in ("validation", "test") for row in RunFolder(tiny_run).load_held_out(split)}
    assert not held_out & {row["source"] for row in rows}
    assert {row["source"] for row in rows} <= {source for source, _ in original}
    assert "160 texts gave" in capsys.readouterr().out


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same_pairs(tiny_run, tmp_path, monkeypatch):
    rows = [f"{a} {b}.\tx y\n" for a in "abcdefg" for b in "klmnop"]
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    monkeypatch.setattr(distillation, "CHUNK", 10)
    argv = [str(tiny_run), "--data_path", str(tmp_path / "pairs.tsv"), "--with_original", "--sample"]
    for number in (1, 2):
        distill.main([*argv, "--output", str(tmp_path / f"{number}.jsonl"), "--workers", str(number)])
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    found = records(tmp_path / "1.jsonl")
    assert [row["source"] for row in found if row["origin"] == "original"] == [row.split("\t")[0] for row in rows]
    assert any(row["origin"] == str(tiny_run) for row in found)


def test_exported_teachers(tiny_run, tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "find_problem", lambda *_: "")  # the tiny model repeats words
    for name, run in {"forward": tiny_run, "back": reversed_copy(tiny_run, tmp_path / "run")}.items():
        export_ctranslate2(load_model(run), load_tokenizer(run), tmp_path / name)
    (tmp_path / "pairs.tsv").write_text("a k.\tx y\nb l.\tz\n")
    teachers = [str(tmp_path / name) for name in ("forward", "back")]
    options = ["--engine", "ctranslate2", "--data_path", str(tmp_path / "pairs.tsv")]
    distill.main([*teachers, *options, "--output", str(tmp_path / "pairs.jsonl")])
    rows = records(tmp_path / "pairs.jsonl")
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
        [row for row in records(tmp_path / f"{name}.jsonl") if row["origin"] == "original"]
        for name in ("engine", "run")
    )
    assert by_engine == by_run and len(by_run) == 160
    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("Train on them"))
    held_out = " ".join(
        f"--{split}_path {RunFolder(tiny_run).held_out_file(split)}" for split in ("validation", "test")
    )
    files = " ".join(str(RunFolder(tiny_run).held_out_file(split)) for split in ("validation", "test"))
    assert all(text.endswith(f" {held_out} --filters.exclude {files}") for text in (first, second))
    with pytest.raises(GlossaError, match="are for files of --data_path"):
        distill.main([*given, "--source_column", "en", "--output", str(tmp_path / "other.jsonl")])


def test_a_teacher_of_the_opposite_direction_makes_sources(tiny_run, tmp_path):
    back = reversed_copy(tiny_run, tmp_path / "back")
    text = tmp_path / "text.txt"
    text.write_text("a k.\nb l.\n")
    languages = ["--source_language", "en", "--target_language", "fr"]
    output = tmp_path / "pairs.jsonl"
    distill.main([str(back), "--text", str(text), *languages, "--output", str(output), "--sample", "--tag", "<bt> "])
    for row in records(output):
        assert row["source"].startswith("<bt> ") and row["target"] in ("a k.", "b l.")


@pytest.mark.parametrize("name", ["table.tsv", "folder"])
def test_a_table_of_texts_needs_its_column(tiny_run, tmp_path, name):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "table.tsv", tmp_path / "folder" / "table.tsv"):
        path.write_text("en\tfr\na k.\tx y\nb l.\tz\n")
    given = ["--text", str(tmp_path / name), "--source_language", "en", "--target_language", "fr"]
    output = ["--output", str(tmp_path / "pairs.jsonl"), "--num_beams", "1"]
    refused(r"table\.tsv is a table", distill.main, [str(tiny_run), *given, *output])
    distill.main([str(tiny_run), *given, *output, "--text_column", "en"])
    assert {row["source"] for row in records(tmp_path / "pairs.jsonl")} <= {"a k.", "b l."}


def test_samples_are_drawn_from_all_tokens_without_beams(tiny_run):
    found = load_teacher([str(tiny_run)], ("en", "fr"), num_return_sequences=60, sample=True).translator
    assert found.search.num_beams == 1 and found.engine.options == {"do_sample": True, "top_k": 0}
    (translations,) = found.translate(["a k."])
    assert len(translations) == 60 and len({translation.text for translation in translations}) > 1


def test_options_are_checked(tiny_run, tmp_path):
    back = reversed_copy(tiny_run, tmp_path / "back")
    out = ["--output", str(tmp_path / "o.jsonl")]
    text = tmp_path / "text.txt"
    text.write_text("a k.\n")
    both = ["--text", str(text), "--source_language", "en", "--target_language", "fr"]
    for argv, message in (
        (["--text", str(text), "--data_path", "pairs.tsv"], "--text and --data_path are both given"),
        (["--text", str(text)], "--text needs --source_language and --target_language"),
        (["--text_column", "en"], "--text_column is for a table in --text"),
        (["--source_column", "2", "--target_column", "3"], "are for files of --data_path"),
        ([*both, "--with_original"], "--with_original needs pairs"),
        (["--sample", "--num_beams", "4"], "--sample takes neither --num_beams nor"),
        ([str(back), "--ensemble"], "--ensemble needs teachers of one direction"),
        ([str(back), *both], "--text needs teachers of one direction"),
        (
            ["--source_language", "en", "--target_language", "de"],
            "was trained on pairs from en to fr, not from en to de",
        ),
        (
            ["--source_language", "French", "--target_language", "English"],
            "was trained on pairs from en to fr, not from fr to en",
        ),
    ):
        refused(message, distill.main, [str(tiny_run), *argv, *out])
