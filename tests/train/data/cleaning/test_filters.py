"""Each filter drops what its setting says and keeps what only looks like it."""

import logging
import random

import pytest
from datasets import DatasetDict
from reading import written

from glossa.base import identification
from glossa.base.errors import GlossaError
from glossa.base.identification import identifier, identify
from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning import filters
from glossa.train.data.cleaning.cleaning import clean
from glossa.train.data.sources import load_source


def drops(source, target, source_language="en", target_language="de", **setting):
    arguments = DataArguments(source_language=source_language, target_language=target_language, filters=setting)
    tests = dict(filters.tests(filters.chosen_filters(arguments)))
    assert setting.keys() <= tests.keys() <= {"characters"} | setting.keys()
    return tests[next(iter(setting))](source, target)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("see <b>this</b>", True), ("a <br/> b", True), ("<!-- note", True), ("x < y and y > z", False),
        ("5 <6> 7", False), ("Tom &amp; Ann", True), ("Tom & Ann; Ben", False), ("AT&T; R&D", False),
        ("caf&eacute;", True), ("&#233;", True), ("&#xE9;", True), ("&nonsense;", False), ("a&copy 2", False),
    ],
)  # fmt: skip
def test_html(text, html):
    assert drops(text, "x", html=True) is drops("x", text, html=True) is html


def test_lengths():
    assert not drops("a" * 10, "b" * 5, characters=10) and drops("a", "b" * 11, characters=10)
    assert not drops("a" * 30, "b" * 10, character_ratio=3) and drops("a" * 31, "b" * 10, character_ratio=3.0)
    assert drops("a", "bbbb", character_ratio=3)


@pytest.mark.parametrize(
    ("source", "target", "differ"),
    [
        ("in 1999", "1999", False), ("in 1999", "in 1989", True), ("1,000.50 km", "1.000,50 km", False),
        ("10 000 people", "10.000 Leute", False), ("two dogs", "2 Hunde", False), ("14 dogs", "vierzehn Hunde", False),
        ("2 dogs", "3 Hunde", True), ("at 12:30", "um 12.30", False), ("May 5 2010", "5. Mai 2010", False),
        ("٥٠ and 007", "50, 7", False), ("no number", "keine", False), ("1999 and 1999", "1999", True),
        ("at 10:30", "à 10h30", False), ("at 10:30", "à 10h45", True), ("they won 2-1", "2:1 gewonnen", False),
        ("21-19", "21:19", False), ("21-19", "21:18", True), ("2024-05-17", "le 17.05.2024", False),
        ("5/17/2024", "17.5.2024", False), ("2024-05-17", "le 18.05.2024", True), ("1,500", "1,005", True),
        ("10:30, 1,000 people", "10h30, 1000 personnes", False), ("pages 100-120", "Seiten 100.120", True),
        ("13,500", "500", True),
        # Chinese characters: words for ten thousand and more, and numbers that may be words.
        ("10,000 yen", "1万日元", False), ("0.31/100,000 people", "0.31/10 万人", False), ("150,000", "16万円", True),
        ("over 80", "超过八十岁", False), ("thirteen", "十三歳", False), ("15 people", "一緒に", True),
        ("100,000 rupees", "1,00,000 रुपये", False),
    ],
)  # fmt: skip
def test_digits(source, target, differ):
    assert drops(source, target, digits=True) is differ


@pytest.mark.parametrize(
    ("source", "target", "copied"),
    [
        ("Hello, World!", "hello world", True), ("OK", "Gut", False),
        ("The old house is here", "The old house is hier", True),  # four in five
        ("The old house is here", "The old haus ist hier", False), ("The old house here", "The old house hier", False),
        ("I met Tom Ann Smith", "Tom Ann Smith", False),
        ("New York Times", "New York Times .", True), ("Tom Smith here", "Tom Smith hier", False),
    ],
)  # fmt: skip
def test_copied(source, target, copied):
    assert drops(source, target, copied=True) is copied


def test_punctuation():
    assert not drops("ab 12", "é हि!", punctuation=0.5)
    assert drops("a 12", "abc", punctuation=0.5) and drops("abc", "-> !", punctuation=0.5)


