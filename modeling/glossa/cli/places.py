"""Where the jobs of a command run: in processes of this machine, or on a Ray cluster."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import option

if TYPE_CHECKING:
    from ..base.jobs.stage import Place


def ray_option() -> Any:
    """The option `--ray`."""
    return option(
        "run on a Ray cluster: auto (already running here), local (start one), HOST:PORT or ray://HOST:PORT; all "
        'machines must see the files (pip install "glossa-mt[ray]")',
        metavar="ADDRESS",
    )


@contextlib.contextmanager
def place_of(
    ray: str | None, processes: int | None, folder: Path, modules: Sequence[str], needed: Sequence[Path] = ()
) -> Iterator["Place"]:
    """Return the processes or the Ray cluster that run the stages of the job in `folder`.

    Without a number of processes, that is this process. Others import `modules` before they start; machines of a
    cluster must see what is `needed`.
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
