"""Training on prepared token ids: the same batches and losses as on the texts, without tokenizing."""

import json
import shutil
from functools import partial

import pytest
import yaml
from small_corpus import here
from small_models import QUIET, UNSCORED

from glossa.base.run_folder import RunFolder
from glossa.model.spans_glossa import MEMORY
from glossa.readers.manifest import MANIFEST
from glossa.train.building import augmentation_of, learn_vocabulary, new_vocabulary
from glossa.train.data.encoding import encoding
from glossa.train.data.encoding.encoding import tokenize_pairs
from glossa.train.data.pairs import prepare_pairs
from glossa.train.data.preparing import writing
from glossa.train.data.preparing.prepare import prepare
from glossa.train.data.streaming import streams, windows
from glossa.train.data.streaming.streams import Stream
from glossa.train.data.streaming.windows import StreamBatches, Windows
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.start import adopt_vocabulary
from glossa.train.run import train
from glossa.translate.loading import load_tokenizer

MIX = [{"weight": 2, "tag": "<x> "}, {"name": "other", "weight": 0.5}]
LANGUAGES = [{"target_language": "fr"}, {"target_language": "de"}]


@pytest.fixture
def prepared(tmp_path, tiny_settings, monkeypatch):
    """Prepare two sources of 100 and 100 pairs; returns the settings of a run on them, and the folder."""
    monkeypatch.setattr(writing, "PAIRS", 30)
    for name, value in {"BLOCK_ROWS": 10, "WINDOW_ROWS": 25}.items():
        monkeypatch.setattr(streams, name, value)

    def make(sources=MIX, **changes):
        for number, source in enumerate(sources):
            letters = "abcdefghij"[number % 2 :: 2]
            lines = [f"{a} {b}.\t{b} {a}!\n" for a in letters for b in "klmnopqrstuvwxyzABCD"]
            (tmp_path / f"{number}.tsv").write_text("".join(lines))
            source["data_path"] = str(tmp_path / f"{number}.tsv")
        words = tiny_settings(tmp_path / "run", trust_data="true", **changes)
        path = words.index("--data_path")
        given = [*words[:path], *words[path + 2 :], "--sources", *map(json.dumps, sources), "--dataset", "sources"]
        settings = parse_settings(given)
        prepare(settings.data, tmp_path / "out", here, tmp_path / "parts", learn=partial(learn_vocabulary, settings))

        def run(folder, **more):
            changed = {"data_path": folder, "trust_data": "true"} | changes | more
            return parse_settings(tiny_settings(tmp_path / "run", **changed))

        return settings, run, tmp_path / "out"

    return make


def without_ids(folder):
    """A copy of a prepared folder whose texts are tokenized in training."""
    copy = folder.with_name("texts")
    shutil.copytree(folder, copy)
    manifest = json.loads((copy / MANIFEST).read_text())
    del manifest["tokens"]
    (copy / MANIFEST).write_text(json.dumps(manifest))
    return copy


def tokenized(settings, stream=None):
    """The tokenizer and the rows of a run."""
    settings = adopt_vocabulary(settings)
    pairs, report = prepare_pairs(settings.data, stream)
    settings, tokenizer = new_vocabulary(settings, pairs, report)
    return tokenizer, tokenize_pairs(pairs, tokenizer, settings.data, report)["train"]


def same(folder):
    """The settings of a run on texts with the vocabulary of a prepared folder."""
    return {"tokenizer": folder / "tokenizer", "vocab_size": 8000}


@pytest.fixture
def texts(monkeypatch):
    """The sources that were tokenized."""
    seen = []

    def encode(tokenizer, sources, *others):
        seen.extend(sources)
        return original(tokenizer, sources, *others)

    original = encoding.encode_rows
    for module in (encoding, windows):
        monkeypatch.setattr(module, "encode_rows", encode)
    return seen


@pytest.mark.parametrize("sources", [MIX, LANGUAGES], ids=["weights", "languages"])
def test_the_ids_are_those_of_training(prepared, sources, texts):
    settings, run, folder = prepared(sources)
    assert len(list(folder.glob("train-*.parquet"))) > 4
    assert not [path for path in folder.glob("*.json") if path.stem not in ("prepared", "report")]
    texts.clear()
    tokenizer, rows = tokenized(run(folder))
    assert len(texts) == 40, "only the held-out pairs"
    if sources is LANGUAGES:  # a weight below 1 draws other pairs, since they are in another order
        fresh, _ = tokenized(settings)  # all pairs are in the sample, so training itself learns the same vocabulary
        assert fresh.get_vocab() == tokenizer.get_vocab()
    _, expected = tokenized(run(without_ids(folder), **same(folder)))
    assert len(texts) > 190
    assert rows.column_names == expected.column_names and rows[:] == expected[:] and len(rows) > 150


@pytest.mark.parametrize(("sources", "ratio"), [(MIX, 1.7), (LANGUAGES, 1.22)], ids=["weights", "languages"])
def test_a_stream_reads_the_ids(prepared, sources, ratio, texts):
    _, run, folder = prepared(sources)
    found = []
    for path, vocabulary in ((folder, {}), (without_ids(folder), same(folder))):
        texts.clear()
        settings = run(path, streaming=True, **{"filters.length_ratio": ratio}, **vocabulary)
        stream = Stream(settings.data)
        tokenizer, rows = tokenized(settings, stream)
        batches = StreamBatches(Windows(stream, tokenizer, 60), 1000)
        given = [batches[index] for index in range(40)]
        found.append((rows[:], given, {name: dict(counts) for name, counts in batches.counts.items()}))
        assert (len(texts) == 40) == (path == folder)
    assert found[0] == found[1]
    counts = found[0][2]
    assert counts[next(iter(counts))]["length_ratio"] > 20 and all(count["seen"] > 20 for count in counts.values())


