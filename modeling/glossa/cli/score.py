"""Score a model on held-out pairs: `glossa score MODEL`.

Prints BLEU, chrF++ and TER with 95% bootstrap intervals and sacreBLEU's signatures, greedy and with beams, against
the first reference of each source, and against all of them if any source has several. `--baseline OTHER` also
tests whether the difference to another model could be chance, by paired bootstrap of BLEU, chrF++ and TER.

With --rerank OTHER, a search with N beams gives N translations. The translation with the highest sum of both models'
log-probabilities is scored. OTHER may translate in the opposite direction.

`--robustness` shows what the model keeps of its BLEU if the sources are written in another way, such as in upper case
or with typing errors, with greedy search unless --num_beams has a number. The table of a run's own test pairs is kept
in the run, and its model card shows it.

Several models translate together: each token is chosen by the mean of their log-probabilities. `--force` does not
translate; it prints the perplexity of the references.

Started by `accelerate launch` or `torchrun`, all processes share the work; the scores are the same as with one
process. With `--ray ADDRESS`, a Ray cluster translates; the scores are the same then, too.
"""

import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import GlossaError
from ..translate.engines.engine import ENGINES
from ..translate.languages import Languages, Wanted
from ..translate.loading import check_name, load_tokenizer
from . import whole
from .options import argument, flag, option, read
from .places import ray_option

if TYPE_CHECKING:
    from datasets import Dataset

    from ..base.jobs.stage import Place
    from ..translate.texts.recall import Recall

logger = logging.getLogger(__name__)

COLUMNS = ("source_column", "target_column")
RESAMPLES = 1000  # sacreBLEU's default
TRANSLATED = ("baseline", "length_penalty", "rerank", "metrics", "comet", "n_bootstrap", "memory")
SEARCH = ("num_beams", "engine", "ray", *TRANSLATED)  # not for --force
OF_SCORES = (*TRANSLATED, "force")  # not for --robustness
METRICS = ("bleu", "chrf", "ter", "rouge", "cer", "wer")


@dataclass(frozen=True)
class ScoreOptions:
    """The options of `glossa score`."""

    models: list[str] = argument("folder of a run, or Hub name", metavar="MODEL")
    split: str = option("of the run (default: test)", choices=("validation", "test"), default="test")
    data_path: list[str] | None = option("score these pairs instead (any format that training reads)")
    source_language: str | None = option("of --data_path (default: that of the run)")
    target_language: str | None = option(
        "of --data_path (default: that of the run); needed for a model of several target languages"
    )
    source_column: str | None = option(
        "of --data_path, by name or number (default: that of the run, if its data have one)"
    )
    target_column: str | None = option(
        "of --data_path, by name or number (default: that of the run, if its data have one)"
    )
    bleu_tokenizer: str | None = option("sacreBLEU's (default: that of the run, or of the target language)")
    num_beams: list[int] | None = option("beams (default: 1 and the model's own)")
    length_penalty: list[float] | None = option(
        "divide beam scores by the length to the power of each X in turn (default: the model's own)", metavar="X"
    )
    rerank: str | None = option(
        "with beams, rank the translations with this model too (--baseline is not reranked)", metavar="OTHER"
    )
    batch_tokens: int = option("source tokens per batch (default: 4096)", default=4096)
    engine: str | None = option(
        "CTranslate2 if it can have the model, generate, or an exported model (default: auto)", choices=ENGINES
    )
    n_bootstrap: int | None = option(f"resamples for intervals, 0 for none (default: {RESAMPLES})", type=whole(0))
    metrics: list[str] | None = option(
        "bleu chrf ter (the default), rouge, cer (character error rate), wer (word error rate)",
        choices=METRICS,
        metavar="NAME",
    )
    comet: bool = flag("print COMET too, if its command comet-score is installed")
    baseline: str | None = option("another model: test whether the difference could be chance")
    robustness: bool = flag("show what is kept of the score if the sources are written in other ways")
    memory: Path | None = option("a translation memory, as of `glossa translate`", metavar="FILE")
    force: bool = flag(
        "print the perplexity of the references instead of translating; --output has each log-probability"
    )
    ray: str | None = ray_option()
    output: str | None = option("write scores and translations to this JSON file")

    @property
    def wanted(self) -> Wanted:
        """The languages that the model is asked for."""
        return Wanted(self.target_language, self.source_language)


