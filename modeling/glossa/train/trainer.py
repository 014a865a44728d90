"""`Seq2SeqTrainer` with batches by token budget, exact evaluation and a log that counts tokens."""

import logging
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import torch
from datasets import Dataset
from huggingface_hub import CommitInfo, HfApi
from torch.utils.data import DataLoader
from transformers import EvalPrediction, PreTrainedModel, PrinterCallback, ProgressCallback, Seq2SeqTrainer
from transformers.trainer_pt_utils import LabelSmoother
from transformers.trainer_utils import EvalLoopOutput

from ..base.batching import TokenBatchSampler
from ..base.errors import GlossaError
from .adapters import Adapters
from .averaging import average_into
from .cpu import StepWatch
from .data.encoding.augmented import AugmentedRows
from .data.encoding.encoding import LENGTHS
from .data.streaming.windows import start_worker
from .divergence import StepGuard
from .dropout import use_fast_dropout
from .energy import EnergyMeter
from .hub.push import Destination, hub_errors, push, stage
from .interrupts import SaveOnSignal
from .monitoring import FirstStep, Speedometer, draw_fit_batches, mean_loss, measure_fit
from .muon import combine_with_muon
from .pieces import TOKENS, decoder_start, join_batches, loss_sums, split_batch
from .plan.devices import is_sharded, loss_options
from .progress import ProgressBar, ProgressLines
from .restore import EpochOrder, WriteChecksums, embeddings_in_root

logger = logging.getLogger(__name__)

SPARE = 0.02  # share of extra batches, for epochs with longer augmented rows than the first


