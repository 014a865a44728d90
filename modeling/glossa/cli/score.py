"""Score a model on held-out pairs: `glossa score MODEL`.

Prints BLEU, chrF++ and TER of greedy and beam search, with 95% bootstrap intervals and sacreBLEU's signatures, against
the first reference of each source, and against all references if a source has several. `--baseline OTHER` also tests
the significance of the difference to another model, by paired bootstrap of BLEU, chrF++ and TER.

`--translations theirs.txt other.txt --names "DeepL" "Google"` scores the translations of other systems too, a line for
each pair, and tests the model against each of them. `--system URL` asks a server for one of these files. Without a
model, `--source s.txt --reference r.txt --translations a.txt b.txt` scores files alone, and tests all against the
first. A key of the server is read from the environment variable GLOSSA_SERVER_KEY.

With --rerank OTHER, a search with N beams gives N translations. The translation with the highest sum of both models'
log-probabilities is scored. OTHER may translate in the opposite direction. The translations of --baseline are not
reranked.

`--robustness` measures BLEU on changed sources, such as upper case or typing errors, with greedy search unless
--num_beams is given. The table for a run's own test pairs is saved in the run, and its model card shows it.

Several models translate as an ensemble: each token is chosen by the mean of their log-probabilities. `--force` prints
the perplexity of the references instead of translating.

The processes of `accelerate launch` or `torchrun` share the work. With `--ray ADDRESS`, a Ray cluster translates. The
scores do not depend on the number of processes.
"""

import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import GlossaError
from ..translate.languages import Languages
from .options import read
from .score_options import COLUMNS, ScoreOptions, check, settle_languages

if TYPE_CHECKING:
    from datasets import Dataset

    from ..base.jobs.stage import Runner
    from ..translate.translator import Translator

logger = logging.getLogger(__name__)


