"""Data sets from a local Hub through the real clients: the layouts of WMT and OPUS, downloaded and streamed."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hub_server import Hub
from zygote import Zygote

PAIRS = [("Guten Tag.", "Good day."), ("Wo ist er?", "Where is he?"), ("Ja.", "Yes."), ("Nein.", "No.")] + [
    (f"Satz {number} ist lang.", f"Sentence {number} is long.") for number in range(40)
]
TRANSLATION = "  - name: translation\n    dtype:\n      translation:\n        languages:\n        - de\n        - en\n"


def parquet(rows):
    table = pyarrow.table({"translation": [{"de": de, "en": en} for de, en in rows]})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


def card(config, splits):
    """A data set card with configuration, features and files, like those of translation data sets on the Hub."""
    lines = ["---", "dataset_info:", f"- config_name: {config}", "  features:", TRANSLATION.rstrip("\n"), "  splits:"]
    lines += [f"  - name: {split}\n    num_examples: {count}" for split, count in splits.items()]
    lines += ["configs:", f"- config_name: {config}", "  data_files:"]
    lines += [f"  - split: {split}\n    path: {config}/{split}-*" for split in splits]
    return "\n".join([*lines, "---", "# A data set"]).encode()


@pytest.fixture(scope="module")
def hub():
    with Hub({"hf_token": "someone"}) as server:
        splits = {"train": PAIRS[4:], "validation": PAIRS[:2], "test": PAIRS[2:4]}
        files = {f"de-en/{split}-00000-of-00001.parquet": parquet(rows) for split, rows in splits.items()}
        sizes = {split: len(rows) for split, rows in splits.items()}
        server.add("wmt/wmt14", files | {"README.md": card("de-en", sizes)}, kind="datasets")
        parts = {f"de-en/train-0000{part}-of-00004.parquet": parquet(PAIRS[part::4]) for part in range(4)}
        readme = card("de-en", {"train": len(PAIRS)})
        server.add("Helsinki-NLP/opus_books", parts | {"README.md": readme}, kind="datasets")
        server.add("someone/secret", {"train.jsonl": b'{"de": "a", "en": "b"}\n'}, kind="datasets", private=True)
        yield server


@pytest.fixture(scope="module")
def client(hub, tmp_path_factory):
    """A zygote of programs that use this Hub, without a token."""
    process = Zygote(Path(sys.executable).parent, hub.environment(tmp_path_factory.mktemp("home")))
    yield process
    process.end()


PREPARE = """
import json, sys
import glossa_command  # as the command does, so that no model is imported
from glossa.cli import run
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import prepare_pairs
def main(argv):
    pairs, report = prepare_pairs(DataArguments(**json.loads(argv[0])))
    rows = {name: [[row["source"], row["target"]] for row in part] for name, part in pairs.items()}
    print(json.dumps({"rows": rows, "sizes": report.sizes}))
run(main)
"""


def prepare(client, tmp_path, changes=None, program=PREPARE, **settings):
    """The rows by split, or the last line of the error. `changes` are of the program's environment."""
    settings = {"source_language": "de", "target_language": "en"} | settings
    (tmp_path / "program.py").write_text(program)
    process = subprocess.run(
        [client.path / "python", "program.py", json.dumps(settings)], cwd=tmp_path, stdin=subprocess.DEVNULL,
        env=client.environment | (changes or {}), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if process.returncode:
        assert "Traceback" not in process.stderr, process.stderr
        return process.stderr.splitlines()[-1]
    return json.loads(process.stdout.splitlines()[-1])["rows"]


@pytest.mark.parametrize("streaming", [False, True])
def test_wmt_with_its_own_splits(client, tmp_path, streaming):
    rows = prepare(client, tmp_path, dataset="wmt/wmt14", dataset_config="de-en", streaming=streaming)
    assert rows == {
        "train": [list(pair) for pair in PAIRS[4:]], "validation": [list(pair) for pair in PAIRS[:2]],
        "test": [list(pair) for pair in PAIRS[2:4]],
    }  # fmt: skip


def test_opus_books_in_several_files_is_split_and_reversed(client, tmp_path):
    settings = {"dataset": "Helsinki-NLP/opus_books", "dataset_config": "de-en", "validation_size": 5, "test_size": 4}
    rows = prepare(client, tmp_path, **settings, source_language="en", target_language="de")
    assert {name: len(part) for name, part in rows.items()} == {"train": 35, "validation": 5, "test": 4}
    assert sorted(tuple(pair) for part in rows.values() for pair in part) == sorted((en, de) for de, en in PAIRS)


@pytest.mark.slow
def test_a_stream_with_a_limit_does_not_download_all_files(hub, client, tmp_path):
    hub.requests.clear()
    settings = {"dataset": "Helsinki-NLP/opus_books", "dataset_config": "de-en", "validation_size": 0, "test_size": 0}
    rows = prepare(client, tmp_path, **settings, streaming=True, max_train_samples=6)
    assert rows == {"train": [list(pair) for pair in PAIRS[0::4][:6]]}
    fetched = {request for request in hub.requests if request.startswith("GET") and request.endswith(".parquet")}
    files = {request.rsplit("/", 1)[1][:11] for request in fetched}
    assert files <= {"train-00000", "train-00001"}  # at most one is read ahead


STREAM = """
import json, sys
import glossa_command  # as the command does, so that no model is imported
from glossa.cli import run
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import prepare_pairs
from glossa.train.data.streaming.streams import Stream
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.train.data.streaming.windows import StreamBatches, Windows
def main(argv):
    arguments = DataArguments(**json.loads(argv[0]))
    stream = Stream(arguments)
    pairs, _ = prepare_pairs(arguments, stream)
    tokenizer = train_tokenizer(pairs["train"].to_dict().values(), 300)
    batches = StreamBatches(Windows(stream, tokenizer, 100), 100, workers=1)
    rows = [row for index in range(9) for row in batches[index]]
    rows = [[tokenizer.decode(row[side], True) for side in ("input_ids", "labels")] for row in rows]
    print(json.dumps({"rows": rows}))
run(main)
"""


@pytest.mark.slow
def test_a_stream_is_read_where_it_is(client, tmp_path):
    settings = {"dataset": "wmt/wmt14", "dataset_config": "de-en", "streaming": True}
    rows = prepare(client, tmp_path, {"HF_HOME": str(tmp_path / "home")}, STREAM, **settings)
    assert {tuple(row) for row in rows} <= set(PAIRS[4:])
    assert len(rows) > 20
    assert not list((tmp_path / "home").rglob("*.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dataset": "wmt/wmt14", "dataset_config": "de-xx"}, "de-xx"),
        ({"dataset": "someone/missing"}, "Dataset someone/missing could not be loaded"),
        ({"dataset": "someone/secret"}, "Dataset someone/secret could not be loaded"),
        ({"dataset": "wmt/wmt14", "dataset_config": "de-en", "source_language": "fi"}, "fi"),
    ],
)
def test_a_missing_data_set_is_an_error_of_one_line(client, tmp_path, settings, message):
    error = prepare(client, tmp_path, **settings)
    assert isinstance(error, str) and message in error


@pytest.mark.slow
def test_a_private_data_set_loads_with_the_token(client, tmp_path):
    settings = {"dataset": "someone/secret", "validation_size": 0, "test_size": 0}
    rows = prepare(client, tmp_path, {"HF_TOKEN": "hf_token", "HF_HOME": str(tmp_path / "home")}, **settings)
    assert rows == {"train": [["a", "b"]]}