def parse(argv: list[str]) -> ScoreOptions:
    return read(ScoreOptions, "score", __doc__, argv)


def check(arguments: ScoreOptions) -> None:
    """Raise `GlossaError` for a model or folder that is missing, and for options that contradict each other."""
    for name in [*arguments.models, arguments.baseline, arguments.rerank]:
        if name is not None:
            check_name(name)
    if arguments.output and not Path(arguments.output).parent.is_dir():
        raise GlossaError(f"{arguments.output}: there is no folder {Path(arguments.output).parent}. Make it first.")
    for name in OF_SCORES if arguments.robustness else ():
        if getattr(arguments, name) not in (None, False):
            raise GlossaError(
                f"--{name} is for one set of scores, but --robustness shows many. Leave one of them out."
            )
    for name in SEARCH if arguments.force else ():
        if getattr(arguments, name) not in (None, False):
            raise GlossaError(f"--{name} is for translations, but --force makes none. Leave one of them out.")


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check(arguments)
    resamples = RESAMPLES if arguments.n_bootstrap is None else arguments.n_bootstrap
    arguments = replace(arguments, metrics=arguments.metrics or list(METRICS[:3]), n_bootstrap=resamples)

    from ..base.metrics import bleu_tokenizer
    from ..base.run_folder import RunFolder
    from ..train.evaluation.further_metrics import check_packages
    from ..train.evaluation.scoring import files_of
    from ..translate.sharing import processes

    first = arguments.models[0]
    recipe = RunFolder(first).recipe
    names = ("source_language", "target_language")
    said = Languages.of(first)
    own = dict(zip(names, said.pair, strict=True))
    several = said.tagged
    if not arguments.data_path:
        refuse_for_held_out(arguments, {name: own[name] for name in names[: 1 if several else 2]})
    languages: dict = {name: getattr(arguments, name) or own[name] for name in names}
    if several:
        chosen = load_tokenizer(first)
        Languages.choose(chosen, first, arguments.wanted)
        languages["target_language"] = chosen.tgt_lang  # type: ignore[attr-defined]
    arguments = replace(arguments, **languages)
    if arguments.data_path and None in languages.values():
        raise GlossaError(f"The languages of {first} are unknown. Give --source_language and --target_language.")
    choice = arguments.bleu_tokenizer or recipe.get("bleu_tokenizer", "auto")
    check_packages(arguments.metrics)
    tokenize = bleu_tokenizer(languages["target_language"] or "", choice)
    state = processes()
    if arguments.ray is not None and state.num_processes > 1:
        raise GlossaError("--ray shares the work itself. Start glossa score without a launcher, or leave --ray out.")
    with state.main_process_first():
        if arguments.data_path:
            columns = {name: getattr(arguments, name) or recipe.get(name) for name in COLUMNS}
            pairs, files = load_files(arguments.data_path, languages | columns)
        else:
            pairs = RunFolder(first).load_held_out(arguments.split, languages["target_language"] if several else None)
            files = files_of(pairs)
    with cluster(arguments, pairs) as (arguments, place):
        if arguments.robustness:
            report = score_robustness(arguments, pairs, tokenize, languages["source_language"], place)
        elif arguments.force:
            report = force_references(arguments, pairs)
        else:
            report = score(arguments, pairs, tokenize, files, place)
    if state.is_main_process:
        if arguments.robustness:
            show_robustness(report, arguments)
        else:
            show_forced(report) if arguments.force else show(report, arguments.comet)
        if arguments.output:
            text = json.dumps(report, indent=2, ensure_ascii=False)
            Path(arguments.output).write_text(f"{text}\n", encoding="utf-8")
    state.destroy_process_group()


@contextlib.contextmanager
def cluster(arguments: ScoreOptions, pairs: "Dataset") -> Iterator[tuple[ScoreOptions, "Place | None"]]:
    """The cluster of `--ray`, where processes translate, None without it; and the options, with the engine of all."""
    if arguments.ray is None:
        yield arguments, None
        return
    from ..base.jobs.cluster import on_ray
    from ..translate.build import settle_engine

    groups = [arguments.models, [arguments.baseline]] if arguments.baseline else [arguments.models]
    if (arguments.engine or "auto") == "auto":  # exported, and compared once, before many processes do
        engines = {settle_engine(names, "auto", arguments.wanted, pairs["source"][:100]) for names in groups}
        arguments = replace(arguments, engine="auto" if engines == {"auto"} else "torch")
    local = [Path(name) for names in groups for name in names if Path(name).exists()]
    with on_ray(arguments.ray, None, local) as place:
        yield arguments, place


