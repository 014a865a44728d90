"""The rules about texts in JavaScript and in Python: equal on every string of the tests and on real sentences."""

import ast
import gzip
import itertools
import json
import random
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from glossa.apps.web import PAGE
from glossa.apps.web.patterns import PATTERNS, javascript, text_rules
from glossa.model import abbreviations_glossa
from glossa.model.profile_glossa import TextProfile
from glossa.model.segments_glossa import as_written, has_more, model_text, segment_text, spaced_parts
from glossa.model.spans_glossa import find_spans
from glossa.translate import plausibility
from glossa.translate.texts.labels import End, lower_start, with_end
from glossa.translate.texts.spans import locate, without

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="this test needs Debian's package nodejs")
TESTS = Path(__file__).parents[2]
DATA = TESTS.parents[1] / "shared" / "data"
CODES = ["fr", "de", "es", "el", "hy", "th", "en"]
LONGEST = 60  # characters, so that many sentences are cut
MODELS = [
    {"lower_capitals": True, "mask_items": True, "add_stops": True, "keeps_placeholders": False},
    {"lower_capitals": False, "mask_items": False, "add_stops": False, "keeps_placeholders": True},
]
LANGUAGES = [["en", "de"], [None, None]]
KNOWN = ["en", "de", "fr", "hi", "ja", "sw", "zh"]
for model, ratio in zip(MODELS, (1.1, None), strict=True):
    model |= {"length_ratio": ratio}
    model |= {"languages": LANGUAGES.pop(), "split_sentences": True, "abbreviations": ["Kpr", "zzz"]}


def python(text, target, model):
    """What the script gives, by Python's own functions."""
    segments = segment_text(text, TextProfile.of(model), lambda piece: len(piece) <= LONGEST, spans=find_spans(text))
    read = [model_text(one, not one.copied and has_more(segments, row)) for row, one in enumerate(segments)]
    written = [one.text if one.copied else as_written(one, own) for one, own in zip(segments, read, strict=True)]
    located = [locate(one.text, one.spans, target) for one in segments]
    return {
        "end": [*End.of(text)],
        "ended": [with_end(target, End.of(text), code) for code in CODES],
        "lowered": [lower_start(text, find_spans(text), target, find_spans(target), code) for code in CODES],
        "segments": [one._asdict() | {"items": [*one.items], "spans": [*map(list, one.spans)]} for one in segments],
        "read": read,
        "joined": "".join(own + space for own, space in spaced_parts(segments, written)),
        "problem": plausibility.find_problem(text, target, model["length_ratio"], languages=model["languages"]),
        "located": [None if spans is None else [list(span) for span in spans] for spans in located],
        "without": [without(one.text, one.spans).text for one in segments],
    }  # fmt: skip


def javascripts(texts, tmp_path):
    given = tmp_path / "input.json"
    content = {"rules": text_rules(KNOWN), "texts": texts, "models": MODELS}
    content |= {"longest": LONGEST, "codes": CODES}
    given.write_text(json.dumps(content, ensure_ascii=True), encoding="utf-8")
    script = Path(__file__).with_name("segments.mjs")
    command = [NODE, "--no-warnings", script, PAGE / "browser", given]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def compare(texts, tmp_path):
    wrong = []
    for (text, target), found in zip(texts, javascripts(texts, tmp_path), strict=True):
        for model, own in zip(MODELS, found, strict=True):
            expected = python(text, target, model)
            wrong += [(text, name, expected[name], own[name]) for name in expected if expected[name] != own[name]]
    assert not wrong, f"{len(wrong)} differ, for example {wrong[:3]}"


