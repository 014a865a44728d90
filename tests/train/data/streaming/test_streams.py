"""Streams: every row once a pass, the same from the same place, and nothing read before it."""

from collections import Counter
from itertools import islice

import pyarrow
import pyarrow.parquet
import pytest
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments, TokenizerArguments
from glossa.train.data.augmentation.augmentation import Augmentation
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer
from glossa.train.data.pairs import prepare_pairs
from glossa.train.data.streaming import streams, windows
from glossa.train.data.streaming.streams import Stream
from glossa.train.data.streaming.windows import StreamBatches, Windows

ROWS = [(f"word{number} is here", f"ligne{number} est ici") for number in range(97)]


def write(path, rows, group=5, nested=True):
    sides = [{"en": source, "fr": target} for source, target in rows]
    schema = pyarrow.schema([("en", pyarrow.string()), ("fr", pyarrow.string())])
    table = pyarrow.Table.from_pylist(sides, schema)
    if nested:
        table = pyarrow.table({"translation": sides})
    pyarrow.parquet.write_table(table, path, row_group_size=group)
    return path


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of two row groups and windows of two or three blocks."""
    for name, value in {"BLOCK_ROWS": 10, "WINDOW_ROWS": 25}.items():
        monkeypatch.setattr(streams, name, value)
    streams._footer.cache_clear()


@pytest.fixture
def files(tmp_path):
    """97 training pairs in three files, and two pairs for validation."""
    paths = [write(tmp_path / f"train-{part}.parquet", ROWS[part::3], nested=part != 1) for part in range(3)]
    write(tmp_path / "val.parquet", [("a cat", "un chat"), ("a dog", "un chien")])
    return paths


def settings(files, **changes):
    paths = {"data_path": [str(path) for path in files]} if files else {}
    held_out = {"validation_path": [str(next(iter(files)).parent / "val.parquet")]} if files else {}
    return DataArguments(**({"dataset": "files", "streaming": True, "test_size": 0} | paths | held_out | changes))


def batches(arguments, seed=3, tokens=60, languages=(), **options):
    """The batches of a stream, and a function from their rows to texts."""
    stream = Stream(arguments)
    pairs, _ = prepare_pairs(arguments, stream)
    words = [text for side in ("source", "target") for text in pairs["train"][side]]
    characters = TokenizerArguments(tokenizer_model="character", min_frequency=1)
    tokenizer = train_tokenizer([words], 400, options=characters, added=AddedTokens(languages=languages))
    found = Windows(stream, tokenizer, tokens, seed=seed)

    def texts(rows):
        return [
            tuple(tokenizer.decode(row[side], skip_special_tokens=True) for side in ("input_ids", "labels"))
            for row in rows
        ]

    return StreamBatches(found, 10_000, **options), texts


def take(stream, count, first=0):
    return [stream[index] for index in range(first, first + count)]


def one_pass(stream, first=0):
    """The batches until every row was read once: the windows of one epoch."""
    found = []
    while not found or stream._begun[-1]["epoch"] == 0:
        found.append(stream[first + len(found)])
    return found[:-1]


def test_a_pass_reads_every_row_once_in_another_order_each_time(files):
    stream, texts = batches(settings(files))
    first = [pair for rows in one_pass(stream) for pair in texts(rows)]
    assert sorted(first) == sorted(ROWS)
    assert first != ROWS
    again, texts = batches(settings(files))
    assert [pair for rows in one_pass(again) for pair in texts(rows)] == first
    assert stream.windows.stream.windows(0, 3) != stream.windows.stream.windows(1, 3)
    other, texts = batches(settings(files), seed=4)
    assert [pair for rows in one_pass(other) for pair in texts(rows)] != first


def test_passes_follow_each_other_without_end(files):
    stream, texts = batches(settings(files))
    seen = Counter(
        pair for rows in take(stream, 10 * len(one_pass(batches(settings(files))[0]))) for pair in texts(rows)
    )
    assert set(seen) == set(ROWS)
    assert set(seen.values()) <= {9, 10, 11}  # windows are cut otherwise in every pass


def test_a_batch_keeps_the_budget_and_rows_of_similar_length(files):
    stream, _ = batches(settings(files), tokens=80)
    for rows in one_pass(stream):
        longest = max(max(len(row["input_ids"]), len(row["labels"])) for row in rows)
        assert len(rows) == 1 or longest * len(rows) <= 80


def test_processes_share_the_rows(files):
    """Two processes that take turns read each row of three passes three times, together."""
    arguments = settings(files)
    windows_of = {}
    for process in (0, 1):
        stream, _ = batches(arguments, process=process, processes=2)
        places = stream._places(0, process)
        windows_of[process] = [place for place in islice(places, 30) if place[0] < 3]
    taken = [place for places in windows_of.values() for place in places]
    everything = [(epoch, number) for epoch in range(3) for number in range(stream.windows.count(epoch))]
    assert sorted(taken) == everything
    assert abs(len(windows_of[0]) - len(windows_of[1])) <= 1


@pytest.mark.parametrize("given", [0, 1, 4, 7, 8, 9, 20])
def test_a_stream_continues_from_its_state(files, given):
    stream, _ = batches(settings(files))
    take(stream, given)
    ahead = stream[given]  # a data loader reads one batch ahead
    state = stream.state(given)
    expected = [ahead, *take(stream, 30, given + 1)]
    again, _ = batches(settings(files))
    again.load_state(state)
    assert take(again, 31, given) == expected
    assert again.counts == stream.counts
    assert again.padding() == stream.padding()


def test_what_was_read_before_is_not_read_again(files, monkeypatch):
    stream, _ = batches(settings(files))
    take(stream, 40)
    state = stream.state(40)
    assert (state["epoch"], state["number"]) > (0, 1)
    read = []
    monkeypatch.setattr(
        windows, "block_rows", lambda block, settings: read.append(block) or streams.block_rows(block, settings)
    )
    again, _ = batches(settings(files))
    again.load_state(state)
    assert again[40]
    assert read == again.windows.stream.windows(state["epoch"], 3)[state["number"]]


def test_workers_change_nothing(files):
    alone, _ = batches(settings(files))
    helped, _ = batches(settings(files), workers=2)
    assert take(helped, 25) == take(alone, 25)
    assert helped.state(20) == alone.state(20)


def test_batches_are_read_in_order(files):
    stream, _ = batches(settings(files))
    stream[0]
    with pytest.raises(ValueError, match="batch 2"):
        stream[2]


def test_dropped_rows_are_counted(tmp_path):
    rows = [("one", "un"), ("", "vide"), (None, "rien"), ("a cat", "le chat"), ("two", "deux"), ("x " * 50, "y " * 50)]
    rows += [("copy", "copy"), ("w", "un deux trois quatre cinq six sept"), ("three", "trois")]
    files = [write(tmp_path / "train.parquet", rows)]
    write(tmp_path / "val.parquet", [("A cat!", "un chat"), ("a dog", "un chien")])
    stream, texts = batches(settings(files, max_length=40, filters={"identical": True}, trust_data=True))
    kept = [pair for batch in one_pass(stream) for pair in texts(batch)]
    assert sorted(kept) == [("one", "un"), ("three", "trois"), ("two", "deux")]
    # Reading ahead has begun the second pass, which counts the same rows again.
    assert stream.counts["train"] == {
        "read": 18, "malformed": 2, "empty": 2, "overlap": 2, "identical": 2, "kept": 10, "too_long": 2,
        "length_ratio": 2, "seen": 6,
    }  # fmt: skip


def test_rows_are_checked_as_in_training(tmp_path):
    """Every check that needs one row alone: the same pairs are kept, and the same counts have the same order."""
    rows = [("Go. Run!", "Va. Cours !"), ("Mr. X sleeps.", "M. X dort."), ("", "vide"), (None, "rien"), ("ok", "ok")]
    rows += [("<b>bold</b>", "gras"), ("a cat", "le chat"), ("keep out!", "dehors"), ("room 50", "salle 51")]
    rows += [("see you", "a" * 90), ("Ã©tÃ© is summer", "l'été"), ("a banned one", "interdit"), ("&amp; 70", "80")]
    file = write(tmp_path / "train.parquet", rows)
    write(tmp_path / "val.parquet", [("A cat!", "un chat"), ("a dog", "un chien")])
    (tmp_path / "banned.txt").write_text("A BANNED ONE\n")
    own = {"identical": True, "html": True, "digits": True, "characters": 80, "length_ratio": 100}
    own["exclude"] = str(tmp_path / "banned.txt")
    changes = {"split_sentences": True, "repair_text": True, "filters": own, "keep_out": ["Keep out"]}
    changes["trust_data"] = True
    pairs, report = prepare_pairs(settings([file], streaming=False, **changes))
    stream, texts = batches(settings([file], **changes), tokens=400)
    window = stream.windows[0, 0]
    seen = [pair for number in range(len(window.batches)) for pair in texts(window.rows(number))]
    assert sorted(seen) == sorted(zip(pairs["train"]["source"], pairs["train"]["target"], strict=True))
    assert len(seen) == 4 and ("Run!", "Cours !") in seen and ("été is summer", "l'été") in seen
    whole = {
        name: count
        for name, count in report.sources["train"].items()
        if name in window.counts["train"] and name != "seen"
    }
    own = {name: count for name, count in window.counts["train"].items() if name != "seen"}
    assert own == whole == {
        "read": 13, "split": 1, "malformed": 1, "empty": 1, "kept_out": 1, "identical": 1, "exclude": 1, "overlap": 1,
        "characters": 1, "html": 2, "digits": 1, "kept": 4,
    }  # fmt: skip


def test_strict_stops_at_a_malformed_row(files, monkeypatch):
    stream, _ = batches(settings(files, strict=True))
    write(files[0], [*ROWS[0:60:3], ("good", None), *ROWS[63::3]])
    streams._footer.cache_clear()
    refused(r"train-0\.parquet, line 21: .*null.* set strict", take, stream, 60)


def test_sources_are_mixed_by_weight_and_tagged(tmp_path, files):
    small = write(tmp_path / "small.parquet", [(f"small{number}", f"petit{number}") for number in range(20)])
    sources = [
        {"name": "large", "data_path": [str(path) for path in files]},
        {"name": "small", "data_path": str(small), "weight": 3, "tag": "<s> "},
    ]
    arguments = settings([], sources=sources, dataset="sources", validation_path=[str(tmp_path / "val.parquet")])
    stream, texts = batches(arguments)
    seen = Counter(pair for rows in one_pass(stream) for pair in texts(rows))
    expected = {pair: 1 for pair in ROWS} | {(f"<s> small{n}", f"petit{n}"): 3 for n in range(20)}
    assert seen == expected


def test_each_source_has_the_token_of_its_target_language(tmp_path, files):
    directions = [
        {"source_language": "en", "target_language": "fr"},
        {"source_language": "fr", "target_language": "en"},
    ]
    paths = [str(path) for path in files]
    sources = [{"name": way["target_language"], "data_path": paths} | way for way in directions]
    arguments = settings([], sources=sources, dataset="sources", validation_path=[str(tmp_path / "val.parquet")])
    stream, texts = batches(arguments, languages=["fr", "en"])
    tokens = stream.windows.tokenizer.convert_tokens_to_ids(["<2fr>", "<2en>"])
    seen = {"fr": [], "en": []}
    for row in [row for rows in one_pass(stream) for row in rows]:
        seen["fr" if row["input_ids"][0] == tokens[0] else "en"] += texts([row])
        assert row["input_ids"][0] in tokens
    assert sorted(seen["fr"]) == sorted(ROWS)
    assert sorted(seen["en"]) == sorted((target, source) for source, target in ROWS)


def test_the_sample_is_a_share_of_every_source(tmp_path, files, monkeypatch):
    monkeypatch.setattr(streams, "SAMPLE_ROWS", 60)
    small = write(tmp_path / "small.parquet", [(f"small{number}", f"petit{number}") for number in range(23)])
    sources = [{"data_path": [str(path) for path in files]}, {"data_path": str(small)}]
    arguments = settings([], sources=sources, dataset="sources", validation_path=[str(tmp_path / "val.parquet")])
    pairs, report = prepare_pairs(arguments)
    assert report.stream == {"rows": 120, "sample": 60}
    assert [counts["read"] for counts in report.sources.values()] == [48, 12]  # half of 97 and of 23
    everything = {*ROWS, *((f"small{number}", f"petit{number}") for number in range(23))}
    assert {(row["source"], row["target"]) for row in pairs["train"]} <= everything


def test_the_sample_follows_seed_and_content(files, monkeypatch):
    monkeypatch.setattr(streams, "SAMPLE_ROWS", 30)

    def sample(**changes):
        streams._footer.cache_clear()
        return prepare_pairs(settings(files, **changes))[0]["train"]["source"][:]

    before = sample()
    assert sample() == before
    assert sample(split_seed=2) != before
    for path, part in zip(files, range(3), strict=True):  # as many bytes in as many rows
        write(path, [(source.replace("is", "at"), target) for source, target in ROWS[part::3]], nested=part != 1)
    assert all("at here" in text for text in sample())


def test_a_folder_of_a_data_set_has_its_own_splits(tmp_path):
    for split, rows in {"train": ROWS[:40], "validation": ROWS[40:50], "test": ROWS[50:60]}.items():
        write(tmp_path / f"{split}-00000-of-00001.parquet", rows)
    arguments = DataArguments(dataset=str(tmp_path), streaming=True)
    pairs, _ = prepare_pairs(arguments)
    assert {name: len(rows) for name, rows in pairs.items()} == {"train": 40, "validation": 10, "test": 10}
    stream, texts = batches(arguments)
    assert sorted(pair for rows in one_pass(stream) for pair in texts(rows)) == sorted(ROWS[:40])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"filters": {"near_duplicates": True}},
            "filters.near_duplicates is true, but a stream is not read as a whole",
        ),
        ({"filters": {"alignment": True}}, "filters.alignment is true"),
        ({"validation_path": []}, "Give validation_path, or set validation_size to 0"),
        ({"test_size": None}, "Give test_path, or set test_size to 0"),
    ],
)
def test_what_needs_all_rows_is_refused(files, changes, message):
    refused(message, prepare_pairs, settings(files, **changes))


def test_a_source_of_a_stream_is_read_whole(files, tmp_path):
    sources = [{"data_path": [str(path) for path in files], "max_train_samples": 10}]
    with pytest.raises(GlossaError, match="max_train_samples of a source is 10"):
        Stream(settings([], sources=sources, dataset="sources", validation_path=[str(tmp_path / "val.parquet")]))


def test_a_row_that_is_left_out_is_named_by_its_place_in_the_file(tmp_path, monkeypatch):
    """Of a sample too, and of a later block of its file."""
    monkeypatch.setattr(streams, "SAMPLE_ROWS", 45)
    rows = [(source, None if number % 10 == 9 else target) for number, (source, target) in enumerate(ROWS[:90])]
    path = write(tmp_path / "train.parquet", rows, nested=False)
    write(tmp_path / "val.parquet", [("a cat", "un chat"), ("a dog", "un chien")])
    _, report = prepare_pairs(settings([path], trust_data=True))
    assert len(report.malformed_rows) > 1
    for row in report.malformed_rows:
        assert row["file"] == str(path) and row["line"] % 10 == 0
        assert rows[row["line"] - 1][0] in row["excerpt"]


def test_other_formats_are_refused(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(GlossaError, match=r"needs Parquet files, but .*pairs\.tsv is another file"):
        Stream(DataArguments(dataset="files", data_path=[str(tmp_path / "pairs.tsv")], streaming=True))
    with pytest.raises(GlossaError, match="is another file"):
        (tmp_path / "train.jsonl").write_text('{"en": "a", "fr": "b"}\n')
        Stream(DataArguments(dataset=str(tmp_path), streaming=True))


def test_a_file_that_is_damaged_while_training_is_named(files):
    stream, _ = batches(settings(files))
    whole = files[0].read_bytes()
    files[0].write_bytes(whole[:4] + bytes(len(whole) - 4))
    refused(r"train-0\.parquet cannot be read", take, stream, 60)


def test_another_content_has_another_fingerprint(tmp_path, files):
    before = Stream(settings(files)).fingerprint()
    moved = tmp_path / "moved"
    moved.mkdir()
    copies = [moved / path.name for path in files]
    for path, copy in zip(files, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    (moved / "val.parquet").write_bytes((tmp_path / "val.parquet").read_bytes())
    assert Stream(settings(copies)).fingerprint() == before
    streams._footer.cache_clear()
    write(copies[0], [*ROWS[0::3], ("new", "neuf")])
    assert Stream(settings(copies)).fingerprint() != before


def test_augmented_windows_are_the_same_for_any_number_of_processes(files):
    shares = {"typing_errors": 0.4, "joined": 0.2}
    windows_of = {}
    for processes in (1, 2):
        for process in range(processes):
            stream, texts = batches(settings(files), process=process, processes=processes)
            stream.windows.augmentation = Augmentation(shares, 3)
            for epoch in (0, 1):
                for number in range(process, stream.windows.count(epoch), processes):
                    window = stream.windows[epoch, number]
                    rows = [row for batch in range(len(window.batches)) for row in window.rows(batch)]
                    windows_of.setdefault((epoch, number), []).append(texts(rows))
    assert all(alone == shared for alone, shared in windows_of.values())
    passes = [
        [pair for (own, _), (rows, _) in windows_of.items() if own == epoch for pair in rows] for epoch in (0, 1)
    ]
    for found in passes:
        assert len(found) == len(ROWS)
        assert 25 < len(set(found) & set(ROWS)) < 55  # two in five
        assert 8 < sum(source.count("word") > 1 and target.count("ligne") > 1 for source, target in found) < 35
        assert 25 < sum(target in dict(ROWS).values() for _, target in set(found) - set(ROWS)) < 55
    assert set(passes[0]) != set(passes[1])


def test_a_changed_pair_beyond_the_limits_stays_as_it_is(files):
    stream, texts = batches(settings(files, max_length=20))
    stream.windows.augmentation = Augmentation({"joined": 1.0}, 3)
    assert sorted(pair for rows in one_pass(stream) for pair in texts(rows)) == sorted(ROWS)
