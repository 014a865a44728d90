"""Words that are linked in pairs, and `glossa align`."""

import gzip
import sys
from random import Random

import pytest
from refusals import refused

from glossa.base.word_links import MODELS, find_words, link_words, pharaoh, token_links
from glossa.cli.align import main

NOUNS = {"cat": "Katze", "dog": "Hund", "bird": "Vogel", "horse": "Pferd", "cow": "Kuh", "fish": "Fisch"}
VERBS = {"sees": "sieht", "hears": "hört", "likes": "mag", "hunts": "jagt"}
PLACES = {"today": "heute", "often": "oft", "there": "dort"}


def corpus(rows=400):
    """Sentences of three words and a period, whose translations have another order, and the links of their words."""
    random = Random(1)
    pairs = []
    for _ in range(rows):
        noun, verb, place = (random.choice(list(words.items())) for words in (NOUNS, VERBS, PLACES))
        pairs.append((f"{noun[0]} {verb[0]} {place[0]}.", f"{verb[1]} {noun[1]} {place[1]}."))
    return pairs


@pytest.mark.parametrize("model", MODELS)
def test_links_are_those_that_the_sentences_were_made_with(model):
    sources, targets = zip(*corpus(), strict=True)
    found = link_words(sources, targets, model)
    words = [links[:3] for links in found]  # a mark that ends every sentence says nothing
    assert words.count([(0, 1), (1, 0), (2, 2)]) >= 0.95 * len(found)
    assert found == link_words(sources, targets, model)


def test_a_blank_side_and_an_endless_one_have_no_links():
    sources, targets = zip(*corpus(), ("", "Hund"), ("cat", " "), ("cat " * 2000, "Katze"), strict=True)
    found = link_words(sources, targets)
    assert found[-3:] == [[], [], []] and found[:-3] == link_words(sources[:-3], targets[:-3])
    assert link_words([], []) == [] and link_words([""], [""]) == [[]]


def test_links_between_white_space():
    source, target = "He said, 'yes' - at 12:30.", "Er sagte «ja» , um 12:30 Uhr."
    words = [[text[a:b] for a, b in find_words(text)] for text in (source, target)]
    assert words[0] == ["He", "said", ",", "'", "yes'", "-", "at", "12:30", "."]
    assert words[1] == ["Er", "sagte", "«", "ja", "»", ",", "um", "12:30", "Uhr", "."]
    links = [(0, 0), (1, 1), (2, 5), (3, 2), (4, 3), (5, 5), (6, 6), (7, 7), (7, 8), (8, 9)]
    # He said, 'yes' - at 12:30.   /   Er sagte «ja» , um 12:30 Uhr.
    spans = find_words(source), find_words(target)
    assert token_links((source, target), spans, links) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (5, 6)]
    assert pharaoh([(0, 0), (10, 2)]) == "0-0 10-2" and pharaoh([]) == ""


def write(folder, pairs):
    source, target = folder / "a.en", folder / "a.de"
    source.write_text("".join(f"{first}\n" for first, _ in pairs))
    target.write_text("".join(f"{second}\n" for _, second in pairs))
    return str(source), str(target)


def test_the_command(tmp_path, capsys):
    source, target = write(tmp_path, [*corpus(), ("", "")])
    main([source, target])
    printed = capsys.readouterr().out
    assert printed.count("0-1 1-0 2-2\n") >= 380 and printed.count("\n") == 401 and printed.endswith("\n\n")
    packed = tmp_path / "a.en.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.en").read_bytes()))
    main([str(packed), target, "--output", str(tmp_path / "links")])
    assert (tmp_path / "links").read_text() == printed


def test_the_command_refuses(tmp_path, monkeypatch):
    source, target = write(tmp_path, corpus(10))
    with open(target, "a") as file:
        file.write("mehr\n")
    refused(r"has 10 lines and .* has 11", main, [source, target])
    (tmp_path / "a.de").write_bytes(b"ja\n\xe9\n" + b"nein\n" * 8)
    refused("line 2: not UTF-8", main, [source, target])
    refused("which is an input file", main, [source, target, "--output", source])
    for module in ("thot", "thot.alignment"):
        monkeypatch.setitem(sys.modules, module, None)
    refused(r'sil-thot.*missing.*pip install "glossa-mt\[documents\]"', link_words, ["a"], ["b"])
