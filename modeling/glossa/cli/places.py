"""The processes that run the jobs of a command: on this machine, or on a Ray cluster."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..base.jobs.stage import Runner


@contextlib.contextmanager
def place_of(
    ray: str | None, processes: int | None, folder: Path, modules: Sequence[str], needed: Sequence[Path] = ()
) -> Iterator["Runner"]:
    """Start the processes for the stages of a job.

    Args:
        ray: Address of a Ray cluster; None for this machine.
        processes: Number of processes; None for this process alone.
        folder: Folder of the job.
        modules: Modules to import before processes start.
        needed: Files that all machines of a cluster must see.
    """
    if ray is not None:
        from ..base.jobs.cluster import on_ray

        with on_ray(ray, folder, needed) as found:
            yield found
    elif processes is None:
        from ..base.jobs.pool import in_this_process

        yield in_this_process
    else:
        from ..base.jobs.pool import in_processes

        yield partial(in_processes, processes=processes, modules=modules)
