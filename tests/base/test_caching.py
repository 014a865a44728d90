"""Cached steps run again only if their rows, settings or code have changed."""

import ast
import importlib.util
import sys
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from datasets import Dataset, Features, Value

from glossa.base import caching
from glossa.base.caching import cached_map, cached_rows


@pytest.fixture
def rows(tmp_path):
    Dataset.from_dict({"x": [1, 2, 3]}).to_parquet(tmp_path / "rows.parquet")
    return Dataset.from_parquet(str(tmp_path / "rows.parquet"), cache_dir=str(tmp_path / "cache"))


@pytest.fixture
def helper(tmp_path):
    """A module whose source the test can change."""
    path = tmp_path / "helper.py"
    path.write_text("FACTOR = 2\n")
    spec = importlib.util.spec_from_file_location("helper", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_step_runs_again_for_other_rows_settings_or_code(rows, helper, tmp_path):
    runs = []

    def scale(batch, factor=2):
        runs.append(batch["x"])
        return {"x": [factor * x for x in batch["x"]]}

    for _ in range(2):
        assert cached_map(rows, scale, code=[helper])["x"][:] == [2, 4, 6]
    assert runs == [[1, 2, 3]]
    assert cached_map(rows.select([2]), scale, code=[helper])["x"][:] == [6]
    assert cached_map(rows, scale, ("factor", 5), [helper], fn_kwargs={"factor": 5})["x"][:] == [5, 10, 15]
    assert len(runs) == 3
    (tmp_path / "helper.py").write_text("FACTOR = 2  # and a comment\n")
    assert cached_map(rows, scale, code=[helper])["x"][:] == [2, 4, 6]
    assert len(runs) == 4


def test_two_steps_of_one_module_do_not_share_a_result(rows):
    def double(batch):
        return {"x": [2 * x for x in batch["x"]]}

    def triple(batch):
        return {"x": [3 * x for x in batch["x"]]}

    assert cached_map(rows, double)["x"][:] == [2, 4, 6]
    assert cached_map(rows, triple)["x"][:] == [3, 6, 9]


def test_generated_rows_are_cached_by_settings(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    runs = []

    def generate(count):
        runs.append(count)
        yield from ({"x": number} for number in range(count))

    features = Features({"x": Value("int64")})
    for count in (2, 2, 3):
        assert cached_rows(generate, {"count": count}, features, ("count", count))["x"][:] == list(range(count))
    assert runs == [2, 3]


def test_rows_whose_reading_fails_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    last = ["three"]

    def generate():
        yield from ({"x": str(number)} for number in range(2500))
        yield {"x": last[0]}
        if last == ["three"]:
            raise ValueError("line 3")

    features = Features({"x": Value("string")})
    with pytest.raises(ValueError, match="line 3"):
        cached_rows(generate, {}, features, "same")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    last[0] = "four"
    assert cached_rows(generate, {}, features, "same")["x"][2499:] == ["2499", "four"]


@pytest.mark.parametrize("changed", ["python", "glossa", "pyarrow", "ftfy", "tokenizers"])
def test_results_of_other_versions_are_not_used(monkeypatch, changed):
    now = caching._fingerprint(caching.cached_map, (), ())
    assert caching._fingerprint(caching.cached_map, (), ()) == now
    found = caching.versions()
    monkeypatch.setattr(caching, "versions", lambda: found | {changed: "0.0.1"})
    assert caching._fingerprint(caching.cached_map, (), ()) != now


def test_every_library_that_reads_data_has_its_version_in_the_key():
    """But for the standard library, those that change no text, and torch, which reads none."""
    package = Path(caching.__file__).parents[1]
    rooms = [file for room in ("readers", "train/data") for file in (package / room).rglob("*.py")]
    below = ("caching", "identification", "languages", "paths", "tokens")
    rooms += [package / "base" / f"{name}.py" for name in below]
    names = {
        name.partition(".")[0]
        for file in rooms
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    }
    others = names - set(sys.stdlib_module_names) - {"torch", "scipy", "filelock", "fsspec"}
    distributions = packages_distributions()
    assert {distributions[name][0].lower().replace("_", "-") for name in others} <= set(caching.LIBRARIES)
    assert caching.versions()["pyarrow"] == version("pyarrow") and caching.versions()["python"]
