"""Energy of a training run, from simulated counters."""

import sys

import pytest

from glossa.train import energy
from glossa.train.energy import EnergyMeter, _Gpu


def package(folder, name, microjoules, limit=1_000_000_000):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text(f"{limit}\n")


@pytest.fixture
def meter(tmp_path, monkeypatch):
    monkeypatch.setattr("glossa.train.energy._gpus", lambda: [])
    package(tmp_path / "intel-rapl:0", "package-0", 100_000_000)
    package(tmp_path / "intel-rapl:0:0", "core", 5)  # part of the package, which already includes it
    package(tmp_path / "intel-rapl:1", "package-1", 900_000_000)
    return EnergyMeter(tmp_path)


def test_packages_are_summed_and_counters_may_wrap(meter, tmp_path):
    meter.on_train_begin(None, None, None)
    package(tmp_path / "intel-rapl:0", "package-0", 130_000_000)  # 30 J
    package(tmp_path / "intel-rapl:1", "package-1", 40_000_000)  # 100 J to the end of its range, then 40 J
    meter.on_log(None, None, None)
    package(tmp_path / "intel-rapl:0", "package-0", 131_000_000)  # 1 J more
    meter.on_train_end(None, None, None)
    assert meter.joules == pytest.approx(171)
    found = meter.metrics()
    assert found["energy_kwh"] == pytest.approx(171 / 3_600_000, abs=1e-6)
    assert found["energy_source"].startswith("estimated from the energy counters of CPU packages")


def test_no_metrics_without_counters(tmp_path, monkeypatch):
    monkeypatch.setattr("glossa.train.energy._gpus", lambda: [])
    meter = EnergyMeter(tmp_path)
    meter.on_train_begin(None, None, None)
    meter.on_train_end(None, None, None)
    assert meter.metrics() == {}
    package(tmp_path / "intel-rapl:0", "package-0", "not a number")
    assert EnergyMeter(tmp_path).counters == []


class Driver:
    """NVML with one GPU whose energy counter is `millijoules`."""

    millijoules = 5_000_000

    class NVMLError(Exception):
        pass

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        if self.millijoules < 0:
            raise self.NVMLError("GPU is lost")
        return self.millijoules


def test_gpu_energy_is_counted_and_a_lost_gpu_ends_the_measurement(meter, tmp_path):
    driver = Driver()
    meter.counters.append(_Gpu(driver, None))
    meter.on_train_begin(None, None, None)
    driver.millijoules += 2_000_000  # 2,000 J
    meter.on_log(None, None, None)
    assert meter.joules == pytest.approx(2000)
    assert "CPU packages and GPUs" in meter.metrics()["energy_source"]
    driver.millijoules = -1
    meter.on_log(None, None, None)
    assert meter.metrics() == {}


def test_a_machine_without_the_driver_of_a_gpu_has_no_counter(monkeypatch):
    class Missing(Driver):
        def nvmlInit(self):
            raise self.NVMLError("Driver Not LoadedSource")

    monkeypatch.setitem(sys.modules, "pynvml", Missing())
    assert energy._gpus() == []
    monkeypatch.setitem(sys.modules, "pynvml", None)  # the extra is not installed
    assert energy._gpus() == []
    working = Driver()
    working.nvmlInit = lambda: None
    working.nvmlDeviceGetCount = lambda: 2
    working.nvmlDeviceGetHandleByIndex = lambda index: index
    monkeypatch.setitem(sys.modules, "pynvml", working)
    assert [counter.joules() for counter in energy._gpus()] == [5000, 5000]
