"""Labels: their ends and keys in translations, whatever the model writes; and what begins with a span."""

from dataclasses import replace

import pytest
from translating import Answers, Characters, Function, Given, translated

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.job import DocumentJob
from glossa.translate.interface import Search
from glossa.translate.texts.labels import COLON, ELLIPSIS, EXCLAMATION, NONE, OTHER, QUESTION, STOP, End, with_end
from glossa.translate.texts.tags import Tagged
from glossa.translate.translator import Translator


class InLanguage(Characters):
    def __init__(self, code):
        self.init_kwargs = {"tgt_lang": code}


def told(answer, code="fr", add_stops=False):
    """A translator into a language whose model answers every sentence with `answer`."""
    function = answer if callable(answer) else lambda _: answer
    return Translator(Function(function, add_stops=add_stops), InLanguage(code))


def of_program(translator, text):
    (planned,) = translator.plan([replace(Tagged.plain(text), label="")])
    translator.translate_segments(planned.sentences)
    return "".join("".join(planned.part(place)) for place in range(len(planned.sentences)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Name", NONE), ("Open {file}", NONE), ("50 %", NONE), ("Save (all)", NONE), ("Go.", STOP), ("走。", STOP),
        ("नमस्ते।", STOP), ("Wait...", ELLIPSIS), ("Wait…", ELLIPSIS), ("Wait ....", ELLIPSIS), ("Name:", COLON),
        ("Nom\u00a0:", COLON), ("名前：", COLON), ("Who?", QUESTION), ("من؟", QUESTION), ("Go !", EXCLAMATION),
        ("What?!", OTHER), ("one,", OTHER), ('He said: "Go."', OTHER), ("(Go.)", OTHER),
    ],
)  # fmt: skip
def test_kinds_of_ends(text, kind):
    assert End.of(text).kind == kind


@pytest.mark.parametrize(
    ("source", "target", "language", "expected"),
    [
        ("Open", "Ouvre-toi.", "fr", "Ouvre-toi"),
        ("Open", "Ouvre-toi\u202f!", "fr", "Ouvre-toi"),
        ("Name:", "Nom.", "fr", "Nom\u00a0:"),
        ("Name:", "Nom :", "fr", "Nom :"),  # as the model spaces it
        ("Name:", "Name.", "de", "Name:"),
        ("Name:", "名前。", "ja", "名前："),
        ("名前：", "Name.", "en", "Name:"),
        ("Who?", "Qui.", "fr", "Qui\u202f?"),
        ("Who?", "Ποιος.", "el", "Ποιος;"),
        ("Who?", "من.", "ar", "من؟"),
        ("Who?", "Ո՞վ։", "hy", "Ո՞վ։"),  # which has its mark inside of the word
        ("Sorry!", "Lo siento.", "es", "¡Lo siento!"),
        ("Save", "¡Guarda!", "es", "Guarda"),
        ("Are you sure?", "Está seguro", "es", "¿Está seguro?"),
        ("Wait...", "Attendez.", "fr", "Attendez..."),
        ("Wait…", "Attendez", "fr", "Attendez…"),
        ("Done.", "Fini", "hi", "Fini।"),
        ("Done.", "เสร็จ", "th", "เสร็จ"),
        ("Done.", "完了", "ja", "完了。"),
        ("Name", "le nom (x).", None, "le nom (x)"),
        ("Name", 'Il dit "Va."', "fr", 'Il dit "Va."'),
        ("Name:", "le nom,", "de", "le nom:"),
        ("What?!", "Quoi.", "fr", "Quoi."),
        ("8 o'clock", "8 a.m.", "en", "8 a.m."),  # an abbreviation
        ("lxml 4.8.0", "LXML 4.8.0.", "de", "LXML 4.8.0"),
        ("Name", ".", "fr", "."),  # nothing would be left
    ],
)
def test_an_end_stays_in_its_kind_as_the_language_writes_it(source, target, language, expected):
    assert with_end(target, End.of(source), language) == expected


def test_a_translator_may_be_told_its_language():
    engine = Function(lambda _: "Nom.")
    assert Translator(engine, Characters(), languages=(None, "fr")).best(["Name:"]) == ["Nom\u00a0:"]
    assert Translator(engine, Characters()).best(["Name:"]) == ["Nom:"]
    known = Translator(engine, InLanguage("de"), languages=(None, "fr"))  # the tokenizer knows
    assert known.best(["Name:"]) == ["Nom:"]


def test_lines_without_a_final_mark_are_labels():
    """The kind of the case `message-edges`; a line with a final mark ends as the model ends it."""
    texts = ["The house", "The boy:", "Open the house...", "Go.", "Who?", "Go. Who", "Title\nGo.", "Save 🙂"]
    found = told("Ouvre-toi !").best(texts)
    assert found == [
        "Ouvre-toi", "Ouvre-toi\u00a0:", "Ouvre-toi...", "Ouvre-toi !", "Ouvre-toi !", "Ouvre-toi ! Ouvre-toi",
        "Ouvre-toi\nOuvre-toi !", "Ouvre-toi 🙂",
    ]  # fmt: skip


@pytest.mark.parametrize(("add_stops", "read"), [(False, "The boy"), (True, "The boy.")])
def test_the_model_does_not_read_a_colon_or_an_ellipsis(add_stops, read):
    for text in ("The boy:", "The boy...", "The boy…"):
        translator = told("Le garçon.", add_stops=add_stops)
        assert translator.best([text])[0].startswith("Le garçon") and translator.engine.asked == [read]


