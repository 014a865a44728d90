"""Energy use of training, measured by hardware counters where available."""

from pathlib import Path
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

POWERCAP = Path("/sys/class/powercap")


class EnergyMeter(TrainerCallback, ExportableState):
    """Sums the energy of CPUs (RAPL) and NVIDIA GPUs (NVML) during training, including before a run was resumed.

    The counters cover the whole machine: they include other programs, but not memory, fans or the power supply. They
    are read at every log entry, since CPU counters overflow several times a day.
    """

    def __init__(self, powercap: Path = POWERCAP):
        self.counters: list[_Cpu | _Gpu] = [*_cpus(powercap), *_gpus()]
        self.joules = 0.0
        self._last: list[float] = []

    def on_train_begin(self, args, state, control, **kwargs):
        self._last = [counter.joules() for counter in self.counters]

    def on_log(self, args, state, control, **kwargs):
        try:
            now = [counter.joules() for counter in self.counters]
        except (OSError, ValueError):  # without all counters the sum would be wrong
            self.counters = []
            return
        for counter, before, after in zip(self.counters, self._last, now, strict=True):
            self.joules += after - before if after >= before else after - before + counter.range
        self._last = now

    on_train_end = on_log

    def state(self) -> dict:
        return {"args": {}, "attributes": {"joules": self.joules}}

    def metrics(self) -> dict[str, float | str]:
        """`energy_kwh` and its `energy_source`; empty if nothing was measured."""
        if not self.counters or not self.joules:
            return {}
        kinds = {"CPU packages" if isinstance(counter, _Cpu) else "GPUs" for counter in self.counters}
        source = f"estimated from the energy counters of {' and '.join(sorted(kinds))}, other programs included"
        return {"energy_kwh": round(self.joules / 3.6e6, 6), "energy_source": source}


class _Cpu:
    """A CPU package, whose counter of microjoules restarts at 0 beyond its range."""

    def __init__(self, folder: Path):
        self.file = folder / "energy_uj"
        self.range = int((folder / "max_energy_range_uj").read_text()) / 1e6

    def joules(self) -> float:
        return int(self.file.read_text()) / 1e6


class _Gpu:
    """A GPU, whose counter has the millijoules since the driver was loaded."""

    range = 0.0

    def __init__(self, library: Any, handle: Any):
        self.library, self.handle = library, handle

    def joules(self) -> float:
        try:
            return self.library.nvmlDeviceGetTotalEnergyConsumption(self.handle) / 1e3
        except self.library.NVMLError as error:
            raise OSError(f"NVML cannot read the energy: {error}") from error


def _cpus(powercap: Path) -> list[_Cpu]:
    try:
        folders = [path.parent for path in sorted(powercap.glob("*/name")) if "package" in path.read_text()]
        found = [_Cpu(folder) for folder in folders]
        return [counter for counter in found if counter.joules() >= 0]
    except (OSError, ValueError):  # on most machines readable only by root
        return []


def _gpus() -> list[_Gpu]:
    try:
        import pynvml
    except ImportError:  # installed by the extra `gpu`
        return []
    try:
        pynvml.nvmlInit()
        found = [
            _Gpu(pynvml, pynvml.nvmlDeviceGetHandleByIndex(index)) for index in range(pynvml.nvmlDeviceGetCount())
        ]
        return [counter for counter in found if counter.joules() >= 0]
    except (OSError, pynvml.NVMLError):
        return []
