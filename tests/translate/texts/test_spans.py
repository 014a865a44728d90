"""Spans: which they are, where they are found again, and how they are put back."""

import pytest
from translating import Function, Given

from glossa.model.spans_glossa import Span, find_spans
from glossa.translate.texts.spans import MOVED, locate, without
from glossa.translate.texts.tags import Part, take_tags


def spans(text):
    return [text[start:end] for start, end in find_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello %s, %1$d of %(count)d: %.2f%%", ["%s", "%1$d", "%(count)d", "%.2f", "%%"]),
        # The cases `placeholder-corrupted`, `rails-percent`, `rails-percent-brace` and `po-python-r-and-qt`.
        (
            "See %<name>s, {{{name}}}, %{count}, %r, %1, %L2, %n: 100%% sure, 7%room",
            ["%<name>s", "{{{name}}}", "%{count}", "%r", "%1", "%L2", "%n", "100%%"],
        ),
        # As GNU gettext checks them in catalogs, and strftime.
        ("Copy %'d files in %Id of %1$'u, the %'dth, %dst", ["%'d", "%Id", "%1$'u", "%'d", "%d"]),
        ("A %dx%d picture of %<PRIu64> bytes: %m", ["%d", "%d", "%<PRIu64>", "%m"]),
        ("at %-I:%M %p, %A, %B %e %Y; %S of", ["%-I", "%M", "%p", "%A", "%B", "%e", "%Y", "%S"]),
        ("100%discount, 5 %discount and 3% of a", ["3%"]),
        ("{name} has {0} {{a.b}} ${PATH} #{x} <%= y %>", ["{name}", "{0}", "{{a.b}}", "${PATH}", "#{x}", "<%= y %>"]),
        ("See https://a.example/b?c=1. Or me@a.example!", ["https://a.example/b?c=1", "me@a.example"]),
        ("Open /etc/hosts, ./a.sh, C:\\a\\b.txt or c/a.md.", ["/etc/hosts", "./a.sh", "C:\\a\\b.txt", "c/a.md"]),
        # The case measure-per-hour.
        ("300 km/h, 5 m/s, 5 kg/m³, 3 ‰, 5 km/day", ["300 km/h", "5 m/s", "5 kg/m³", "3 ‰"]),
        # The case url-parenthesis.
        ("See https://a.example/b_(c), www.a.example/[d].", ["https://a.example/b_(c)", "www.a.example/[d]"]),
        ("(see https://a.example/b) [c](https://a.example/d_(e)f).", ["https://a.example/b", "https://a.example/d_(e)f"]),
        ("https://a.example/b),c http://[::1]:80/ http://a/(b", ["https://a.example/b),c", "http://[::1]:80/", "http://a/(b"]),
        # The case path-last-slash.
        ("Open /etc/, ~/a/ or /usr/local/bin/. It is /kæt/.", ["/etc/", "~/a/", "/usr/local/bin/", "/kæt/"]),
        ("In C:\\Users\\ or C:\\a b\\c. And/or he/ she", ["C:\\Users\\", "C:\\a b\\c"]),
        ("At 192.168.0.1:8080. Or 10.0.0.1, at 10:30", ["192.168.0.1:8080", "10.0.0.1"]),
        ("@anna and @b@c.example: #MeToo-Bewegung, (#a1)", ["@anna", "@b@c.example", "#MeToo", "#a1"]),
        ("We are #1, the #1st, in C# or F#; a @ 3, &#x27; 你好@bob说", ["@bob"]),
        ("Version v2.3.1 or 1.2.3, 5 km, 3.5 GB, 20 °C, 50%", ["v2.3.1", "1.2.3", "5 km", "3.5 GB", "20 °C", "50%"]),
        ("It is 1.2.3-rc1. Or 1.2.3. At 1.2 or 1.2.3.x", ["1.2.3-rc1", "1.2.3"]),
        ("https://例え.jp/a と https://例え.jp。詳しくはhttp://a.jpを", ["https://例え.jp/a", "https://例え.jp", "http://a.jp"]),
        ("Call max_length, a_b_c(), MAX_SIZE, getName()", ["max_length", "a_b_c()", "MAX_SIZE", "getName()"]),
        ("Join by os.path.join", ["os.path.join"]),
        ("Sa_ve, E_xit, my_, iPhone, McDonald, e.g. this, i.e. that, end.Then", []),
        ("In utf-8, mp-3 or covid-19. Not COVID-19 or 20-year", ["utf-8", "mp-3", "covid-19"]),
        ("At d41d8cd98f and `x += 1`; deadbeef, 1234567, facade", ["d41d8cd98f", "`x += 1`"]),
        ("DE89 3704 0044 0532 0130 00, DE893704", ["DE89 3704 0044 0532 0130 00"]),
        ("ISBN 978-3-16-148410-0, +49 30 901820", ["978-3-16-148410-0", "+49 30 901820"]),
        ("Call +1 (212) 555-0100 on 2024-05-10, 5 + 3 = 8", ["+1 (212) 555-0100"]),
        ("Use --verbose 🙂 <br/> &nbsp; now", ["--verbose", "🙂", "<br/>", "&nbsp;"]),
        ("An der 5%-Hürde, die „Rot“-Taste, (Vor-)-Stufe; \"-v\" und --quiet", ["5%", "--quiet"]),
        ("Three dogs, 3 dogs, at 5 p.m. and/or 1/2; e.g. this. 7 %(n)d", ["%(n)d"]),
    ],
)  # fmt: skip
def test_what_must_survive(text, expected):
    assert spans(text) == expected