def strings():
    """Strings of the tests that could be texts: every fourth of a file."""
    for path in sorted(TESTS.rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        found = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        yield from [text for text in found if 2 < len(text) < 3000][::4]
    lines = (TESTS / "model" / "sentences.tsv").read_text(encoding="utf-8").splitlines()
    yield from (line.partition("\t")[2] for line in lines)


def pairs_of(texts):
    """Each text with the next one as its translation, and with itself as another."""
    texts = [text for text in texts if text.isprintable() or "\n" in text]
    texts = [text for text in dict.fromkeys(texts) if text.encode(errors="ignore").decode() == text]
    return [*zip(texts, [*texts[1:], ""], strict=True), *zip(texts, texts, strict=True)]


@needs_node
def test_a_translation_without_a_letter_or_digit_is_empty(tmp_path):
    """The case `wordless-translations`."""
    compare(
        [("A man.", "« » ». »"), ("A man.", "♪"), ("♪", "« »"), ("Six.", "६"), ("Six.", "六"), ("Six.", "")], tmp_path
    )


@needs_node
@pytest.mark.slow
def test_strings_of_the_tests_have_the_same_segments(tmp_path):
    texts = pairs_of(strings())
    assert len(texts) > 2000
    compare(texts, tmp_path)


@needs_node
@pytest.mark.slow
def test_random_sentences_of_abbreviations_and_marks_have_the_same_segments(tmp_path):
    generator = random.Random(0)
    words = [word for name in abbreviations_glossa.__all__ for word in sorted(getattr(abbreviations_glossa, name))]
    marks = [
        ". ", "! ", "? ", " ", ", ", ": ", ".", "… ", ".” ", " – ", "。", "\n", ") ", " 12. ", " {x} ", " %s ", " 🙂 ",
    ]  # fmt: skip
    texts = [
        "".join(word + generator.choice(marks) for word in generator.choices(words, k=generator.randint(2, 14)))
        for _ in range(600)
    ]
    compare(pairs_of(texts), tmp_path)


def sentences():
    """Real sentences in Latin, Devanagari, Han, kana and, in Swahili, Latin again; 300 of each, and their English."""
    for language in ("hi", "zh", "sw", "pt-BR"):
        with zipfile.ZipFile(DATA / "tico19" / f"all.en-{language}.tmx.zip") as archive:
            text = archive.read(archive.namelist()[0]).decode()
        yield from itertools.islice(re.findall(r"<seg>(.*?)</seg>", text, re.DOTALL), 600)
    with gzip.open(DATA / "libreoffice-help" / "en-ja.tsv.gz", "rt", encoding="utf-8") as lines:
        yield from itertools.islice((line.rstrip("\n").split("\t")[-1] for line in lines), 300)


@pytest.mark.slow
@needs_node
@pytest.mark.skipif(not DATA.is_dir(), reason="this test needs ../shared/data")
def test_real_sentences_of_several_scripts_have_the_same_segments(tmp_path):
    texts = pairs_of(sentences())
    assert len(texts) > 3000
    compare(texts, tmp_path)


@needs_node
@pytest.mark.parametrize(
    ("pattern", "flags", "text"),
    [
        (r"a++b|a+", 0, "aaab aaa"), (r"(?<!x)\w{2,3}?", 0, "xab éü_ 12"), (r"[^\W\d]+", 0, "a1 b_ ç２"),
        (r"(?P<first>.)\1", 0, "aabb\n\ncc"), (r"\bé\b|\d$", 0, "é aé 12\n"), (r"(?:on|off)", re.IGNORECASE, "On OFF"),
    ],
)  # fmt: skip
def test_a_pattern_matches_the_same_in_javascript(pattern, flags, text, tmp_path):
    compiled = re.compile(pattern, flags)
    written = javascript(compiled)
    program = (
        f"console.log(JSON.stringify([...{json.dumps(text)}.matchAll("
        f"new RegExp({json.dumps(written['source'])}, 'g{written['flags']}'))].map((one) => one[0])))"
    )
    output = subprocess.run([NODE, "-e", program], check=True, capture_output=True, text=True, timeout=60).stdout
    assert json.loads(output) == [found[0] for found in compiled.finditer(text)]


def test_patterns_are_those_of_the_modules():
    assert {name for name, pattern in PATTERNS.items() if not isinstance(pattern, re.Pattern)} == set()
    with pytest.raises(ValueError, match="Inline flags"):
        javascript(re.compile("(?i:a)b"))
