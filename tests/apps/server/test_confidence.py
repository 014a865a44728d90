"""The probability that a translation needs no correction, in answers."""

from running_server import ask

from glossa.translate.build import build_translator
from glossa.translate.options import Checks

TEXTS = ["a k.", "b l. c m.", "42"]


def test_it_is_the_one_of_the_command(own_url, confident_run):
    translator = build_translator([str(confident_run)], "auto", checks=Checks("copy", confident=True))
    ours = [best.confidence for best, *_ in translator.translate(TEXTS)]
    found = ask(own_url, q=TEXTS, confidence=True).json()
    assert found["confidence"] == [round(one, 4) for one in ours]
    assert ours[2] == 1 and 0 < ours[1] < ours[0] < 1
    assert ask(own_url, q=TEXTS[0], confidence="true").json()["confidence"] == round(ours[0], 4)


def test_it_is_only_there_where_it_is_asked_for_and_known(own_url):
    assert "confidence" not in ask(own_url, q="a k.").json()
    assert "confidence" not in ask(own_url, q="a k.", confidence=False).json()
    for ways in ({"source": "fr", "target": "en"}, {"target": "de"}, {"target": "en"}):  # none, by French, the same
        found = ask(own_url, q="a k.", confidence=True, **ways).json()
        assert found["confidence"] is None and found["translatedText"]