def test_a_stream_of_changed_pairs_is_tokenized(prepared):
    shares = {"augmentation": '{"lower_case": 0.5}'}
    _, run, folder = prepared(**shares)
    found = []
    for path, vocabulary in ((folder, {}), (without_ids(folder), same(folder))):
        settings = run(path, streaming=True, **vocabulary)
        stream = Stream(settings.data)
        tokenizer, rows = tokenized(settings, stream)
        windows = Windows(stream, tokenizer, 60, augmentation=augmentation_of(settings))
        found.append((rows["input_ids"][:], windows[0, 0].ids[0].tolist()))
    assert found[0] == found[1] and any("A" <= text[0] <= "D" for text in rows["target"][:])


def test_another_vocabulary_tokenizes_again(prepared, texts, caplog, tmp_path):
    _, run, folder = prepared()
    line = f"The token ids in {folder} are from another vocabulary. Tokenizing the pairs again."
    changed = [
        {"vocab_size": 279}, {"tokenizer_model": "unigram", "vocab_size": 60}, {"placeholder_augmentation": 0.1},
    ]  # fmt: skip
    for changes in changed:
        caplog.clear(), texts.clear()
        tokenizer, rows = tokenized(run(folder, **changes))
        assert caplog.messages.count(line) == 1 and len(texts) > 150
        pairs, _ = prepare_pairs(run(folder).data)
        assert rows["input_ids"][3] == tokenizer(pairs["train"]["source"][3])["input_ids"]
    caplog.clear(), texts.clear()
    shutil.copytree(folder / "tokenizer", tmp_path / "same")  # of a run on this data, such as one to start from
    given = ["--data_path", str(folder), "--trust_data", "true", "--tokenizer", str(tmp_path / "same")]
    settings = parse_settings(given)
    assert tokenized(settings)[1]["input_ids"][:] == tokenized(run(folder))[1]["input_ids"][:]
    assert len(texts) == 40 and line not in caplog.messages
    for vocabulary, expected in (({"vocab_size": 279}, 1), ({}, 0)):
        caplog.clear()
        settings = run(folder, streaming=True, **vocabulary)
        stream = Stream(settings.data)
        windows = Windows(stream, tokenized(settings, stream)[0], 60)
        assert len(windows[0, 0].ids[0]) > 30 and caplog.messages.count(line) == expected


def test_held_out_pairs_of_others_are_compared_as_text(prepared, texts, tmp_path):
    _, run, folder = prepared()
    (tmp_path / "test.tsv").write_text("a k.\tk a!\n")
    for streaming in (False, True):
        settings = run(folder, test_path=tmp_path / "test.tsv", streaming=streaming)
        texts.clear()
        tokenized(settings, Stream(settings.data) if streaming else None)
        assert len(texts) > 150 and "<x> a k." not in texts


def test_the_settings_of_a_run_are_those_of_the_vocabulary(prepared, tmp_path):
    settings, run, folder = prepared()
    unnamed = parse_settings(["--data_path", str(folder)])
    for given in (run(folder), unnamed):
        adopted = adopt_vocabulary(given)
        assert adopted.tokenizer == settings.tokenizer and adopted.origins["vocab_size"].kind == "prepared"
        assert len(tokenized(given)[0]) == 280
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text(yaml.safe_dump(adopted.recipe()))
        again = adopt_vocabulary(parse_settings([str(recipe)]))
        assert again.recipe() == adopted.recipe() and len(tokenized(again)[0]) == 280


def test_a_source_without_pairs_is_left_out(prepared):
    _, run, folder = prepared([{"name": "one"}, {"name": "two"}, {"name": "one again"}])
    _, rows = tokenized(run(folder))
    assert len(rows) == 160
    files = [entry["files"] for entry in json.loads((folder / MANIFEST).read_text())["sources"]]
    assert files[0] and files[1] and not files[2]


def test_losses_are_those_of_a_run_on_texts(prepared):
    _, run, folder = prepared(max_steps=4, logging_steps=1, **QUIET)
    for streaming in (False, True):
        losses = []
        for path, vocabulary in ((folder, {}), (without_ids(folder), same(folder))):
            settings = run(path, streaming=streaming, **vocabulary)
            done = RunFolder(train(settings))
            losses.append([entry["loss"] for entry in done.history if "loss" in entry])
            shutil.rmtree(done.path)
        shutil.rmtree(folder.with_name("texts"))
        assert losses[0] == losses[1] and len(losses[0]) == 4


@pytest.mark.slow
@pytest.mark.parametrize("languages", [[{}], LANGUAGES])
def test_a_memory_for_prepared_pairs_of_one_or_several_languages(prepared, languages):
    """The prepared vocabulary has no token for a memory, so the run learns its own."""
    _, settings, folder = prepared([dict(source) for source in languages])
    run = train(settings(folder, memory=True, max_steps=5, **UNSCORED))
    tokenizer = load_tokenizer(str(run))
    assert tokenizer.convert_tokens_to_ids(MEMORY) is not None and MEMORY in tokenizer.get_vocab()
    assert RunFolder(run).metrics["steps"] == 5