def parse(argv: list[str]) -> ScoreOptions:
    return read(ScoreOptions, "score", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check(arguments)
    from ..base.jobs.sharing import processes
    from ..train.evaluation.further_metrics import check_packages

    check_packages(arguments.metrics)
    if not arguments.models:
        write(score_files(arguments), arguments)
        return
    arguments = settle_languages(arguments)
    state = processes()
    if arguments.ray is not None and state.num_processes > 1:
        raise GlossaError("--ray shares the work itself. Start glossa score without a launcher, or leave --ray out.")
    with state.main_process_first():
        data = load_data(arguments)
    with cluster(arguments, data.pairs) as (arguments, place):
        report = measure(arguments, data, place)
    if state.is_main_process:
        write(report, arguments)
    state.destroy_process_group()


def write(report: dict, arguments: ScoreOptions) -> None:
    """Print a report, and write it to --output."""
    show(report, arguments)
    if arguments.output:
        text = json.dumps(report, indent=2, ensure_ascii=False)
        Path(arguments.output).write_text(f"{text}\n", encoding="utf-8")


@dataclass(frozen=True)
class ScoreData:
    """The pairs to score.

    Attributes:
        pairs: Sources and references, with several references for a source as several pairs.
        files: The file of each pair; None if they are not from several files.
        tokenize: SacreBLEU's tokenizer for the target language.
        place: Where the pairs are, for errors.
    """

    pairs: "Dataset"
    files: list[str] | None
    tokenize: str
    place: str


def load_data(arguments: ScoreOptions) -> ScoreData:
    """Load the pairs of --data_path, or the held-out pairs of the run."""
    from ..base.metrics import bleu_tokenizer
    from ..base.run_folder import RunFolder
    from ..train.evaluation.scoring import files_of

    run = RunFolder(arguments.models[0])
    choice = arguments.bleu_tokenizer or run.recipe.get("bleu_tokenizer", "auto")
    tokenize = bleu_tokenizer(arguments.target_language or "", choice)
    if not arguments.data_path:
        pairs = run.load_held_out(arguments.split, arguments.target_language)
        return ScoreData(pairs, files_of(pairs), tokenize, str(run.held_out_file(arguments.split)))
    settings = {name: getattr(arguments, name) or run.recipe.get(name) for name in COLUMNS}
    settings |= {name: getattr(arguments, name) for name in ("source_language", "target_language")}
    pairs, files = load_files(arguments.data_path, settings)
    return ScoreData(pairs, files, tokenize, ", ".join(arguments.data_path))


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


@contextlib.contextmanager
def cluster(arguments: ScoreOptions, pairs: "Dataset") -> Iterator[tuple[ScoreOptions, "Runner | None"]]:
    """Start the cluster of --ray, or None. The options are returned with the engine for all processes."""
    if arguments.ray is None:
        yield arguments, None
        return
    from ..base.jobs.cluster import on_ray
    from ..translate.build import settle_engine

    groups = [arguments.models, [arguments.baseline]] if arguments.baseline else [arguments.models]
    if arguments.engine == "auto":  # export and compare the models once, not in each process
        engines = {settle_engine(names, "auto", arguments.wanted, pairs["source"]) for names in groups}
        arguments = replace(arguments, engine="auto" if engines == {"auto"} else "torch")
    local = [Path(name) for names in groups for name in names if Path(name).exists()]
    with on_ray(arguments.ray, None, local) as place:
        yield arguments, place


def measure(arguments: ScoreOptions, data: ScoreData, place: "Runner | None") -> dict:
    """The report that the options ask for: scores, robustness, or the perplexity of the references."""
    report: dict = {"model": " ".join(arguments.models)}
    if arguments.force:
        return report | force_references(arguments, data.pairs)
    if arguments.robustness:
        return report | score_robustness(arguments, data, place)
    return report | score(arguments, data, place)


def show(report: dict, arguments: ScoreOptions) -> None:
    """Print a report."""
    if arguments.force:
        show_forced(report)
    elif arguments.robustness:
        show_robustness(report, arguments)
    else:
        show_scores(report, arguments.comet)


def score(arguments: ScoreOptions, data: ScoreData, place: "Runner | None") -> dict:
    """Score the models, and compare them with the baseline."""
    from ..base.metrics import paired_bootstrap
    from ..train.evaluation.further_metrics import choose_scores
    from ..train.evaluation.scoring import NORMALIZED

    recall = arguments.open_memory(arguments.source_language, arguments.target_language)
    translators = [one.with_recall(recall) for one in load_translators(arguments, arguments.models, place)]
    results = score_all(translators, arguments, data)
    results = choose_scores(results, arguments.metrics, data.tokenize, arguments.n_bootstrap)
    report: dict = {"rerank": arguments.rerank, "results": results}
    if arguments.translations:
        others = score_systems(arguments, data)
        report["results"] = results | choose_scores(others, arguments.metrics, data.tokenize, arguments.n_bootstrap)
        report["paired_bootstrap"] = {
            f"{own}, against {name}": paired_bootstrap(*common(other, result), tokenize=data.tokenize)
            for own, result in results.items()
            for name, other in others.items()
            if "file" not in result and not own.endswith(NORMALIZED)
        }
    if arguments.baseline is None:
        return report
    others = score_all(load_translators(replace(arguments, rerank=None), [arguments.baseline], place), arguments, data)
    tests = {
        name: paired_bootstrap(*common(others[name], result), tokenize=data.tokenize)
        for name, result in results.items()
        if name in others
    }
    tests |= report.get("paired_bootstrap", {})
    return report | {"baseline": {"model": arguments.baseline, "results": others}, "paired_bootstrap": tests}


def score_systems(arguments: ScoreOptions, data: ScoreData) -> dict[str, dict]:
    """The results of --translations by the names of the systems, of which --system translates the missing one."""
    from ..train.evaluation.systems import ask_server, names_of, score_system
    from ..translate.corpora.servers import ServerTranslator

    files = arguments.translations or []
    names = names_of(files, arguments.names)
    if arguments.system:
        (missing,) = (file for file in files if not Path(file).is_file())
        languages = (arguments.source_language or "auto", arguments.target_language or "")
        if not arguments.target_language:
            raise GlossaError("--system needs --target_language, and should have --source_language.")
        server = ServerTranslator(arguments.system, languages, arguments.system_model)
        ask_server(server, data.pairs["source"][:], missing)
    return {
        name: score_system(file, data.pairs, data.place, data.tokenize, arguments.n_bootstrap, data.files)
        for name, file in zip(names, files, strict=True)
    }


def score_files(arguments: ScoreOptions) -> dict:
    """The scores of --translations for the lines of --source and --reference, and tests against the first of them."""
    from datasets import Dataset

    from ..base.metrics import bleu_tokenizer
    from ..train.evaluation.further_metrics import choose_scores
    from ..train.evaluation.systems import check_rows, compare_systems, read_lines

    source, reference = str(arguments.source), str(arguments.reference)
    texts, targets = read_lines(source), read_lines(reference)
    check_rows(source, len(texts), reference, len(targets))
    tokenize = bleu_tokenizer(arguments.target_language or "", arguments.bleu_tokenizer or "auto")
    pairs = Dataset.from_dict({"source": texts, "target": targets})
    results = score_systems(arguments, ScoreData(pairs, [reference] * len(texts), tokenize, source))
    tests = compare_systems(results, tokenize)
    results = choose_scores(results, arguments.metrics, tokenize, arguments.n_bootstrap)
    return {"results": results, "paired_bootstrap": tests}


def load_translators(arguments: ScoreOptions, models: list[str], place: "Runner | None") -> list["Translator"]:
    """A translator for each way to search."""
    from ..translate.build import ways_to_search

    return ways_to_search(
        models, arguments.wanted, arguments.num_beams, arguments.length_penalty, arguments.rerank,
        arguments.batch_tokens, arguments.engine, place,
    )  # fmt: skip


def score_all(translators: list["Translator"], arguments: ScoreOptions, data: ScoreData) -> dict[str, dict]:
    from ..train.evaluation.scoring import score_translators

    return score_translators(translators, data.pairs, data.tokenize, arguments.n_bootstrap, data.files)


def score_robustness(arguments: ScoreOptions, data: ScoreData, place: "Runner | None") -> dict:
    """The rows of [`measure_robustness`], with the first number of beams, and how they were measured."""
    from ..train.evaluation.robustness import measure_robustness
    from ..train.evaluation.scoring import decoding_name

    beams = (arguments.num_beams or [1])[:1]
    (translator,) = load_translators(replace(arguments, num_beams=beams), arguments.models, place)
    rows = measure_robustness(translator, data.pairs, data.tokenize, arguments.source_language or "en")
    return {
        "decoding": decoding_name(beams[0]),
        "target_language": arguments.target_language,
        "bleu_tokenizer": data.tokenize,
        "rows": rows,
    }


def show_robustness(report: dict, arguments: ScoreOptions) -> None:
    """Print the table. If it was measured on the test pairs of a run, save it in the run."""
    from ..base.run_folder import RunFolder
    from ..train.evaluation.robustness import robustness_cells
    from ..train.evaluation.scoring import align_columns

    header, cells = robustness_cells(report["rows"])
    print("\n".join(align_columns([header, *cells])))
    run = RunFolder(arguments.models[0])
    own = len(arguments.models) == 1 and arguments.split == "test" and not arguments.data_path
    if own and run.metrics:
        # For a model with several target languages, the newest table replaces the others.
        saved = {name: value for name, value in report.items() if name != "model"}
        run.write_metrics(run.metrics | {"robustness": saved})
        print(f"Saved in {run.path}. The model card shows it.")


def common(baseline: dict, result: dict) -> tuple[list[str], list[str], list[list[str]]]:
    """The translations of both models, and the references, for sources that are short enough for both."""
    theirs = dict(zip(baseline["sources"], baseline["translations"], strict=True))
    rows = [row for row, source in enumerate(result["sources"]) if source in theirs]
    if not rows:
        raise GlossaError("No source is short enough for both models, so there is nothing to compare.")
    if len(rows) < max(len(theirs), len(result["sources"])):
        logger.warning("The models are compared on the %d sources that are short enough for both.", len(rows))
    sources, own, references = (
        [result[name][row] for row in rows] for name in ("sources", "translations", "references")
    )
    return [theirs[source] for source in sources], own, references


def show_scores(report: dict, comet: bool) -> None:
    """Print the scores; `comet` adds COMET."""
    from ..train.evaluation.scoring import comparison_table, score_table

    print(score_table(report["results"]))
    if comet:
        add_comet(report["results"])
    if report.get("paired_bootstrap"):
        print(f"\n{comparison_table(report['paired_bootstrap'])}")


def add_comet(results: dict) -> None:
    """Print the COMET score of each search and add it to its results."""
    from ..train.evaluation.comet import COMMAND, HOW_TO_INSTALL, MODEL, comet_score, find_command

    command = find_command()
    if command is None:
        print(f"\nCOMET is left out, since {COMMAND} is not installed. {HOW_TO_INSTALL}")
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
    """The log-probability of each target, and the perplexity of all targets."""
    from ..translate.build import load_engine, torch_model
    from ..translate.engines.forced import force, perplexity

    language = Languages.of(arguments.models[0]).asked(arguments.wanted)
    engine, _ = load_engine(arguments.models, "torch", language)
    model, tokenizer = torch_model(arguments.models, engine, language)
    texts = pairs["source"][:], pairs["target"][:]
    scores = force(model, tokenizer, *texts, arguments.batch_tokens, shared=True)
    rows = [
        {"source": source, "target": target, "log_probability": found.log_probability, "tokens": found.tokens}
        for source, target, found in zip(*texts, scores, strict=True)
        if found.tokens
    ]
    scores = [found for found in scores if found.tokens]
    if not rows:
        raise GlossaError("Every pair is too long for the model, so there is nothing to score. Give shorter pairs.")
    if len(rows) < len(pairs):
        logger.warning("%d of %d pairs are too long and left out.", len(pairs) - len(rows), len(pairs))
    return {
        "log_probability": sum(found.log_probability for found in scores),
        "tokens": sum(found.tokens for found in scores),
        "perplexity": perplexity(scores),
        "pairs": rows,
    }


def show_forced(report: dict) -> None:
    total, tokens = report["log_probability"], report["tokens"]
    print(f"{len(report['pairs']):,} pairs, {tokens:,} target tokens with the ends of sentences")
    print(f"log-probability {total:.2f}, {total / tokens:.4f} a token; perplexity {report['perplexity']:.3f}")
