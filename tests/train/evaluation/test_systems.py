"""Translations from outside: their scores, the tests against them, and what is refused."""

import json
import re
import subprocess
import sys

import pytest
import sacrebleu
from datasets import Dataset
from running_server import running

from glossa.apps.server.app import build_app
from glossa.apps.server.models import Models
from glossa.apps.server.service import Service
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli import score
from glossa.train.evaluation import systems
from glossa.train.evaluation.systems import ask_server, read_lines
from glossa.translate.build import build_translator

REFERENCES = [f"The {a} cat sees {b} dogs in the garden ." for a in "abcdef" for b in ("two", "three", "some", "old")]
GOOD = [text.replace("sees", "saw") if number % 4 == 0 else text for number, text in enumerate(REFERENCES)]
BAD = [text.replace("garden", "house") if number % 3 == 0 else text for number, text in enumerate(REFERENCES)]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    texts = {"s.txt": [f"Source {n}." for n in range(24)], "r.txt": REFERENCES, "bad.txt": BAD, "good.txt": GOOD}
    return {name.partition(".")[0]: write(tmp_path / name, lines) for name, lines in texts.items()}


def run(files, *more, translations=("bad", "good"), tmp_path):
    output = tmp_path / "out.json"
    words = [
        "--source", files["s"], "--reference", files["r"], "--translations", *(files[one] for one in translations),
    ]  # fmt: skip
    score.main([*words, "--output", str(output), *more])
    return json.loads(output.read_text())


def test_files_are_scored_and_tested_without_a_run(files, tmp_path, capsys):
    """Against the command of sacreBLEU with the same metrics, seed and resamples."""
    report = run(files, tmp_path=tmp_path)
    command = [sys.executable, "-m", "sacrebleu", files["r"], "-i", files["bad"], files["good"], "-m", "bleu", "chrf",
               "ter", "--chrf-word-order", "2", "--paired-bs", "-w", "4", "-f", "text"]  # fmt: skip
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]
    (base,) = (row[1:] for row in rows if row[0].startswith("Baseline"))
    (other,) = (row[1:] for row in rows if row[0].endswith("good.txt"))
    (chances,) = (row[1:] for row in rows if not row[0])
    found = report["paired_bootstrap"]["good, against bad"]
    for place, name in enumerate(("bleu", "chrf", "ter")):
        assert found[name]["baseline"] == pytest.approx(float(base[place].split()[0]), abs=1e-4)
        assert found[name]["system"] == pytest.approx(float(other[place].split()[0]), abs=1e-4)
        assert found[name]["p_value"] == pytest.approx(float(re.search(r"[\d.]+", chances[place])[0]), abs=1e-4)
    assert report["results"]["good"]["scores"]["single"]["bleu"]["score"] == pytest.approx(
        sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score
    )
    shown = capsys.readouterr().out
    assert re.search(r"good, against bad +BLEU +92.82 +91.96 +-0.86", shown) and "p-value: probability" in shown


def test_other_systems_are_tested_against_a_run(learned_run, tmp_path, capsys):
    pairs = RunFolder(learned_run).load_held_out("test")
    theirs = write(tmp_path / "theirs.txt", ["b a!"] * len(pairs))
    output = tmp_path / "out.json"
    options = ["--num_beams", "1", "--names", "DeepL, November", "--output", str(output), "--engine", "torch"]
    score.main([str(learned_run), "--translations", theirs, *options])
    report = json.loads(output.read_text())
    assert list(report["results"]) == ["greedy", "DeepL, November"]
    found = report["paired_bootstrap"]["greedy, against DeepL, November"]["chrf"]
    direct = sacrebleu.corpus_chrf(["b a!"] * len(pairs), [pairs["target"][:]], word_order=2).score
    assert (
        found["baseline"] == pytest.approx(direct) and found["system"] > found["baseline"] and found["p_value"] < 0.05
    )
    assert "DeepL, November" in capsys.readouterr().out


