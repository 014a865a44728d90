"""What chat models add to translations, and pairs that a server makes."""

import pytest
from refusals import refused
from small_corpus import records

from glossa.cli import distill
from glossa.readers.teachers import limit_of, read_teachers
from glossa.translate.corpora import servers
from glossa.translate.corpora.answers import COMMENTED, REFUSED, read_answer

LANGUAGES = ["--source_language", "en", "--target_language", "fr"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Le chat dort.", ("Le chat dort.", "")),
        ("Here is the translation:\n\nLe chat dort.", ("Le chat dort.", "")),
        ("Sure! Here's the French translation: Le chat dort.", ("Le chat dort.", "")),
        ("**Translation:** Le chat dort.", ("Le chat dort.", "")),
        ('"Le chat dort."', ("Le chat dort.", "")),
        ("« Le chat dort. »", ("Le chat dort.", "")),
        ("Le chat dort.\n\nNote: \"chat\" is masculine.", ("Le chat dort.", "")),
        ("<think>A cat.\nIt sleeps.</think>\nLe chat dort.", ("Le chat dort.", "")),
        ("```\nLe chat dort.\n```", ("Le chat dort.", "")),
        ("I'm sorry, but I cannot translate this.", ("", REFUSED)),
        ("<!DOCTYPE html><html><body>502</body></html>", ("", COMMENTED)),
        ("Le chat dort.\nLe chat est endormi.", ("Le chat dort. Le chat est endormi.", COMMENTED)),
        ("", ("", "")),
    ],
)  # fmt: skip
def test_what_is_added_is_taken_off(answer, expected):
    assert read_answer(answer, "The cat sleeps.")[:2] == expected


def test_what_was_taken_off_is_named():
    answer = '<think>Hm.</think>\nHere is the translation:\n"Le chat dort."\n\nNote: a cat.'
    assert read_answer(answer, "The cat sleeps.") == (
        "Le chat dort.", "", ("thoughts", "an introduction", "a note", "quotation marks"),
    )  # fmt: skip
    assert read_answer("Le chat dort.", "The cat sleeps.").removed == ()


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ('"The cat sleeps."', '"Le chat dort."'),
        ("Note: the cat sleeps.", "Note: le chat dort."),
        ("I'm sorry, I am late.", "I'm sorry, je suis en retard."),
        ("Here is the list: a, b", "Here is la liste: a, b"),
        ("Use ```x``` here", "Utilisez ```x``` ici"),
    ],
)
def test_what_the_source_has_stays(source, answer):
    assert read_answer(answer, source)[:2] == (answer, "")


def ask(stub, tmp_path, *more, text="red\nblue\ngreen\n"):
    (tmp_path / "text.txt").write_text(text)
    output = tmp_path / "pairs.jsonl"
    argv = ["--text", str(tmp_path / "text.txt"), *LANGUAGES, "--output", str(output)]
    distill.main(["--teacher_url", stub.url, "--teacher_model", "org/small", *argv, *more])
    return [(row["source"], row["target"], row["origin"]) for row in records(output)]


def content(text):
    return 200, {}, {"choices": [{"message": {"content": text}}]}


