import json

import pytest
from transformers import MarianConfig

from glossa import GlossaConfig
from glossa.model.profile_glossa import TextProfile

LEARNED = {
    "split_sentences": False, "length_ratio": 1.25, "trained_length": 31, "abbreviations": ["geg", "vgl"],
    "improbable_score": -0.5, "confidence": {"score": 0.5}, "word_confidence": {"mean": 0.25}, "lower_capitals": True,
    "add_stops": True, "mask_items": True, "keeps_placeholders": True, "reads_memory": True,
    "keep": ["@@.*?@@"],
}  # fmt: skip
PROFILE = TextProfile(**LEARNED | {"abbreviations": frozenset({"geg", "vgl"}), "keep": ("@@.*?@@",)})


@pytest.mark.parametrize("kind", [GlossaConfig, MarianConfig])
def test_a_saved_configuration_has_the_profile_in_one_field(kind, tmp_path):
    config = kind()
    PROFILE.write(config)
    config.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    assert saved["text_profile"] == LEARNED and not LEARNED.keys() & saved.keys()
    assert TextProfile.of(saved) == TextProfile.of(kind.from_pretrained(tmp_path)) == PROFILE


@pytest.mark.parametrize("kind", [GlossaConfig, MarianConfig])
def test_a_folder_of_an_earlier_version_has_its_fields_among_the_others(kind, tmp_path):
    kind().save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | LEARNED))
    config = kind.from_pretrained(tmp_path)
    assert TextProfile.of(config) == TextProfile.of(json.loads(file.read_text())) == PROFILE
    TextProfile.of(config).write(config)  # as training that starts from it does
    assert not LEARNED.keys() & config.to_dict().keys() and TextProfile.of(config) == PROFILE


def test_what_a_configuration_lacks_has_the_default():
    assert TextProfile.of(GlossaConfig()) == TextProfile.of({}) == TextProfile()
    assert TextProfile.of({"lower_capitals": None, "trained_length": 5}) == TextProfile(trained_length=5)
    assert TextProfile().to_dict() == {
        "split_sentences": True, "abbreviations": [], "lower_capitals": False, "add_stops": False,
        "mask_items": False, "keeps_placeholders": False, "reads_memory": False, "keep": [],
    }  # fmt: skip
