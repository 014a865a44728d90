"""Translations by servers: both interfaces, what a server may do wrong, and where the key goes."""

import pytest

from glossa.base.errors import GlossaError
from glossa.translate.corpora import servers
from glossa.translate.corpora.servers import ServerTranslator


def translate(stub, *texts, model=None):
    return list(ServerTranslator(stub.url, ("en", "pt-BR"), model).translate(texts))


def test_libretranslate_is_asked_for_many_texts_at_once(stub, monkeypatch):
    monkeypatch.setattr(servers, "AT_ONCE", 2)
    stub.answers[:] = [(200, {}, {"translatedText": ["A", " B\n b "]}), (200, {}, {"translatedText": ["C"]})]
    assert translate(stub, "a", "b", "c") == ["A", "B b", "C"]
    paths, bodies, _ = zip(*stub.asked, strict=True)
    assert paths == ("/translate", "/translate")
    assert bodies[0] == {"q": ["a", "b"], "source": "en", "target": "pt-BR", "format": "text"}


def test_a_chat_is_asked_for_each_text(stub):
    stub.answers[:] = [(200, {}, {"choices": [{"message": {"content": "Olá"}}]})]
    assert translate(stub, "Hello", "Hi", model="small") == ["Olá", "Olá"]
    path, body, _ = stub.asked[0]
    assert (path, body["model"], len(stub.asked)) == ("/chat/completions", "small", 2)
    assert body["messages"][0]["content"].endswith("Answer with the translation only.\n\nHello")
    assert "from English into Portuguese" in body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("model", "request_"),
    [
        ("tencent/Hy-MT2-1.8B", "Translate the following text into Portuguese (BR). Note that you should only output "
         "the translated result without any additional explanation:\n\nHello"),
        ("tencent/HY-MT1.5-7B", "Translate the following segment into Portuguese (BR), without additional "
         "explanation.\n\nHello"),
        ("NiuTrans/LMT-60-0.6B", "Translate the following text from English into Portuguese (BR):\nEnglish: Hello\n"
         "Portuguese (BR):"),
        ("Unbabel/Tower-Plus-9B", "Translate the following English source text to Portuguese (BR):\nEnglish: Hello\n"
         "Portuguese (BR): "),
    ],
)  # fmt: skip
def test_a_published_model_is_asked_as_its_card_says(stub, model, request_):
    stub.answers[:] = [(200, {}, {"choices": [{"message": {"content": "Olá"}}]})]
    translate(stub, "Hello", model=model)
    assert stub.asked[0][1]["messages"] == [{"role": "user", "content": request_}]


def test_translategemma_gets_the_codes_of_the_languages(stub):
    stub.answers[:] = [(200, {}, {"choices": [{"message": {"content": "Olá"}}]})]
    translate(stub, "Hello", model="google/translategemma-4b-it")
    body, codes = stub.asked[0][1], {"source_lang_code": "en", "target_lang_code": "pt-BR"}
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hello"} | codes]}]
    assert body["chat_template_kwargs"] == codes


@pytest.mark.parametrize(
    ("body", "reason"),
    [({"error": {"message": "no model small"}}, "no model small"), ({"detail": "wrong language"}, "wrong language"),
     (b"<html>x</html>", "Bad Request"), (b"just text", "just text")],
)  # fmt: skip
def test_the_reason_of_a_refusal_is_shown(stub, body, reason):
    stub.answers[:] = [(400, {}, body)]
    with pytest.raises(GlossaError, match=rf"status 400 \({reason}\)"):
        translate(stub, "Hello")


def test_the_key_is_sent_from_the_environment_only(stub, monkeypatch):
    monkeypatch.setenv("GLOSSA_SERVER_KEY", "secret-1")
    stub.answers[:] = [(200, {}, {"translatedText": ["A"]}), (200, {}, {"choices": [{"message": {"content": "A"}}]}),
                       (403, {}, {"error": "no"})]  # fmt: skip
    translate(stub, "a")
    translate(stub, "a", model="small")
    assert stub.asked[0][1]["api_key"] == "secret-1" and stub.asked[1][2] == "Bearer secret-1"
    with pytest.raises(GlossaError, match="status 403") as refused:
        translate(stub, "a")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://me:secret@host/v1", "http://host/v1?key=secret"])
def test_an_address_with_a_key_is_refused(url):
    with pytest.raises(GlossaError, match="with a password or key in it, which other users") as refused:
        ServerTranslator(url, ("en", "fr"))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["host:5000", "file:///etc/passwd", "ftp://host"])
def test_other_addresses_are_refused(url):
    with pytest.raises(GlossaError, match="give an address such as http://localhost:5000"):
        ServerTranslator(url, ("en", "fr"))


def test_a_busy_server_is_asked_again_after_growing_waits(stub):
    busy, good = (503, {}, {}), (200, {}, {"translatedText": ["A"]})
    stub.answers[:] = [busy, (429, {"Retry-After": "7"}, {}), busy, good]
    assert translate(stub, "a") == ["A"]
    assert stub.waited == [0.001, 7.0, 14.0]


def test_a_server_that_stays_busy_or_is_gone_ends_it(stub):
    stub.answers[:] = [(500, {}, {})]
    with pytest.raises(GlossaError, match=r"answers with status 500 \(.*\), 6 times. Finished translations are kept"):
        translate(stub, "a")
    assert len(stub.asked) == 6
    with pytest.raises(GlossaError, match=r"does not answer: .*, 6 times"):
        list(ServerTranslator("http://127.0.0.1:9", ("en", "fr")).translate(["a"]))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((302, {"Location": "http://other/x?key=abc"}, {}), r"status 302 \(Found\) and points to http://other/x"),
        ((200, {}, b"<html>hello</html>"), "something that is not JSON: b'<html>hello"),
        ((200, {}, {"translatedText": ["A", "B"]}), "gave no list of 1 translations"),
        ((200, {}, {"translatedText": "A"}), "gave no list of 1 translations"),
        ((200, {}, []), "JSON that is no object"),
        ((400, {}, {"error": "en is not supported"}), "status 400"),
        ((200, {}, b" " * 2001), "answers with over 2,000 bytes"),
    ],
)
def test_other_answers_are_refused(stub, monkeypatch, answer, message):
    monkeypatch.setattr(servers, "LARGEST", 2000)
    stub.answers[:] = [answer]
    with pytest.raises(GlossaError, match=message):
        translate(stub, "a")
    assert len(stub.asked) == 1


def test_a_chat_without_choices_is_refused(stub):
    stub.answers[:] = [(200, {}, {"choices": []})]
    with pytest.raises(GlossaError, match="gave no message"):
        translate(stub, "a", model="m")