@pytest.mark.parametrize(
    ("language", "text", "other"),
    [
        ("ru", "Привет, мир", False), ("ru", "Hello", True), ("ru", "Я пью Coca", False), ("ru", "123 !", False),
        ("ru", "Я пью Coca Cola", True),
        ("de", "Größe", False), ("de", "Привет", True), ("ja", "漢字かなカナ", False), ("ja", "안녕", True),
        ("zh", "汉字", False), ("ko", "한국어", False), ("hi", "नमस्ते दुनिया", False), ("el", "Γειά", False),
        ("sr", "Zdravo", False), ("sr", "Здраво", False), ("sr_Latn", "Здраво", True), ("uz_Latn", "Салом", True),
        ("uz", "Салом", False), ("ar", "مرحبا", False),
        # A character of these scripts stands for several letters.
        ("zh", "Tom游泳。", False), ("zh", "Tom幫Mary買了點果汁。", False), ("ja", "Facebookやってる？", False),
        ("zh", "Severe Acute Respiratory Syndrome 病", True), ("ko", "Tom은 갔다", False),
    ],
)  # fmt: skip
def test_script(language, text, other):
    assert drops("Hello", text, target_language=language, script=True) is other
    assert drops(text, "Hello", language, "en", script=True) is other


def test_a_language_without_a_known_script_is_refused():
    with pytest.raises(GlossaError, match="script of the language 'xx' is not known"):
        filters.check(DataArguments(target_language="xx", filters={"script": True}))
    filters.check(DataArguments(target_language="xx_Latn", filters={"script": True}))
    with pytest.raises(GlossaError, match="script of the language 'klingonish'"):
        filters.check(DataArguments(target_language="klingonish", filters={"script": True}))


ENGLISH = "A young white man with a short beard rocks out on his guitar."
GERMAN = "Ein junger Mann mit kurzem Bart spielt auf seiner Gitarre."
FRENCH = "Un jeune homme blanc avec une petite barbe se déchaîne sur sa guitare."
DANISH = "En ung mand med kort skæg spiller på sin guitar."


def test_language(caplog):
    assert not drops(ENGLISH, GERMAN, language=True)
    assert drops(ENGLISH, FRENCH, language=True) and drops(FRENCH, GERMAN, language=True)
    assert not drops("Go.", "Va !", language=True), "too short to be sure"
    assert not drops(ENGLISH, DANISH, target_language="no", language=True), "too similar to be sure"
    assert not drops(ENGLISH, FRENCH, target_language="tlh", language=True)
    with caplog.at_level(logging.WARNING):
        filters.check(DataArguments(target_language="tlh", filters={"language": True}))
    assert "py3langid does not support 'tlh'" in caplog.text and "'en'" not in caplog.text


def test_a_language_must_be_more_likely_than_not(monkeypatch):
    sure = {"a": 0.5, "b": 0.51}
    monkeypatch.setattr(identification, "identify", lambda texts, _: [("fr", sure[text]) for text in texts])
    assert not drops("a", "a", language=True)
    assert drops("a", "b", language=True) and drops("b", "a", language=True)
    assert not drops("a", "b", target_language="fr", language=True)


def cleaned(tmp_path, text, **settings):
    path = written(tmp_path / "a.tsv", text)
    arguments = DataArguments(data_path=[str(path)], target_language="de", trust_data=True, **settings)
    dataset, report = clean(DatasetDict(train=load_source(arguments)["train"]), arguments)
    return list(zip(dataset["train"]["source"], dataset["train"]["target"], strict=True)), report


def test_near_duplicates(tmp_path):
    text = "Go to page 1.\tSeite 1\ngo to page 22\tSeite 22!\nGo to page 1.\tSeite 1\nGo to page\tBuch\n"
    kept, report = cleaned(tmp_path, text, filters={"near_duplicates": True})
    assert kept == [("Go to page 1.", "Seite 1"), ("Go to page", "Buch")]
    counts = report.splits["train"]
    assert (counts["duplicates"], counts["near_duplicates"], counts["kept"]) == (1, 1, 2)
    assert [row["line"] for row in report.examples["near_duplicates"]] == [2]
    assert len(cleaned(tmp_path, text)[0]) == 3
    rows = load_source(DataArguments(data_path=[str(tmp_path / "a.tsv")]))["train"]
    dataset, _ = clean(
        DatasetDict(train=rows, test=rows),
        DataArguments(filters={"near_duplicates": True}, repair_text=True, keep_overlap=True),
    )
    assert [len(dataset[split]) for split in ("train", "test")] == [2, 3], "held-out pairs are as they were"


