"""Data that cannot be what the settings say stop a run; data that are merely unusual do not."""

import gzip
import logging
from itertools import islice
from pathlib import Path

import pytest

from glossa.base.errors import GlossaError
from glossa.readers.embedded import read_embedded
from glossa.train.data.arguments import CHECKS, DataArguments
from glossa.train.data.cleaning.plausibility import FEWEST
from glossa.train.data.pairs import load_pairs, prepare_pairs
from glossa.train.data.texts import prepare_texts

MULTI30K = Path(__file__).parents[5] / "shared/data/multi30k"


@pytest.fixture(scope="module")
def pairs():
    return [(row["translation"]["en"], row["translation"]["fr"]) for row in islice(read_embedded(), 400)]


@pytest.fixture
def prepare(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(rows, **settings):
        Path("a.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        return prepare_pairs(DataArguments(data_path=["a.tsv"], **{"validation_size": 1, "test_size": 1} | settings))

    return run


def refused(prepare, rows, message, also=(), **settings):
    """The run stops with `message`, the place and the flag; with the flag it goes on, with all others it stops."""
    with pytest.raises(GlossaError, match=message) as error:
        prepare(rows, **settings)
    check = str(error.value).rpartition("(--trust_data ")[2].removesuffix(").")
    assert check in CHECKS and "\n" not in str(error.value)
    with pytest.raises(GlossaError, match=message):
        prepare(rows, **settings, trust_data=[name for name in CHECKS if name != check])
    return prepare(rows, **settings, trust_data=[check, *also])


def test_right_data_pass_and_their_languages_are_reported(prepare, pairs):
    _, report = prepare(pairs)
    assert report.languages == {"train": {"source": "en", "target": "fr"}}


def test_more_than_one_malformed_row_in_twenty_stops(prepare, pairs):
    good, bad = pairs[:95], [("no tab",)]
    _, report = prepare(good + bad * 5)
    assert report.splits["train"]["malformed"] == 5
    message = r"a\.tsv, line 95: no tab: .*: 'no tab'\. This is the first of 6 malformed rows among 100 in the train"
    _, report = refused(prepare, good[:94] + bad * 6, message)
    assert report.splits["train"] == {
        "read": 100, "malformed": 6, "empty": 0, "identical": 0, "duplicates": 0, "kept": 94,
    }  # fmt: skip


def test_swapped_sides_stop(prepare, pairs, caplog):
    message = (
        r"line \d+: the source texts are not 'en' but 'fr', such as .*; .*line \d+: the target texts are not 'fr' but "
        r"'en', such as .*\. Set source_language to 'fr' and target_language to 'en'"
    )
    turned = [(french, english) for english, french in pairs]
    with caplog.at_level(logging.WARNING):
        _, report = refused(prepare, turned, message)
    assert report.languages["train"] == {"source": "fr", "target": "en"}
    assert "the source texts are not 'en' but 'fr'" in caplog.text
    _, report = prepare(turned, source_language="French", target_language="eng")
    assert report.languages["train"] == {"source": "fr", "target": "en"}


def test_one_side_in_another_language_stops(prepare, pairs):
    message = r"a\.tsv, line \d+: the target texts are not 'de' but 'fr', such as '.*'\. Give the right files"
    refused(prepare, pairs, message, target_language="ger")
    shuffled = [(f"Then {pairs[n][0]}", pairs[n - 7][0]) for n in range(len(pairs))]
    refused(prepare, shuffled, "the target texts are not 'fr' but 'en'")


def test_a_fifth_of_another_language_or_an_unknown_one_is_no_reason_to_stop(prepare, pairs):
    mixed = [(english, english + "!" if n % 5 == 0 else french) for n, (english, french) in enumerate(pairs)]
    assert prepare(mixed)[1].languages["train"] == {"source": "en", "target": "fr"}
    assert prepare(pairs, source_language="xx", target_language="bairisch")[1].languages["train"]["source"] == "en"


def test_a_near_relative_is_not_told_apart(prepare, pairs):
    danish = ["Hunden løber gennem haven og leger med børnene.", "Jeg kan ikke komme i dag, fordi jeg er syg."]
    rows = [(english, f"{danish[n % 2]} {n}") for n, (english, _) in enumerate(pairs)]
    assert prepare(rows, target_language="nb")[1].sizes["train"] == 398
    with pytest.raises(GlossaError, match="the target texts are not 'de' but 'da'"):
        prepare(rows, target_language="de")


def test_equal_sides_stop(prepare, pairs):
    message = r"a\.tsv, line 1: source and target are both '.*', as in 400 of 400 pairs looked at"
    refused(prepare, [(english, english.upper()) for english, _ in pairs], message, also=["language"])
    half = [(english, english if n % 2 else french) for n, (english, french) in enumerate(pairs)]
    prepare(half)


def test_a_length_ratio_of_no_language_pair_stops(prepare, pairs):
    message = r"The source typically has \d+ times as many characters; translations have at most 6 times as many"
    refused(prepare, [(english, f"{n}") for n, (english, _) in enumerate(pairs)], message)
    refused(prepare, [(f"{n}", french) for n, (_, french) in enumerate(pairs)], "The target typically has")
    prepare([(english, "".join(chr(0x4E00 + n % 999) for n in range(index, index + len(english) // 5 + 1)))
             for index, (english, _) in enumerate(pairs)], target_language="zh")  # fmt: skip


def test_artificial_and_few_pairs_are_not_judged(prepare, tiny_pairs):
    tiny = [line.split("\t") for line in tiny_pairs.read_text().splitlines()]
    numbered = [(f"s{n} s{n + 1}", f"t{n}") for n in range(4000)]
    for rows in (tiny, numbered, [(str(n), str(n)) for n in range(FEWEST - 1)]):
        assert prepare(rows)[1].languages == {}


def test_every_split_is_judged(prepare, pairs, tmp_path):
    (tmp_path / "v.tsv").write_text("".join(f"{french}\t{english}\n" for english, french in pairs))
    with pytest.raises(GlossaError, match=r"v\.tsv, line \d+: the source texts are not 'en' but 'fr'"):
        prepare(pairs, validation_path=["v.tsv"], keep_overlap=True)


def test_texts_stop_for_malformed_rows_only(tmp_path, pairs):
    (tmp_path / "a.txt").write_text("".join(f"{french}\n" for _, french in pairs))
    _, report = prepare_texts(DataArguments(data_path=[str(tmp_path / "a.txt")]))
    assert report.splits["train"]["kept"] == 400 and report.languages == {}
    (tmp_path / "a.txt").write_text("a\tb\n" + "".join(f"text {n}\n" for n in range(10)))
    with pytest.raises(GlossaError, match=r"line 1: a tab in the text.*first of 1 malformed rows among 11"):
        prepare_texts(DataArguments(data_path=[str(tmp_path / "a.txt")]))


def test_pairs_to_score_give_a_warning_only(tmp_path, pairs, caplog):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{french}\t{english}\n" for english, french in pairs))
    with caplog.at_level(logging.WARNING):
        assert len(load_pairs(DataArguments(data_path=[str(path)]))) == 400
    assert "the source texts are not 'en' but 'fr'" in caplog.text


@pytest.mark.skipif(not MULTI30K.exists(), reason=f"Multi30k is not at {MULTI30K}")
@pytest.mark.parametrize("target", ["de", "fr"])
def test_lower_case_tokenized_sentences_of_a_real_corpus_are_known(prepare, target):
    sides = [
        gzip.decompress((MULTI30K / "tok" / f"val.lc.norm.tok.{side}.gz").read_bytes()).decode().splitlines()
        for side in ("en", target)
    ]
    _, report = prepare(list(zip(*sides, strict=True)), target_language=target)
    assert report.languages["train"] == {"source": "en", "target": target}
