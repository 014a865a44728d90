"""Which directions a server has, and which models are in memory."""

import asyncio
import gc
import weakref

import pytest
import requests
from published_models import publish
from running_server import running

from glossa.apps.server import models as module
from glossa.apps.server.app import build_app
from glossa.apps.server.explain import explain
from glossa.apps.server.memories import Memories
from glossa.apps.server.models import Models, RequestOptions
from glossa.apps.server.refusals import Refused
from glossa.apps.server.service import Service
from glossa.base.errors import GlossaError
from glossa.model.profile_glossa import TextProfile
from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer


class Engine:
    num_beams = 4
    profile = TextProfile()


class Tokenizer:
    init_kwargs: dict = {}


@pytest.fixture
def loads(monkeypatch):
    """Names in the order in which they are loaded; "broken" does not load."""
    names = []

    def load(name, engine):
        if name == "broken":
            raise GlossaError("broken does not load")
        names.append(name)
        return Engine(), Tokenizer()

    monkeypatch.setattr(module, "load", load)
    monkeypatch.setattr(module, "Translator", lambda engine, tokenizer, search, checks, **_: (engine, search))
    return names


def translators(models, *pairs, count=1):
    async def run():
        return [await models.translator(models.route(*pair)[0], RequestOptions(count)) for pair in pairs]

    return asyncio.run(run())


def test_languages_include_those_through_another_one():
    models = Models(["en-fr=a", "fr-de=b", "German-English=c"])
    assert models.languages == {"en": ["fr", "de"], "fr": ["en", "de"], "de": ["fr", "en"]}
    assert [step.model for step in models.route("en", "de")] == ["a", "b"]
    assert [step.model for step in models.route("de", "en")] == ["c"]
    with pytest.raises(Refused, match="es is not supported"):
        models.route("es", "en")


def test_two_models_of_one_direction_are_refused():
    with pytest.raises(GlossaError, match="a and b both translate from en to fr"):
        Models(["en-fr=a", "en-fr=b"])


def test_a_model_of_unknown_languages_is_refused(tmp_path, tiny_model):
    tiny_model().save_pretrained(tmp_path / "model")
    with pytest.raises(GlossaError, match=r"The languages of .* are unknown"):
        Models([str(tmp_path / "model")])


def test_the_model_that_rested_longest_leaves(loads):
    models = Models(["en-fr=a", "en-de=b", "en-es=c"], max_loaded=2)
    translators(models, ("en", "fr"), ("en", "de"), ("en", "fr"), ("en", "es"), ("en", "fr"), ("en", "de"))
    assert loads == ["a", "b", "c", "b"]


def test_a_model_that_left_is_freed_when_its_last_translator_is(loads):
    models = Models(["en-fr=a", "en-de=b"], max_loaded=1)
    (first,) = translators(models, ("en", "fr"))
    engine = weakref.ref(first[0])
    translators(models, ("en", "de"))
    assert engine() is not None
    del first
    gc.collect()
    assert engine() is None


def test_more_translations_than_beams_have_more_beams(loads):
    models = Models(["en-fr=a"])
    assert translators(models, ("en", "fr"), count=1)[0][1] == Search(4, 1)
    assert translators(models, ("en", "fr"), count=6)[0][1] == Search(6, 6)
    assert translators(models, ("en", "fr"), count=6)[0] is translators(models, ("en", "fr"), count=6)[0]
    assert loads == ["a"]


def test_reloading_replaces_what_is_in_memory(loads):
    models = Models(["en-fr=a", "en-de=b"])
    (before,) = translators(models, ("en", "fr"))
    asyncio.run(models.reload())
    (after,) = translators(models, ("en", "fr"))
    assert loads == ["a", "a"] and before[0] is not after[0]


def test_a_model_that_does_not_load_is_a_fault_of_the_server(loads, caplog):
    with pytest.raises(Refused, match="The model does not load") as caught:
        translators(Models(["en-fr=broken"]), ("en", "fr"))
    assert caught.value.status == 500 and "broken does not load" in caplog.text


def test_a_memory_is_for_its_direction(learned_run, expected, tmp_path):
    memory = tmp_path / "memory.tsv"
    memory.write_text("en\tfr\nThe house.\tLa maison !\n")
    names = [f"{pair}={learned_run}" for pair in ("en-fr", "fr-en", "fr-de")]
    models = Models(names)
    models.memories = Memories.opened(memory, models.steps, None, (), False)
    service = Service(models, folder=tmp_path)
    with running(lambda: build_app(service)) as url:
        fields = {"q": ["The house.", "a k."], "source": "en", "target": "fr"}
        found = requests.post(f"{url}/translate", json=fields, timeout=60).json()["translatedText"]
        assert found == ["La maison !", expected.best(["a k."])[0]]
        html = fields | {"q": "<p>The <b>house</b>.</p>", "format": "html"}
        assert "maison" in requests.post(f"{url}/translate", json=html, timeout=60).json()["translatedText"]
        more = requests.post(f"{url}/translate", json=fields | {"alternatives": 1}, timeout=60).json()
        assert more["translatedText"] == found and more["alternatives"][0] == []
        back = fields | {"source": "fr", "target": "en"}
        assert "maison" not in requests.post(f"{url}/translate", json=back, timeout=60).text
    with pytest.raises(GlossaError, match=r"has no translations for the models: .*no columns \('de', 'fr'\)"):
        Memories.opened(memory, Models([f"de-fr={learned_run}"]).steps, None, (), False)


def test_a_model_of_another_family_is_not_explained(tmp_path):
    folder = publish("opus-mt", tmp_path, ["a b c d"] * 20, ["k l m n"] * 20)
    with pytest.raises(GlossaError, match="it is of the family marian"):
        explain(load_model(str(folder)), load_tokenizer(str(folder)), "fr", "a b", [])