def refuse_for_held_out(arguments: ScoreOptions, languages: dict[str, str | None]) -> None:
    """Raise `GlossaError` for options of --data_path that contradict or do not apply to the run's held-out pairs."""
    from ..base.languages import settled_code

    for name in COLUMNS:
        if getattr(arguments, name):
            raise GlossaError(f"--{name} is for pairs of --data_path. Give these too, or leave it out.")
    for name, own in languages.items():
        given = getattr(arguments, name)
        if given and settled_code(given) != own:
            raise GlossaError(
                f"--{name} {given} is for pairs of --data_path; that of the held-out pairs of {arguments.models[0]} "
                f"is {own}."
            )


def load_files(paths: list[str], settings: dict) -> tuple["Dataset", list[str]]:
    """The pairs of all files, each as often as it occurs, and the name of the file of each pair."""
    from datasets import concatenate_datasets

    from ..base.paths import distinct_names, file_groups, is_remote
    from ..train.data.arguments import DataArguments
    from ..train.data.pairs import load_pairs

    # Downloads have no file yet.
    groups = [paths] if any(map(is_remote, paths)) else [list(map(str, group)) for group in file_groups(paths)]
    common: dict = {"dataset": "files", **settings}
    parts = [load_pairs(DataArguments(data_path=group, **common), repeated=True) for group in groups]
    names = distinct_names(groups)
    files = [name for name, part in zip(names, parts, strict=True) for _ in range(len(part))]
    return concatenate_datasets(parts), files


def recall_of(arguments: ScoreOptions) -> "Recall | None":
    """The translation memory of `--memory`, if there is one."""
    if arguments.memory is None:
        return None
    from ..translate.texts.recall import Recall

    own = Languages.of(arguments.models[0])
    languages = arguments.source_language or own.source, arguments.target_language or own.target
    return Recall.opened(arguments.memory, *languages)


def score(
    arguments: ScoreOptions,
    pairs: "Dataset",
    tokenize: str,
    files: list[str] | None = None,
    place: "Place | None" = None,
) -> dict:
    """The results of the models, and of the baseline with its comparison."""
    from ..base.metrics import paired_bootstrap
    from ..train.evaluation.further_metrics import choose_scores
    from ..train.evaluation.scoring import score_translators
    from ..translate.build import ways_to_search

    options = (arguments.wanted, arguments.num_beams, arguments.length_penalty)
    common_options: dict = {"batch_tokens": arguments.batch_tokens, "engine": arguments.engine or "auto"}
    common_options["place"] = place
    translators = ways_to_search(arguments.models, *options, arguments.rerank, **common_options)
    recall = recall_of(arguments)
    results = score_translators(
        [translator.with_recall(recall) for translator in translators], pairs, tokenize, arguments.n_bootstrap, files
    )
    report: dict = {"model": " ".join(arguments.models), "rerank": arguments.rerank}
    report["results"] = results = choose_scores(results, arguments.metrics, tokenize, arguments.n_bootstrap)
    if arguments.baseline:
        baseline = ways_to_search([arguments.baseline], *options, **common_options)
        others = score_translators(baseline, pairs, tokenize, arguments.n_bootstrap, files)
        tests = {
            name: paired_bootstrap(*common(others[name], result), tokenize=tokenize)
            for name, result in results.items()
            if name in others
        }
        report |= {"baseline": {"model": arguments.baseline, "results": others}, "paired_bootstrap": tests}
    return report


def score_robustness(
    arguments: ScoreOptions, pairs: "Dataset", tokenize: str, language: str | None, place: "Place | None" = None
) -> dict:
    """Measure robustness with one number of beams; returns the rows of [`measure_robustness`]."""
    from ..train.evaluation.robustness import measure_robustness
    from ..train.evaluation.scoring import decoding_name
    from ..translate.build import ways_to_search

    beams = (arguments.num_beams or [1])[:1]
    (translator,) = ways_to_search(
        arguments.models, arguments.wanted, beams,
        batch_tokens=arguments.batch_tokens, engine=arguments.engine or "auto", place=place,
    )  # fmt: skip
    rows = measure_robustness(translator, pairs, tokenize, language or "en")
    return {
        "model": " ".join(arguments.models),
        "decoding": decoding_name(beams[0]),
        "target_language": arguments.target_language,
        "bleu_tokenizer": tokenize,
        "rows": rows,
    }