def test_a_source_of_several_pairs_counts_once(tmp_path, caplog):
    pairs = Dataset.from_dict({"source": ["a", "b", "a"], "target": ["x y z q", "u", "x"]})
    file = write(tmp_path / "t.txt", ["x y z q", "", "other"])
    found = systems.score_system(file, pairs, "test", "13a", 0)
    assert (found["sources"], found["translations"]) == (["a", "b"], ["x y z q", ""])
    assert found["references"] == [["x y z q", "x"], ["u"]]
    assert "1 of 3 lines are empty" in caplog.text and "1 sources come again with another translation" in caplog.text


def test_another_number_of_lines_names_both_files(files, tmp_path, learned_run):
    short = write(tmp_path / "short.txt", GOOD[:-1])
    with pytest.raises(GlossaError, match=r"short.txt has 23 lines, and .*s.txt has 24. Line n of each"):
        run(files | {"short": short}, translations=["short"], tmp_path=tmp_path)
    with pytest.raises(GlossaError, match=r"short.txt has 23 lines, and .*s.txt has 24"):
        run(files | {"r": short}, tmp_path=tmp_path)
    with pytest.raises(GlossaError, match=r"short.txt has 23 lines, and .*held_out/test.jsonl has 20"):
        score.main([str(learned_run), "--translations", short, "--num_beams", "1", "--engine", "torch"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "There is nothing to score. Give the folder of a run; or --source"),
        (["--source", "S", "--reference", "R"], "There is nothing to score"),
        (["RUN", "--source", "S"], "--source and --reference are for --translations without a model"),
        (["RUN", "--names", "A"], "--names is for --translations. Give it too"),
        (["RUN", "--translations", "S", "--system_model", "m"], "--system_model is for --system"),
        (["RUN", "--translations", "no.txt"], "--translations: no.txt does not exist. Give a file, or --system"),
        (["RUN", "--translations", "S", "--system", "http://x"], "that does not exist; 0 do not"),
        (["RUN", "--robustness", "--translations", "S"], "--translations is for one set of scores"),
        (
            ["--source", "S", "--reference", "R", "--translations", "S", "--num_beams", "2"],
            "--num_beams is for models",
        ),
        (
            ["--source", "S", "--reference", "R", "--translations", "S", "R", "--names", "A"],
            "--names has 1 names for 2",
        ),
        (["--source", "S", "--reference", "R", "--translations", "S", "S"], "Two systems are named s. Give each"),
    ],
)
def test_options_that_do_not_go_together_are_refused(files, tiny_run, words, message):
    places = {"S": files["s"], "R": files["r"], "RUN": str(tiny_run)}
    with pytest.raises(GlossaError, match=message):
        score.main([places.get(word, word) for word in words])


def test_lines_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good\n\xff\n")
    with pytest.raises(GlossaError, match=r"bad.txt, line 2: .*UTF-8"):
        read_lines(str(tmp_path / "bad.txt"))


def test_a_server_is_asked_once_for_each_text(tmp_path):
    class Server:
        def __init__(self, texts):
            self.left, self.asked = texts, []

        def translate(self, texts):
            for text in texts:
                if not self.left:
                    raise GlossaError("stopped")
                self.left -= 1
                self.asked.append(text)
                yield text.upper()

    file, first, second = str(tmp_path / "out.txt"), Server(2), Server(9)
    with pytest.raises(GlossaError, match="stopped"):
        ask_server(first, ["a", "b", "c"], file)
    ask_server(second, ["a", "b", "c"], file)
    assert read_lines(file) == ["A", "B", "C"] and first.asked == ["a", "b"] and second.asked == ["c"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_server_writes_the_missing_file(learned_run, tmp_path):
    """`glossa serve` has the interface of LibreTranslate."""
    pytest.importorskip("uvicorn", reason="the server needs uvicorn: pip install -e .[dev]")
    output, theirs = tmp_path / "out.json", tmp_path / "theirs.txt"
    words = [str(learned_run), "--translations", str(theirs), "--num_beams", "1", "--output", str(output)]
    with running(lambda: build_app(Service(Models([f"en-fr={learned_run}"])))) as url:
        score.main([*words, "--system", url])
    sources = RunFolder(learned_run).load_held_out("test")["source"][:]
    assert read_lines(str(theirs)) == build_translator([str(learned_run)], "auto").best(sources)
    score.main(words)  # the server is gone, and is not needed
    assert list(json.loads(output.read_text())["results"]) == ["greedy", "theirs"]