def test_repaired_text_is_kept_and_counted(tmp_path):
    text = "The cafÃ© is open\tDas CafÃ© hat geÃ¶ffnet\nnaïve\tnaïv\ncafÃ©\n"
    kept, report = cleaned(tmp_path, text, repair_text=True)
    assert kept == [("The café is open", "Das Café hat geöffnet"), ("naïve", "naïv")]
    assert report.splits["train"] == {
        "read": 3, "malformed": 1, "empty": 0, "identical": 0, "duplicates": 0, "kept": 2, "repaired": 1,
    }  # fmt: skip
    assert report.examples["repaired"][0]["excerpt"] == "The cafÃ© is open | Das CafÃ© hat geÃ¶ffnet"


def test_a_row_counts_for_one_reason_and_the_sum_is_what_was_read(tmp_path):
    text = f"<b>1999</b>\t2000\n1999\t2000\n{ENGLISH}\t{FRENCH}\n{ENGLISH}\t{GERMAN}\nx\n"
    on = {"html": True, "digits": True, "language": True, "near_duplicates": True}
    counts = cleaned(tmp_path, text, filters=on)[1].splits["train"]
    assert (counts["html"], counts["digits"], counts["language"], counts["kept"]) == (1, 1, 1, 1)
    assert counts.pop("read") == sum(counts.values()) == 5


def test_ten_examples_of_each_reason_with_their_place(tmp_path):
    rows = "".join(f"<b> {number}\tx {number}\n" for number in range(30))
    report = cleaned(tmp_path, f"a\tb\n{rows}" + "no tab\n" * 30, filters={"html": True})[1]
    assert [row["line"] for row in report.examples["html"]] == list(range(2, 12))
    assert [row["line"] for row in report.malformed_rows] == list(range(32, 42))
    assert report.splits["train"]["malformed"] == 30
    first = {"source": "embedded", "file": str(tmp_path / "a.tsv"), "line": 2, "reason": "html"}
    assert report.examples["html"][0] == first | {"excerpt": "<b> 0 | x 0"}


def test_an_example_names_the_file_that_its_row_is_in(tmp_path):
    names = [str(written(tmp_path / f"{name}.tsv", "Go\tLos\n<b>\tx\nno tab\n")) for name in "abc"]
    arguments = DataArguments(data_path=names, target_language="de", trust_data=True, filters={"html": True})
    _, report = clean(load_source(arguments), arguments)
    examples = report.malformed_rows + report.examples["html"] + report.examples["duplicates"]
    places = [(row["file"], row["line"]) for row in examples]
    assert places == [(name, line) for lines in (3, 2) for name in names for line in [lines]] + [
        (name, line) for name in names[1:] for line in [1]
    ]


def test_the_sentences_of_evaluation_files_are_excluded(tmp_path):
    pairs = written(tmp_path / "test.tsv", "en\tde\nThe End.\tSchluss jetzt\n")
    lines = written(tmp_path / "test.de", "Guten Tag!\n\n")
    text = "the end\tSchluss\nHello\tguten tag\nHi\tHallo\n"
    kept, report = cleaned(tmp_path, text, filters={"exclude": [str(pairs), str(lines)]})
    assert kept == [("Hi", "Hallo")] and report.splits["train"]["exclude"] == 2
    arguments = DataArguments(
        data_path=[str(tmp_path / "a.tsv")], target_language="de", trust_data=True, filters={"exclude": str(pairs)}
    )
    rows = load_source(arguments)
    assert clean(rows, arguments)[1].splits["train"]["exclude"] == 1
    written(pairs, "en\tde\nHi there\tHallo\nHello\tx\n")
    assert clean(rows, arguments)[1].splits["train"]["exclude"] == 2, "the changed file counts, not the cached result"


def test_a_broken_row_of_an_excluded_file_stops(tmp_path):
    path = written(tmp_path / "test.tsv", "a\tb\nbroken\n")
    with pytest.raises(GlossaError, match=r"exclude: .*test.tsv, line 2: no tab"):
        cleaned(tmp_path, "c\td\n", filters={"exclude": [str(path)]})


def test_many_texts_are_identified_as_each_alone():
    generator = random.Random(1)
    words = ["the", "house", "is", "der", "Hund", "läuft", "la", "maison", "est", "über", "niño", "книга", "дом",
             "中文", "です", "a", "ABC", "12"]  # fmt: skip
    texts = [" ".join(generator.choices(words, k=generator.randint(0, 12))) for _ in range(300)] + ["a cat " * 300] * 3
    found, expected = identify(texts, 0.5), [identifier().classify(text) for text in texts]
    for (label, probability), (own, alone) in zip(found, expected, strict=True):
        assert probability == pytest.approx(alone, abs=1e-5) and (label == own or alone < 0.5)
    assert len({label for label, probability in found if probability > 0.5}) > 3
