"""What a training costs in energy, by the machine's own counters; nothing where it has none."""

import ctypes
from pathlib import Path

from transformers import TrainerCallback

POWERCAP = Path("/sys/class/powercap")


class EnergyMeter(TrainerCallback):
    """Adds up the energy of processors (RAPL) and NVIDIA GPUs (NVML) from the beginning of training to its end.

    The counters are the whole machine's, so other programs count too; memory, fans and power supply do not. They are
    read at every line of the log, as the processor's start anew several times a day.
    """

    def __init__(self, powercap: Path = POWERCAP):
        self.counters: list[_Processor | _Gpu] = [*_processors(powercap), *_gpus()]
        self.joules = 0.0
        self._last: list[float] = []

    def on_train_begin(self, args, state, control, **kwargs):
        self._last = [counter.joules() for counter in self.counters]

    def on_log(self, args, state, control, **kwargs):
        try:
            now = [counter.joules() for counter in self.counters]
        except (OSError, ValueError):  # a counter that is lost makes the sum worthless, and training goes on
            self.counters = []
            return
        for counter, before, after in zip(self.counters, self._last, now, strict=True):
            self.joules += after - before if after >= before else after - before + counter.range
        self._last = now

    on_train_end = on_log

    def metrics(self) -> dict[str, float | str]:
        """`energy_kwh` and, in words, its `energy_source`; empty where nothing could be measured."""
        if not self.counters or not self.joules:
            return {}
        kinds = {"processor packages" if isinstance(counter, _Processor) else "GPUs" for counter in self.counters}
        source = f"estimated from the energy counters of {' and '.join(sorted(kinds))}, other programs included"
        return {"energy_kwh": round(self.joules / 3.6e6, 6), "energy_source": source}


class _Processor:
    """One package: a counter of microjoules that starts anew beyond its range."""

    def __init__(self, folder: Path):
        self.file = folder / "energy_uj"
        self.range = int((folder / "max_energy_range_uj").read_text()) / 1e6

    def joules(self) -> float:
        return int(self.file.read_text()) / 1e6


class _Gpu:
    """One GPU: a counter of millijoules since the driver was loaded."""

    range = 0.0

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p):
        self.library, self.handle = library, handle

    def joules(self) -> float:
        value = ctypes.c_ulonglong()
        status = self.library.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(value))
        if status:
            raise OSError(f"NVML gives no energy (status {status})")
        return value.value / 1e3


def _processors(powercap: Path) -> list[_Processor]:
    try:
        folders = [path.parent for path in sorted(powercap.glob("*/name")) if "package" in path.read_text()]
        found = [_Processor(folder) for folder in folders]
        return [counter for counter in found if counter.joules() >= 0]
    except (OSError, ValueError):  # only root may read them on most machines
        return []


def _gpus() -> list[_Gpu]:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        count = ctypes.c_uint()
        if library.nvmlInit_v2() or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return []
        found = []
        for index in range(count.value):
            handle = ctypes.c_void_p()
            if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
                found.append(_Gpu(library, handle))
        return [counter for counter in found if counter.joules() >= 0]
    except (OSError, AttributeError):
        return []