def test_a_chat_model_makes_pairs_and_its_refusals_are_counted(stub, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GLOSSA_SERVER_KEY", "secret-1")
    (tmp_path / "prompt.txt").write_text("{source} to {target}: {text}\n")
    stub.answers[:] = [content("rouge"), content("I cannot do that."), content("Translation: vert")]
    found = ask(stub, tmp_path, "--prompt", str(tmp_path / "prompt.txt"), "--teacher_requests", "1")
    assert found == [("red", "rouge", "org/small"), ("green", "vert", "org/small")]
    assert "3 texts gave 2 new pairs. Translations dropped: 1 refused." in capsys.readouterr().out
    assert stub.asked[0][1]["messages"][0]["content"] == "English to French: red"
    assert not any("secret-1" in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_the_teacher_and_its_license_go_into_a_record(stub, tmp_path, caplog):
    stub.answers[:] = [content("rouge"), content("bleu"), content("vert")]
    ask(stub, tmp_path, "--teacher_license", "Llama3")
    host = stub.url.removeprefix("http://").partition("/")[0]
    teacher = {"name": f"org/small at {host}", "license": "Llama3", "own": False}
    assert read_teachers([str(tmp_path / "pairs.jsonl"), str(tmp_path / "other.tsv")]) == [teacher]
    assert "may not be used to improve other large language models" in caplog.text
    assert limit_of("apache-2.0") == limit_of("llama3.1") == limit_of(None) == "" and "noncommercial" in limit_of(
        "cc-by-nc-4.0"
    )


def test_a_teacher_without_a_license_is_said_at_once_and_a_damaged_record_by_name(stub, tmp_path, caplog):
    stub.answers[:] = [content("rouge"), content("bleu"), content("vert")]
    ask(stub, tmp_path)
    assert "Without --teacher_license, a run that learns from these pairs cannot be pushed." in caplog.text
    (tmp_path / "pairs.jsonl.teachers.json").write_text('["small"]')
    refused(r"pairs\.jsonl\.teachers\.json, .* is damaged", read_teachers, [str(tmp_path / "pairs.jsonl")])


def test_additions_and_answers_in_another_language_are_counted(stub, tmp_path, capsys, caplog):
    english = "This is an answer in English, the language of the text, and not a translation of it."
    stub.answers[:] = [content("Translation: rouge"), content(english), content('"vert"')]
    assert [row[1] for row in ask(stub, tmp_path, "--teacher_requests", "1")] == ["rouge", "vert"]
    printed = capsys.readouterr().out
    assert "Taken off answers: an introduction (1), quotation marks (1)." in printed
    assert "Translations dropped: 1 too long." in printed
    assert caplog.messages.count(f"'blue' is answered with {english!r}, which is dropped: too long.") == 1


def test_an_answer_in_another_language_is_dropped(stub, tmp_path, capsys):
    text, english = "The old house is near the river.", "The old house stands near the river and the bridge."
    stub.answers[:] = [content(english)]
    assert ask(stub, tmp_path, text=f"{text}\n") == []
    assert "Translations dropped: 1 in another language." in capsys.readouterr().out


def test_several_answers_are_asked_for_and_the_one_closest_to_the_others_is_kept(stub, tmp_path):
    (tmp_path / "text.txt").write_text("red\n")
    answers = ["un rouge vif", "la couleur rouge", "une couleur rouge", "la couleur rouge foncé"]
    stub.answers[:] = [lambda body: content(answers[body.get("seed", 0)])]
    found = ask(stub, tmp_path, "--num_return_sequences", "4", "--closest", text="red\n")
    # sacreBLEU's chrF++ of each to all four adds up to 161, 272, 260 and 285.
    assert found == [("red", "la couleur rouge foncé", "org/small")]
    asked = [(body["temperature"], body.get("seed")) for _, body, _ in stub.asked]
    assert asked == [(0, None), (0.7, 1), (0.7, 2), (0.7, 3)]


def test_nothing_is_asked_twice_after_a_stop(stub, tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "TRIES", 1)
    stub.answers[:] = [content("rouge"), (500, {}, {}), content("bleu"), content("vert")]
    refused(r"status 500 .* 1 times\. Finished translations are kept", ask, stub, tmp_path, "--teacher_requests", "1")
    (journal,) = tmp_path.rglob("*.answers")
    assert journal.read_text() == '["rouge"]\n'
    with open(journal, "a") as file:
        file.write('["bl')  # as a kill leaves it
    found = ask(stub, tmp_path, "--teacher_requests", "1")
    assert [row[:2] for row in found] == [("red", "rouge"), ("blue", "bleu"), ("green", "vert")]
    asked = [body["messages"][0]["content"].split()[-1] for _, body, _ in stub.asked]
    assert asked == ["red", "blue", "blue", "green"]


def test_several_requests_at_once_keep_the_order(stub, tmp_path):
    stub.answers[:] = [lambda body: content(body["messages"][0]["content"].split()[-1].upper())]
    assert [row[1] for row in ask(stub, tmp_path, "--teacher_requests", "3")] == ["RED", "BLUE", "GREEN"]


def test_a_message_for_each_refusal(tmp_path):
    output = ["--output", str(tmp_path / "out.jsonl"), *LANGUAGES]
    url = ["--teacher_url", "http://127.0.0.1:9"]
    (tmp_path / "prompt.txt").write_text("Translate.")
    cases = {
        r"--teacher_model needs --teacher_url": ["--teacher_model", "m"],
        r"--prompt needs --teacher_model": [*url, "--prompt", "p"],
        r"several are given; give one": [*url, "--teacher_command", "cat"],
        r"--teacher_url has no training pairs": url,
        r"with a password or key in it": ["--teacher_url", "http://me:secret-1@127.0.0.1"],
        r"has no \{text\}": [*url, "--teacher_model", "m", "--prompt", str(tmp_path / "prompt.txt")],
        r"--num_beams is for trained models; --teacher_url": [*url, "--text", "t.txt", "--num_beams", "2"],
    }
    for message, argv in cases.items():
        refused(message, distill.main, [*argv, *output])