class GlossaTrainer(Seq2SeqTrainer):
    """Trains a translator on rows of `input_ids`, `labels`, `source_length` and `target_length`.

    Rows for pretraining have no `labels`; the collator creates them.

    It differs from its parent in four ways:

    - Batches hold up to `batch_tokens` tokens.
    - The evaluation loss is the mean over all target tokens, in nats, not the mean of batch means. `token_accuracy`
      is the fraction of target tokens that are predicted correctly from the true previous tokens.
    - The log has target tokens per second, without padding, the device utilization, and for a sample of the training
      pairs the loss without smoothing and dropout (`plain_loss`) and the share of correct tokens (`token_accuracy`).
    - Pushes to the Hub have the same files as `glossa push`: with model code and Glossa's card, without pickles.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        args: Any,
        augmented: AugmentedRows | None = None,
        watched: tuple[Dataset, Callable[[EvalPrediction], dict[str, float]]] | None = None,
        replayed: tuple[int, int] = (0, 0),
        **kwargs,
    ):
        self.augmented, self.watched, self.replayed = augmented, watched, replayed
        self.adapters = Adapters(model, args.lora_rank) if args.lora_rank else None
        if model.config.model_type == "glossa" and args.device.type == "cpu":
            use_fast_dropout(model)
        super().__init__(model, args, **kwargs)
        if self.accelerator.ddp_handler is not None:  # processes need not copy their gradients to send them
            self.accelerator.ddp_handler.gradient_as_bucket_view = True
        if is_sharded(args) and not self.is_fsdp_enabled:
            raise GlossaError(
                f"FSDP is set for {args.world_size} {args.device.type} processes; Accelerate uses it on several GPUs "
                "only. Train without it."
            )
        # A Glossa model smooths labels itself. The Trainer's smoother would remove the labels and need full logits.
        self.label_smoother = None
        self._loss_options = loss_options(model, args.label_smoothing_factor)
        if model.config.model_type != "glossa":  # other models neither smooth nor count the tokens of a step
            self.compute_loss_func = LabelSmoother(args.label_smoothing_factor)
            if self.accelerator.ddp_handler is not None:  # Marian's and Pegasus's positions have no gradients
                self.accelerator.ddp_handler.find_unused_parameters = True
        if self.args.disable_tqdm:
            self.remove_callback(PrinterCallback)
            self.add_callback(ProgressLines())
        elif self.pop_callback(ProgressCallback) is not None:  # notebooks use another callback
            self.add_callback(ProgressBar())
        if self.args.device.type == "cpu":
            self.add_callback(StepWatch())
        self.batch_sampler, self._fit_batches = None, []
        if self.train_dataset is not None:
            self.batch_sampler = self._build_batch_sampler()
            self._fit_batches = draw_fit_batches(self.train_dataset, self.data_collator, args.order_seed)
        self.first_step, self.signals, self.energy = FirstStep(), SaveOnSignal(self), EnergyMeter()
        for callback in (self.first_step, EpochOrder(self), WriteChecksums(), self.signals, self.energy):
            self.add_callback(callback)
        self._evaluation_sums: torch.Tensor | None = None
        self.speedometer = Speedometer(self.args.device)
        self._step_batches: list[dict[str, torch.Tensor]] = []
        self.guard = StepGuard(args, cast(Any, self.processing_class), self.accelerator.scaler)
        self._pushed = False

    def _build_batch_sampler(self) -> TokenBatchSampler:
        processes, rows = self.args.world_size, self.train_dataset.num_rows
        batches = processes * self.args.gradient_accumulation_steps
        if processes > 1 and rows < batches:
            raise GlossaError(
                f"A step has {batches} batches ({processes} processes), but there are {rows} training pairs. Train "
                "with fewer processes."
            )
        source_lengths, target_lengths = self._lengths()
        sampler = TokenBatchSampler(
            source_lengths,
            target_lengths,
            self.args.batch_tokens,  # type: ignore[attr-defined]
            seed=self.args.order_seed,  # type: ignore[attr-defined]
            batches_a_step=batches,
            processes=processes,
            pool=self.replayed[0],
            drawn=self.replayed[1],
        )
        if self.augmented is not None or self.replayed[0]:
            sampler.add_batches(SPARE)
        if processes > 1:
            shares = sampler.imbalance()
            logger.info(
                "%d processes: the busiest has %.1f%% more target tokens than the mean of an epoch, %.1f%% of a step.",
                processes, 100 * shares["epoch"], 100 * shares["step"],
            )  # fmt: skip
        return sampler

    def _lengths(self) -> list[Any]:
        """The lengths of all rows, source and target."""
        if self.augmented is not None:
            return [self.augmented.source_lengths, self.augmented.target_lengths]
        # Without [:] a column is read row by row, which takes minutes if there are millions.
        return [self.train_dataset[name][:] for name in LENGTHS]

    @property
    def rows(self) -> Any:
        """The training rows by number, with `input_ids` and `labels`."""
        return self.train_dataset.remove_columns(LENGTHS) if self.augmented is None else self.augmented

    def drop_augmentation(self) -> None:
        """Train on the rows as they are."""
        self.augmented = None
        self.batch_sampler = self._build_batch_sampler()

    def set_epoch(self, epoch: int) -> None:
        """Prepare the rows and batches of an epoch."""
        if self.augmented is not None:
            self.augmented.set_epoch(epoch)
            self.batch_sampler.set_lengths(*self._lengths())
        self.batch_sampler.set_epoch(epoch)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """The Trainer's optimizer, combined with Muon if `muon_learning_rate` is set."""
        rate = self.args.muon_learning_rate  # type: ignore[attr-defined]
        if self.optimizer is None and rate is not None:
            whole: Any = self.model if model is None else model
            self.optimizer = combine_with_muon(super().create_optimizer(model), whole, rate, self.args.weight_decay)
        return super().create_optimizer(model)

    def get_train_dataloader(self) -> DataLoader:
        """Batches within the token budget; Accelerate distributes them over the processes."""
        loader = DataLoader(
            self.rows,
            batch_sampler=self.batch_sampler,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            worker_init_fn=start_worker,
            pin_memory=self.args.dataloader_pin_memory,
            persistent_workers=self.args.dataloader_persistent_workers,
            prefetch_factor=self.args.dataloader_prefetch_factor,
        )
        return self.accelerator.prepare(loader)

    def padding(self) -> float:
        """Fraction of padding among all tokens of an epoch."""
        return self.batch_sampler.padding()

    def example_batch(self) -> dict[str, torch.Tensor]:
        """A batch of the first epoch."""
        rows = self.rows
        return self.data_collator([rows[row] for row in next(iter(self.batch_sampler))])

    def remove_autocast(self) -> None:
        """Restore the `forward` wrapped by mixed precision, so that scores are those of the saved model.

        Accelerate's function for this would also remove the decorators of `forward`.
        """
        model = self.accelerator.unwrap_model(self.model)
        original = vars(model).pop("_original_forward", None)
        if original is not None:
            del model.forward
            if original.__func__ is not type(model).forward:  # in pretraining, `forward` is set on the instance
                model.forward = original

    def train(self, *args, **kwargs):
        try:
            output = super().train(*args, **kwargs)
        finally:
            for callback in self.callback_handler.callbacks:  # the Trainer does not call callbacks after an error
                if isinstance(callback, SaveOnSignal | ProgressBar):
                    callback.restore()
        if self.args.load_best_model_at_end and self.state.best_model_checkpoint is not None:
            return output  # the weights of the checkpoint are already merged
        if self.adapters is not None:
            self._merge_adapters()
        return output

    def load_weights(self, checkpoint: Path) -> None:
        """Load the weights of `checkpoint`, with adapters merged in, as `train` leaves them."""
        if self.adapters is None:
            average_into(self.model, [checkpoint])
        else:
            self.adapters.load(checkpoint)
            self._merge_adapters()

    def _merge_adapters(self) -> None:
        if self.args.should_save:
            self.adapters.export(Path(self.args.output_dir))
        self.adapters.merge()

    def _load_best_model(self) -> None:
        if self.adapters is None:
            super()._load_best_model()
        else:
            self.load_weights(Path(self.state.best_model_checkpoint))

    def _prepare_for_training(self, *args, **kwargs):
        with embeddings_in_root(self.model) if self.is_fsdp_enabled else nullcontext():
            return super()._prepare_for_training(*args, **kwargs)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        if self.adapters is not None:
            self.adapters.load(Path(resume_from_checkpoint))
        else:
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Do not report tied weights as missing, which are stored once under another name."""
        missing, model = load_result.missing_keys, self.accelerator.unwrap_model(self.model)
        missing[:] = [name for name in missing if name not in model.all_tied_weights_keys]
        super()._issue_warnings_after_load(load_result)

    def compute_loss(self, model, inputs, *args, **kwargs):
        return super().compute_loss(model, {**inputs, **self._loss_options}, *args, **kwargs)

    def get_batch_samples(self, *args, **kwargs):
        batches, items = super().get_batch_samples(*args, **kwargs)
        self._step_batches = batches
        self.speedometer.add(0 if items is None else items)
        return batches, items

    def training_step(self, *args, **kwargs):
        loss = super().training_step(*args, **kwargs)
        self.guard.losses.append(loss)
        return loss

    def _get_grad_norm(self, model, grad_norm=None):
        """Pass the gradient norm to [`StepGuard`]."""
        norm = super()._get_grad_norm(model, grad_norm)
        self.guard.check(model, norm, self.state.global_step + 1, self._step_batches)
        return norm

    def _save(self, output_dir: str | None = None, state_dict: dict | None = None) -> None:
        """Save without the pickled settings, which contain the Hub token."""
        folder = output_dir or self.args.output_dir
        model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
        if self.adapters is not None:
            state_dict = self.adapters.merged_weights()
        elif state_dict is not None:  # gathered by FSDP, which repeats tied weights
            state_dict = {
                name: weight for name, weight in state_dict.items() if name not in model.all_tied_weights_keys
            }
        model.save_pretrained(folder, state_dict=state_dict, is_main_process=self.args.should_save)
        if self.adapters is not None and self.args.should_save:
            self.adapters.save_adapters(Path(folder))
        if self.args.should_save and self.processing_class is not None:
            self.processing_class.save_pretrained(folder)

    def _save_rng_state(self, output_dir: str) -> None:
        """Wait for all processes, since the run state, written next, marks a checkpoint as complete."""
        super()._save_rng_state(output_dir)
        self.accelerator.wait_for_everyone()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs:
            logs |= self.speedometer.read()
            with self.speedometer.paused(), self.compute_loss_context_manager():
                batches = [self._prepare_inputs(batch) for batch in self._fit_batches]
                logs |= {name: round(value, 4) for name, value in measure_fit(self.model, batches).items()}
        logs.pop("train_samples_per_second", None)  # assumes batches of a fixed size
        if "train_loss" in logs:
            # transformers 5.17 divides the loss sum of a resumed run by all of its steps.
            first, last = self.first_step.step, self.state.global_step
            since = self._total_loss_scalar / max(last - first, 1)
            logs["train_loss"] = mean_loss(self.state.log_history, first, last, since)
        super().log(logs, start_time)

    def evaluation_loop(self, *args, **kwargs) -> EvalLoopOutput:
        with self.speedometer.paused():
            output = self._exact_evaluation(*args, **kwargs)
            if self.watched is not None:
                output.metrics.update(self._watch(kwargs.get("metric_key_prefix", "eval")))
            return output

    def _watch(self, prefix: str) -> dict[str, float]:
        """The scores of the watched pairs, with names such as `eval_watch_bleu`."""
        rows, compute = self.watched
        own, self.compute_metrics = self.compute_metrics, compute
        try:
            loader = self.get_eval_dataloader(rows)
            found = self._exact_evaluation(loader, "Watched pairs", metric_key_prefix=f"{prefix}_watch").metrics
        finally:
            self.compute_metrics = own
        return {f"{prefix}_watch_{name}": found[f"{prefix}_watch_{name}"] for name in ("loss", "bleu", "chrf")}

    def _exact_evaluation(self, *args, **kwargs) -> EvalLoopOutput:
        # Seq2SeqTrainer would also gather rows that Accelerate repeats to give all processes equal batches.
        self.gather_function = self.accelerator.gather_for_metrics
        self._evaluation_sums = torch.zeros(3, dtype=torch.float64)
        output = super().evaluation_loop(*args, **kwargs)
        loss, right, tokens = self.accelerator.reduce(self._evaluation_sums.to(self.args.device)).tolist()
        prefix = kwargs.get("metric_key_prefix", "eval")
        if tokens:
            output.metrics[f"{prefix}_loss"] = loss / tokens
            output.metrics[f"{prefix}_token_accuracy"] = right / tokens
        return output

    @torch.no_grad()
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None, **gen_kwargs):
        """Loss, translations [B, T] (None without `predict_with_generate`) and labels [B, T] of one batch."""
        inputs = self._prepare_inputs(inputs)
        inputs["labels"] = labels = self._without_repeated(inputs["labels"])
        padding = self.processing_class.pad_token_id
        # With FSDP all processes must call the model equally often, since each has a part of the weights.
        whole = self.is_fsdp_enabled
        with self.compute_loss_context_manager():
            sums = loss_sums(model, [inputs] if whole else split_batch(inputs, padding, TOKENS))
        self._evaluation_sums += sums
        loss = (sums[0] / sums[2].clamp(min=1)).float().to(self.args.device)
        if prediction_loss_only or not self.args.predict_with_generate:
            return loss, None, None
        source = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        given = gen_kwargs or {name: value for name, value in self._gen_kwargs.items() if value is not None}
        settings = given | {"synced_gpus": self.is_fsdp_enabled, "stopping_criteria": [self.signals.cut_search]}
        if getattr(self.processing_class, "codes", None):  # rows may differ in language
            source["decoder_input_ids"] = inputs["decoder_input_ids"][:, : self.processing_class.prompt_length]
        budget = self.args.batch_tokens  # type: ignore[attr-defined]
        parts = [source] if whole else split_batch(source, padding, budget)
        with self.compute_loss_context_manager():
            generated = [self.model.generate(**part, **decoder_start(part), **settings) for part in parts]
        return loss, join_batches(generated, padding), labels

    def init_hf_repo(self, *args, **kwargs) -> None:
        with hub_errors(self.args.hub_model_id or Path(self.args.output_dir).name, HfApi().endpoint):
            super().init_hf_repo(*args, **kwargs)

    def push_to_hub(self, commit_message: str | None = "End of training", **kwargs) -> CommitInfo | None:
        """Push the finished and saved run in one commit."""
        if self.hub_model_id is None:
            self.init_hf_repo()
        return self._push(Path(self.args.output_dir), commit_message) if self.is_world_process_zero() else None

    def _push_from_checkpoint(self, checkpoint_folder: str) -> None:
        # The Trainer's method would push the folder of the run with pickled settings.
        if not self.is_world_process_zero() or self.args.hub_strategy == "end":
            return
        try:
            self._push(Path(checkpoint_folder), f"Training in progress, step {self.state.global_step}")
        except GlossaError as error:  # a Hub failure must not end the training
            logger.warning("step %d was not pushed: %s", self.state.global_step, error)

    def _push(self, model: Path, message: str) -> CommitInfo:
        with tempfile.TemporaryDirectory() as folder:
            left_out = stage(Path(self.args.output_dir), self.hub_model_id, Path(folder), model=model)
            for line in left_out if not self._pushed else ():
                logger.warning(line)
            self._pushed = True
            api = HfApi(token=self.args.hub_token)
            destination = Destination(self.hub_model_id, revision=self.args.hub_revision)
            return push(Path(folder), destination, message, api)

    def _without_repeated(self, labels: torch.Tensor) -> torch.Tensor:
        """Labels [B, T] with repeated rows of the last batch masked out."""
        state = self.accelerator.gradient_state
        if self.accelerator.num_processes == 1 or not state.end_of_dataloader or state.remainder <= 0:
            return labels
        kept = state.remainder - self.accelerator.process_index * labels.shape[0]
        rows = torch.arange(labels.shape[0], device=labels.device)
        return labels.masked_fill((rows >= kept)[:, None], -100)
