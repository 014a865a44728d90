"""The exported engine of a model, made before its first use and kept in the cache of Hugging Face by content.

Reading it needs neither torch nor transformers.
"""

import atexit
import logging
import shutil
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
from huggingface_hub import constants

from ...base.errors import GlossaError
from ...base.jobs.records import hash_bytes
from ..interface import Engine, Search, Translation
from ..loading import load_config, load_model, load_tokenizer, stamp_models
from .generate import GenerateEngine

logger = logging.getLogger(__name__)

FORM = 2  # of the exported folders; another one whenever the export writes something else for the same model
COMPARED = 100  # sentences
WEIGHTS = "model.bin"


def load_exported(names: list[str]) -> tuple[Engine, Any] | None:
    """The only model of `names` in CTranslate2, and its tokenizer. None if `generate` is to translate with it.

    That is on a GPU, without CTranslate2, for several models, and for a model that cannot be exported. The reason is
    logged, unless CTranslate2 is not installed. A model that was exported already is loaded from the cache. Otherwise
    it is exported, and `generate` translates its first sentences too, to compare.
    """
    if find_spec("ctranslate2") is None:
        return None
    if len(names) > 1:
        logger.info("Several models translate with generate: CTranslate2 takes one.")
        return None
    from .ctranslate2 import ctranslate2, load_engine

    name = names[0]
    if (Path(name) / WEIGHTS).is_file():
        return load_engine(name)
    if ctranslate2.get_cuda_device_count():
        logger.info("On a GPU, generate translates. --engine ctranslate2 takes a folder of `glossa export`.")
        return None
    folder = place(name)
    if folder is not None and (folder / WEIGHTS).is_file():
        return load_engine(str(folder))
    return _export(name)


def place(name: str) -> Path | None:
    """The folder of the cache for a model; None for a name on the Hub that is not here yet."""
    (content,) = stamp_models([name]).values()
    if not content:
        return None
    key = hash_bytes([f"{content} {FORM} {version('ctranslate2')}".encode()])
    return Path(constants.HF_HOME, "glossa", "engines", key)


def _export(name: str) -> tuple[Engine, Any] | None:
    """Export the model into its place, and load it from there."""
    if (family := load_config(name).model_type) != "glossa":
        logger.info("%s is a model of the family %s, and translates with generate.", name, family)
        return None
    model, tokenizer = load_model(name), load_tokenizer(name)
    if (model.generation_config.length_penalty or 0) < 0:
        logger.info("The model has a negative length_penalty, and translates with generate.")
        return None
    folder = place(name)
    assert folder is not None  # it was downloaded
    try:
        _write(model, tokenizer, folder)
    except GlossaError as error:
        logger.info("%s It translates with generate, which is slower.", error)
        return None
    except OSError as error:
        logger.warning("%s: %s. The model translates with generate, which is slower.", folder, error.strerror or error)
        return None
    logger.info("The model was exported to CTranslate2, once: %s", folder)
    from .ctranslate2 import load_engine

    engine, light = load_engine(str(folder))
    return ComparedEngine(engine, GenerateEngine(model, tokenizer)), light


def _write(model: Any, tokenizer: Any, folder: Path) -> None:
    """Export into a new folder, which gets its name when it is whole. Another job may do the same."""
    from ..export.ctranslate2_model import export_ctranslate2

    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        export_ctranslate2(model, tokenizer, new)
        new.rename(folder)
    except OSError:
        if not (folder / WEIGHTS).is_file():  # the other job was not faster
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


class ComparedEngine(Engine):
    """An engine whose first `COMPARED` sentences are also translated with `generate`. A difference is logged once.

    Args:
        engine: The engine that translates.
        exact: The same model with `generate`, until the comparison is over.
    """

    def __init__(self, engine: Engine, exact: Engine):
        self.engine = engine
        self.exact: Engine | None = exact
        self.compared, self.different = 0, 0
        for name in Engine.__annotations__:
            setattr(self, name, getattr(engine, name))
        atexit.register(self.report)  # for a job with fewer sentences

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        found = self.engine.translate(sources, search)
        if (exact := self.exact) is not None:
            some, each = sources[: max(COMPARED - self.compared, 0)], search.num_return_sequences
            expected = exact.translate(some, search)
            firsts = zip(found[::each], expected[::each], strict=False)  # `expected` has fewer
            self.different += sum(mine.text != other.text for mine, other in firsts)
            self.compared += len(some)
            if self.compared >= COMPARED:
                self.report()
                self.exact = None  # its memory is free
        return found

    def token_scores(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        return self.engine.token_scores(sources, targets)

    def attention(self, sources: list[list[int]], targets: list[list[int]]) -> Iterable[numpy.ndarray]:
        return self.engine.attention(sources, targets)

    def report(self) -> None:
        """Log how many translations differ, if any."""
        atexit.unregister(self.report)
        if self.different:
            logger.warning(
                "CTranslate2 translates %d of the first %d sentences differently from generate (--engine torch); see "
                "docs/serving.md.", self.different, self.compared,
            )  # fmt: skip
        self.different = 0