def test_texts_of_a_program_end_as_they_do():
    texts = {"Go.": "Va.", "Who?": "Va\u202f?", "Go!": "Va\u202f!", "Go": "Va"}
    for text, expected in texts.items():
        assert of_program(told("Va..." if text != "Go" else "Va."), text) == expected


@pytest.mark.parametrize(
    ("text", "answer", "read", "expected"),
    [
        ("&File", "Fichier.", "File", "&Fichier"), ("E&xit", "Quitter", "Exit", "&Quitter"),
        ("Save &As...", "Enregistrer sous", "Save As", "&Enregistrer sous..."),
        ("_Save", "Enregistrer", "Save", "Enregi_strer"),
        ("Open &file", "Ouvrir le fichier", "Open file", "Ouvrir le &fichier"), ("R&D", "R&D", "R&D", "R&D"),
        ("Tips & tricks", "Trucs & astuces", "Tips & tricks", "Trucs & astuces"),
        ("my_name", "mon nom", "my_name", "mon nom"), ("_one_ two", "un deux", "_one_ two", "un deux"),
        ("&One &two", "un deux", "&One &two", "un deux"),
        ("&Open {open} now", lambda text: text.replace("Open", "Ouvrir"), "Open {open} now", "&Ouvrir {open} now"),
    ],
)  # fmt: skip
def test_the_key_of_a_menu_stays_once(text, answer, read, expected):
    translator = told(answer)
    assert of_program(translator, text) == expected and translator.engine.asked == [read]
    assert told(lambda text: text).best([text]) == [text], "in lines these are characters like others"


def test_a_key_stands_behind_words_of_scripts_without_such_letters():
    assert of_program(told("文件。", "zh"), "&File...") == "文件(&F)..."
    assert of_program(told("파일", "ko"), "&File") == "파일(&F)"
    assert of_program(told("Файл", "ru"), "&File") == "&Файл"


@pytest.mark.parametrize(
    ("text", "answer", "code", "expected"),
    [
        ("{n} books", "Les livres.", "fr", "{n} les livres"),
        ("{n} books", "Bücher.", "de", "{n} Bücher"),  # a noun
        ("{n} of all", "Von allen.", "de", "{n} von allen"),
        ("{n} from Paris", "Paris est là.", "fr", "{n} Paris est là"),
        ("{n} files", "URL sont là.", "fr", "{n} URL sont là"),
        ("{n} I know", "I know.", "en", "{n} I know"),
        ("{n} Books", "Livres.", "fr", "{n} Livres"),
        ("books of {n}", "Livres de", "fr", "Livres de {n}"),
    ],
)
def test_what_follows_a_placeholder_begins_no_sentence(text, answer, code, expected):
    """The model loses the placeholder, and begins a sentence."""
    assert told(answer, code).best([text]) == [expected]
    kept = expected[: expected.index("{n}")] + "{n} " + answer if text.startswith("{") else f"{answer} {{n}}"
    assert told(kept, code).best([text]) == [expected]


def test_translations_that_differ_in_their_ends_only_are_one():
    engine = Answers("Va.", "Va !", "Allez.")
    ((first, second, third),) = Translator(engine, Characters(), Search(3, 3)).translate(["Go"])
    assert [first.text, second.text, third.text] == ["Va", "Allez", ""]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.json", '{"a": "&Open!"}', '{"a": "&OPEN\u202f!"}'),
        ("a.po", 'msgid "Name:"\nmsgstr ""\n', 'msgid "Name:"\nmsgstr "NAME\u00a0:"\n'),
        ("a.yaml", "a: Who?\n", "a: WHO\u202f?\n"),
        ("a.properties", "a=Name\n", "a=NAME\n"),
        ("a.html", "<p>Name</p><p>Go!</p>", "<p>NAME</p><p>GO.</p>"),  # a page has sentences, and headings
    ],
)
def test_formats_of_programs_have_labels(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content, encoding="utf-8")
    found = translated(tmp_path / name, lambda text: text.rstrip(".!?").upper() + ".")
    assert found.decode("utf-8") == expected


def test_equal_sentences_of_a_folder_end_by_their_format(tmp_path):
    """A kept translation of a page is not taken for a text of a program, now or after an interruption."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_text("<p>Go!</p>")
    (tmp_path / "in" / "b.json").write_text('{"a": "Go!"}')
    translator = Given(lambda text: "Los.")
    DocumentJob(tmp_path / "in", tmp_path / "out", languages=LanguagePair("en", "de")).run(translator)
    assert (tmp_path / "out" / "a.html").read_text() == "<p>Los.</p>"
    assert (tmp_path / "out" / "b.json").read_text() == '{"a": "Los!"}'


def test_a_long_stretch_of_white_space_is_read_once():
    """The kind of the case `hostile/spaces`: with a search at each character this took minutes."""
    assert End.of("We find" + " " * 2_000_000 + "it").kind == NONE
    assert End.of("We find" + " " * 2_000_000 + ".").start == len("We find")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tag: {tag}.", "La balise {tag}."),  # the model reads "The tag:."
        ("The tag: {tag}", "La balise\u00a0: {tag}"),
        ("The tag. {tag}", "La balise. {tag}"),
    ],
)
def test_a_placeholder_at_the_end_stays_on_its_side_of_the_final_mark(text, expected):
    assert of_program(told("La balise."), text) == expected


@pytest.mark.parametrize("text", ["Name:", "&Open...", "Who?", "{n} books", "One\u00a0:"])
def test_a_text_that_the_model_repeats_stays_as_it_is(text):
    translator = told(lambda text: text)
    assert of_program(translator, text) == translator.best([text])[0] == text