def show_robustness(report: dict, arguments: ScoreOptions) -> None:
    """Print the table, and keep it in the run if it is of its own test pairs."""
    from ..base.run_folder import RunFolder
    from ..train.evaluation.robustness import robustness_cells
    from ..train.evaluation.scoring import aligned

    header, cells = robustness_cells(report["rows"])
    print("\n".join(aligned([header, *cells])))
    run = RunFolder(arguments.models[0])
    own = len(arguments.models) == 1 and arguments.split == "test" and not arguments.data_path
    if own and run.metrics:
        # Of a model of several target languages, the last one that was measured.
        kept = {name: value for name, value in report.items() if name != "model"}
        run.write_metrics(run.metrics | {"robustness": kept})
        print(f"Kept in {run.path}; its model card shows it.")


def common(baseline: dict, result: dict) -> tuple[list[str], list[str], list[list[str]]]:
    """The translations of both, and the references, of the sources that neither left out as too long."""
    theirs = dict(zip(baseline["sources"], baseline["translations"], strict=True))
    rows = [row for row, source in enumerate(result["sources"]) if source in theirs]
    if not rows:
        raise GlossaError("No source is short enough for both models; there is nothing to compare.")
    if len(rows) < max(len(theirs), len(result["sources"])):
        logger.warning("The models are compared on the %d sources that both can translate.", len(rows))
    sources, own, references = (
        [result[name][row] for row in rows] for name in ("sources", "translations", "references")
    )
    return [theirs[source] for source in sources], own, references


def show(report: dict, comet: bool) -> None:
    """Print the scores, and add COMET scores."""
    from ..train.evaluation.scoring import comparison_table, score_table

    print(score_table(report["results"]))
    if comet:
        add_comet(report["results"])
    if "baseline" in report:
        print(f"\n{comparison_table(report['paired_bootstrap'])}")


def add_comet(results: dict) -> None:
    """Print the COMET score of each way of decoding and add it to its entry."""
    from ..train.evaluation.comet import COMMAND, HOW_TO_INSTALL, MODEL, comet_score, find_command

    command = find_command()
    if command is None:
        print(f"\nCOMET is left out: {COMMAND} is not installed. {HOW_TO_INSTALL}")
        return
    print(f"\nCOMET, {MODEL}, first reference:")
    for name, result in results.items():
        references = [targets[0] for targets in result["references"]]
        result["comet"] = {
            "model": MODEL,
            "score": comet_score(command, result["sources"], result["translations"], references),
        }
        print(f"{name}: {result['comet']['score']:.4f}")


def force_references(arguments: ScoreOptions, pairs: "Dataset") -> dict:
    """The log-probability of the target of each of `pairs`, and the perplexity of all."""
    from ..translate.engines.ensemble import load_models
    from ..translate.engines.forced import force, perplexity

    model, tokenizer = load_models(arguments.models, Languages.of(arguments.models[0]).asked(arguments.wanted))
    texts = pairs["source"][:], pairs["target"][:]
    scores = force(model, tokenizer, *texts, arguments.batch_tokens, shared=True)
    rows = [
        {"source": source, "target": target, "log_probability": found.log_probability, "tokens": found.tokens}
        for source, target, found in zip(*texts, scores, strict=True)
        if found.tokens
    ]
    scores = [found for found in scores if found.tokens]
    if not rows:
        raise GlossaError("Every pair has more tokens than the model takes; there is nothing to score.")
    if len(rows) < len(pairs):
        logger.warning("%d of %d pairs are too long and left out.", len(pairs) - len(rows), len(pairs))
    return {
        "model": " ".join(arguments.models),
        "log_probability": sum(found.log_probability for found in scores),
        "tokens": sum(found.tokens for found in scores),
        "perplexity": perplexity(scores),
        "pairs": rows,
    }


def show_forced(report: dict) -> None:
    total, tokens = report["log_probability"], report["tokens"]
    print(f"{len(report['pairs']):,} pairs, {tokens:,} target tokens with the ends of sentences")
    print(f"log-probability {total:.2f}, {total / tokens:.4f} a token; perplexity {report['perplexity']:.3f}")
