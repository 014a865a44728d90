"""Catalogs in PO: labels, accelerators, headers and plural forms. Cases that once went wrong have their names."""

import subprocess
from shutil import which

from translating import KNOWN, Given, shouted

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.formats.opening import open_document
from glossa.apps.documents.job import DocumentJob


def entries(*texts):
    return "".join(f'msgid "{text}"\nmsgstr ""\n\n' for text in texts)


def test_labels_end_as_their_source(tmp_path):
    """The case `message-edges`, with an engine that makes sentences."""
    sources = ("Feed the cat...", "&Feed the cat", "_Feed the cat", "The cat", "The child:")
    found = shouted(tmp_path, "a.po", entries(*sources), lambda text: text.rstrip(".:").upper() + ".")
    for text in ("FEED THE CAT...", "&FEED THE CAT", "_FEED THE CAT", "THE CAT", "THE CHILD\u00a0:"):
        assert f'msgstr "{text}"' in found, text


def test_every_message_of_a_catalog_is_a_text(tmp_path):
    """The case `po-mnemonics`."""
    found = shouted(
        tmp_path, "a.po", entries("_Print", "Cl_ose", "_Feed the cat", "On/Off") + '\tmsgid "A cat."\n\tmsgstr ""\n'
    )
    for text in ("_PRINT", "CL_OSE", "_FEED THE CAT", "ON/OFF", "A CAT."):
        assert f'msgstr "{text}"' in found, text


TEMPLATE = r"""#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: cats 2.0\n"
"PO-Revision-Date: YEAR-MO-DA HO:MI+ZONE\n"
"Last-Translator: FULL NAME <EMAIL@ADDRESS>\n"
"Language-Team: LANGUAGE <LL@li.org>\n"
"Language: \n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=CHARSET\n"
"Content-Transfer-Encoding: 8bit\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"

#, python-format
msgid "%d cat"
msgid_plural "%d cats"
msgstr[0] ""
msgstr[1] ""

#, no-c-format
msgid "A cat in the château."
msgstr ""
"""


def test_the_header_of_a_template(tmp_path):
    """The case `pot-header`."""
    found = shouted(tmp_path, "a.pot", TEMPLATE, languages=LanguagePair("en", "pl"))
    assert '"Language: pl\\n"' in found and "charset=UTF-8" in found and "fuzzy" not in found
    assert '"Plural-Forms: nplurals=3; plural=' in found and 'msgstr[2] "%d CATS"' in found
    assert 'msgstr[0] "%d CAT"' in found
    assert "msgstr[1]" not in shouted(tmp_path, "a.pot", TEMPLATE, languages=LanguagePair("en", "ja"))
    if which("msgfmt"):
        for language in ("pl", "fr", "ja", "ar"):
            found = shouted(tmp_path, "a.pot", TEMPLATE, languages=LanguagePair("en", language))
            (tmp_path / "a.po").write_text(found, encoding="utf-8")
            checked = ["msgfmt", "--check-format", "--check-header", "-o", "/dev/null", tmp_path / "a.po"]
            result = subprocess.run(checked, capture_output=True, text=True)
            assert result.returncode == 0, result.stderr


def test_an_accelerator_goes_to_its_letter(tmp_path):
    for source, new, expected in (
        ("_Open", "Ouvrir", "_Ouvrir"),
        ("Save &as", "Enregistrer sous", "Enregistrer sous".replace("as", "&as")),
        ("&File", "Datei", "&Datei"),
        ("D_efault zoom:", "Standard:", "Standard:".replace("S", "_S")),
    ):
        found = shouted(tmp_path, "a.po", entries(source), lambda text, new=new: new)
        assert found.count("&") + found.count("_") == 2, "once in each of both"
        if expected != new:
            assert f'msgstr "{expected}"' in found


def test_a_name_with_a_low_line_in_a_sentence_is_no_accelerator(tmp_path):
    found = shouted(tmp_path, "a.po", entries("Used if side_pane is set."))
    assert 'msgstr "USED IF side_pane IS SET."' in found


def test_a_catalog_of_names_has_no_accelerators_of_gtk(tmp_path):
    names, keys = ["Set the_one_path of it", "See LANG_PATH"], ["_Open it", "_Save it", "Sho_w it"]
    for texts, expected in ((names, "Use side_pane here"), (names + keys, "Use sidepane here")):
        (tmp_path / "a.po").write_text(entries(*texts, "Use side_pane here"))
        *_, place = open_document(tmp_path / "a.po", "po", KNOWN).documents[0].places
        assert "".join(part.text for part in place.parts) == expected


def test_names_and_abbreviations_have_no_accelerator(tmp_path):
    for source in ("Read JAVA_HOME first", "An x86_64 file", "Our R&D here", "By AT&T here", "Q&A"):
        (tmp_path / "a.po").write_text(entries(source))
        (place,) = open_document(tmp_path / "a.po", "po", KNOWN).documents[0].places
        assert "".join(part.text for part in place.parts) == source


def test_a_header_without_plural_forms_gets_those_of_the_language(tmp_path):
    header, polish = 'msgid ""\nmsgstr "Language: \\n"\n', LanguagePair("en", "pl")
    forms = f'{header}\nmsgid "%d cat"\nmsgid_plural "%d cats"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    found = shouted(tmp_path, "a.po", forms, languages=polish)
    assert '"Language: pl\\n"\n"Plural-Forms: nplurals=3; plural=n == 1 ?' in found and 'msgstr[2] "%d CATS"' in found
    assert "Plural-Forms" not in shouted(tmp_path, "a.po", f"{header}\n{entries('A cat.')}", languages=polish)


def test_plural_forms_that_are_made_are_reported(tmp_path, capsys):
    header = 'msgid ""\nmsgstr "Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n<5 ? 1 : 2);\\n"\n\n'
    (tmp_path / "a.po").write_text(f'{header}msgid "%d cat"\nmsgid_plural "%d cats"\nmsgstr[0] ""\nmsgstr[1] ""\n')
    DocumentJob(tmp_path / "a.po", tmp_path / "b.po", languages=KNOWN).run(Given(str.upper))
    assert 'msgstr[0] "%d CAT"\nmsgstr[1] "%d CATS"\nmsgstr[2] "%d CATS"\n' in (tmp_path / "b.po").read_text()
    assert "1 plural forms that the language needs were missing" in capsys.readouterr().err
