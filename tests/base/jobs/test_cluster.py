"""Jobs on a Ray cluster of two nodes on this machine, of which one is lost."""

import json
import os
import time
from functools import partial

import pytest
from small_models import write_pairs

from glossa.base.errors import GlossaError
from glossa.base.jobs import cluster
from glossa.base.jobs.cluster import on_ray
from glossa.base.jobs.pool import in_this_process
from glossa.base.jobs.stage import Stage
from glossa.cli import score
from glossa.cli.translate import main
from glossa.train.data.arguments import DataArguments
from glossa.train.data.preparing import blocks, duplicates, writing
from glossa.train.data.preparing.prepare import prepare
from glossa.translate import build
from glossa.translate.corpora import shards

ray = pytest.importorskip("ray", reason='needs Ray: pip install "glossa-mt[ray]"')
NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}


def slow(number, stem):
    time.sleep(0.1)
    if number < 0:
        raise GlossaError(f"{number} has no root.")
    stem.with_suffix(".txt").write_text(f"{number * number}\n")
    return {"square": number * number}


def load():
    return slow


@pytest.fixture(scope="module")
def nodes():
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_worker_niceness", "0")  # read when a node is started
    nodes = Cluster(initialize_head=True, head_node_args=NODE)
    yield nodes
    nodes.shutdown()


@pytest.fixture(autouse=True)
def by_value():
    """The nodes do not see this file, so its functions are sent as they are."""
    import sys

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.slow
def test_a_lost_node_loses_nothing(tmp_path, nodes):
    lost = nodes.add_node(**NODE)
    items = {f"n{number:02d}": number for number in range(30)}

    def losing(place, load, items):
        for number, name in enumerate(place(load, items)):
            if number == 8:
                nodes.remove_node(lost, allow_graceful=False)
            if number == 12:
                nodes.add_node(**NODE)
            yield name

    with on_ray(nodes.address, tmp_path) as place:
        found = Stage("squares", tmp_path, load, items).run(partial(losing, place))
        assert found == {name: {"square": number * number} for name, number in items.items()}
        assert {path.name for path in tmp_path.glob("*.txt")} == {f"{name}.txt" for name in items}
        with pytest.raises(GlossaError, match=r"^-1 has no root\.$"):
            Stage("squares", tmp_path, load, {"bad": -1}).run(place)


@pytest.mark.slow
def test_prepared_files_are_those_of_this_machine(tmp_path, nodes):
    path = write_pairs(tmp_path / "a.tsv")
    path.write_text(path.read_text() * 2)
    arguments = DataArguments(data_path=[str(path)], filters={"near_duplicates": True})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "ROWS", 50)
        patch.setattr(duplicates, "PAIRS", 100)
        patch.setattr(writing, "PAIRS", 60)
        prepare(arguments, tmp_path / "one", in_this_process, tmp_path / "parts1")
        with on_ray(nodes.address, tmp_path / "parts2") as place:
            prepare(arguments, tmp_path / "two", place, tmp_path / "parts2")
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    )
    assert len(one) > 5 and one == two


@pytest.mark.slow
def test_a_file_is_translated_as_on_this_machine(tiny_run, tmp_path, nodes, monkeypatch):
    monkeypatch.setattr(shards, "SHARD", 10)
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{a} {b}.\n" for a in "abcde" for b in "klmnop"))
    found = []
    for place in (["--workers", "1"], ["--ray", nodes.address]):
        output = tmp_path / f"{place[0]}.txt"
        main([str(tiny_run), "--input", str(source), "--output", str(output), "--num_beams", "2", *place])
        found.append(output.read_bytes())
    assert found[0] == found[1] and found[0].count(b"\n") == 30


@pytest.mark.slow
def test_scores_are_those_of_this_machine(tiny_run, tmp_path, nodes, monkeypatch, capsys):
    called = []
    translated_at = build.translated_at
    monkeypatch.setattr(build, "translated_at", lambda *given: called.append(len(given[2])) or translated_at(*given))
    found = []
    for place in ([], ["--ray", nodes.address]):
        output = tmp_path / f"{len(place)}.json"
        score.main([str(tiny_run), "--num_beams", "1", "2", "--batch_tokens", "32", "--output", str(output), *place])
        results = json.loads(output.read_text())["results"]
        found.append({name: (one["translations"], one["scores"]) for name, one in results.items()})
    assert found[0] == found[1]
    assert len(called) >= 2 and min(called) > 1  # greedy and with beams, several batches


@pytest.mark.slow
def test_machines_with_another_version_or_without_the_folder_are_named(tmp_path, nodes, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "__version__", "99.0")
        refused = pytest.raises(GlossaError, match=r"has Glossa .*, this machine has 99\.0\. Install the same version")
        with refused, on_ray(nodes.address, tmp_path):
            pass
    monkeypatch.setattr(cluster, "_probe", lambda paths: (cluster.__version__, [True, False]))
    refused = pytest.raises(
        GlossaError, match=r"cannot see .*input\.txt\. Move it to a folder that all machines share"
    )
    with refused, on_ray(nodes.address, tmp_path / "new", [tmp_path / "input.txt"]):
        pass


@pytest.mark.slow
def test_a_machine_that_has_just_left_is_not_asked(tmp_path, nodes, monkeypatch):
    known = ray.nodes

    def with_gone():
        return [*known(), {"NodeID": "ab" * 28, "NodeManagerAddress": "10.0.0.9", "Alive": True}]

    monkeypatch.setattr(ray, "nodes", with_gone)
    with on_ray(nodes.address, tmp_path) as place:
        found = Stage("squares", tmp_path, load, {"three": 3}).run(place)
    assert found == {"three": {"square": 9}}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", "--ray is 'nowhere'; give auto, local, HOST:PORT"),
        ("127.0.0.1:1", "--ray is 127.0.0.1:1, but nothing responds there within 10 seconds"),
        ("ray://127.0.0.1:port", "nothing responds there"),
    ],
)
def test_wrong_addresses(tmp_path, address, message):
    with pytest.raises(GlossaError, match=message), on_ray(address, tmp_path):
        pass


def test_without_ray(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(GlossaError, match=r'pip install "glossa-mt\[ray\]"'), on_ray("auto", tmp_path):
        pass