def test_equal_ones_are_found_in_their_order():
    source = "no `no` no"
    assert locate(source, find_spans("{a} {b} {a}"), "x") is None
    assert locate("{a} {b} {a}", find_spans("{a} {b} {a}"), "{b} {a} {a}") == [(4, 7), (0, 3), (8, 11)]
    assert locate(source, [Span(4, 6)], "no x no no") == [(5, 7)]
    assert locate("5 km", find_spans("5 km"), "15 km") is None, "it is another number"


def test_a_sentence_without_them():
    assert without("Save {a} and {b}, {c} now.", find_spans("Save {a} and {b}, {c} now."))[::2] == (
        "Save and now.",
        [5, 9],
    )
    assert without("Good morning, {name}!", find_spans("Good morning, {name}!")).text == "Good morning!"
    assert without("See [{n} more] and ({n} less).", find_spans("See [{n} more] and ({n} less).")).text == (
        "See [more] and (less)."
    )
    assert without("{name}, come!", find_spans("{name}, come!")).text == "come!"


@pytest.mark.parametrize(
    ("source", "engine", "expected", "problem"),
    [
        ("Good morning, %s!", {"Good morning!": "Bonjour !"}, "Bonjour, %s !", ""),
        ("{sign}2 files", {"2 files": "2 Dateien"}, "{sign}2 Dateien", ""),  # glued as in the source
        ("{name}, come here.", {"come here.": "viens ici."}, "{name}, viens ici.", ""),
        ("Open {file} now.", {"Open now.": "Jetzt öffnen."}, "Jetzt {file} öffnen.", ""),
        ("Open {a}, {b} or {c} now.", {"Open or now.": "Ouvrir."}, "Ouvrir {a}, {b} {c}.", MOVED),
        ("{a} {b}", {}, "{a} {b}", ""),
        ("Go to {a}.", {"Go to.": ""}, "", "empty"),
    ],
)
def test_they_are_put_back(source, engine, expected, problem):
    ((found,),) = Given(lambda text: engine.get(text, "Etwas ganz anderes.")).translate([source])
    assert found.text == expected and found.problem == problem


def test_sentences_do_not_end_inside_of_them():
    asked = Function(str.upper)
    source = "Run a. B now. Then stop."
    parts = [Part("text", 0, 4, "Run "), Part("alone", 4, 8, "a. B"), Part("text", 8, 24, source[8:])]
    Given(asked).translated(take_tags(parts))
    assert sorted(asked.asked[:2]) == ["Run a. B now.", "Then stop."]
