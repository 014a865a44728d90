"""Declarations of Glossa's settings of model, translator and training. Imports no library.

Help, recipes and the command line read them before torch is imported. `settings.py` combines them with the Trainer's.
"""

from dataclasses import dataclass
from typing import Literal

from ...base.values import setting

PLAIN = "plain"  # of `stages`: one training
# Settings that `glossa train` chooses by the pairs, in groups that belong together. If one of a group is set
# explicitly, no other setting of the group is chosen. Settings after the bar are never chosen, but also prevent the
# choice of their group.
CHOSEN = (
    "vocab_size | tokenizer target_vocab_size tokenizer_model",
    "d_model encoder_layers decoder_layers encoder_attention_heads decoder_attention_heads num_key_value_heads "
    "encoder_ffn_dim decoder_ffn_dim | head_dim kv_lora_rank",
    "dropout |",
    "num_train_epochs | max_steps",
    "learning_rate muon_learning_rate lr_scheduler_type warmup_steps | learning_rate_factor optim",
    "eval_strategy eval_steps save_strategy save_steps |",
    "augmentation | placeholder_augmentation dataloader_persistent_workers max_steps",
)


@dataclass(frozen=True)
class ModelArguments:
    """The architecture: the fields of `GlossaConfig` that a recipe may set. Others depend on text and tokenizer."""

    _argument_group_name = "model (its architecture)"

    d_model: int = setting(256, "Width of the residual stream.", interval="[1, 16777216]")
    encoder_layers: int = setting(4, "Layers of the encoder.", interval="[1, 1000]")
    decoder_layers: int = setting(4, "Layers of the decoder.", interval="[1, 1000]")
    encoder_attention_heads: int = setting(4, "Query heads of each encoder layer.", interval="[1, 16777216]")
    decoder_attention_heads: int = setting(4, "Query heads of each decoder layer.", interval="[1, 16777216]")
    num_key_value_heads: int | None = setting(
        2,
        "Key and value heads of every attention; must divide the number of query heads (Ainslie et al. 2023). "
        "1 is multi-query attention, null one for each query head.",
        interval="[1, 16777216]",
    )
    kv_lora_rank: int | None = setting(
        None,
        "Width of the latent that keys and values of all heads are projected from (multi-head latent "
        "attention, DeepSeek-AI 2024, section 2.1). Default: no latent.",
        interval="[1, 16777216]",
    )
    q_lora_rank: int | None = setting(
        None,
        "Width of the latent of the queries in latent attention. Default: queries are projected from the states.",
        interval="[1, 16777216]",
    )
    qk_rope_head_dim: int | None = setting(
        None,
        "Elements of each query and of one key for all heads that latent attention adds for rotary positions. "
        "Default: half of a head.",
        interval="[1, 16777216]",
    )
    encoder_ffn_dim: int = setting(
        704,
        "Inner width of the encoder's feed-forward. 704 is two thirds of 4 x 256, rounded up to a multiple of "
        "64 (Shazeer 2020, section 2).",
        interval="[1, 16777216]",
    )
    decoder_ffn_dim: int = setting(704, "Inner width of the decoder's feed-forward.", interval="[1, 16777216]")
    activation_function: str = setting("silu", "Name of any activation in transformers.")
    gated_feed_forward: bool = setting(
        True, "down(act(gate(x)) * up(x)) instead of down(act(up(x))); with silu this is SwiGLU (Shazeer 2020)."
    )
    num_local_experts: int | None = setting(
        None,
        "Networks in every feed-forward, of which a router chooses some for each token (mixture of experts). "
        "Default: one network.",
        interval="[2, 1000]",
    )
    num_experts_per_tok: int = setting(
        2,
        "Experts that the router chooses for each token: 1 as in Switch (Fedus et al. 2021), 2 as in Mixtral "
        "(Jiang et al. 2024).",
        interval="[1, 16777216]",
    )
    num_shared_experts: int = setting(
        0,
        "Experts that read every token, in addition to those of the router (Dai et al. 2024, section 3.2).",
        interval="[0, inf)",
    )
    router_aux_loss_coef: float = setting(
        0.01,
        "Factor of the training loss that balances the load of the experts (Fedus et al. 2021, section 2.2).",
        interval="[0, inf)",
    )
    position_embedding_type: Literal["rotary", "sinusoidal", "learned"] = setting(
        "rotary",
        "Positions: rotary (Su et al. 2021; in self-attention), sinusoidal (Vaswani et al. 2017, section 3.5) "
        "or learned.",
    )
    max_source_positions: int = setting(
        512,
        "Longest source in tokens. Only learned positions enforce it; rotary and sinusoidal positions have no limit.",
        interval="[1, 16777216]",
    )
    max_target_positions: int = setting(512, "Longest target in tokens, likewise.", interval="[1, 16777216]")
    dropout: float = setting(
        0.1,
        "Dropout of embeddings and of each sublayer's output (Vaswani et al. 2017, section 5.4).",
        interval="[0, 1)",
    )
    attention_dropout: float = setting(0.0, "Dropout of attention weights.", interval="[0, 1)")
    activation_dropout: float = setting(0.0, "Dropout inside the feed-forward.", interval="[0, 1)")
    norm_type: Literal["rms", "layer"] = setting(
        "rms", "Norms: rms (Zhang and Sennrich 2019) or layer (Ba et al. 2016)."
    )
    norm_position: Literal["pre", "post"] = setting(
        "pre",
        "Norms before each sublayer (pre) or after each residual addition (post); compared by Xiong et al. 2020.",
    )
    norm_eps: float = setting(1e-06, "Added to the variance (or mean square) in norms.", interval="(0, inf)")
    final_norm: bool = setting(True, "A norm at the end of encoder and decoder, as pre-norm needs.")
    query_key_value_bias: bool = setting(False, "Biases on the three input projections of attention.")
    attention_output_bias: bool = setting(False, "Bias on the output projection of attention.")
    feed_forward_bias: bool = setting(False, "Biases in the feed-forward.")
    scale_embedding: bool = setting(
        True, "Multiply token embeddings by sqrt(d_model) (Vaswani et al. 2017, section 3.4)."
    )
    tie_word_embeddings: bool = setting(
        True,
        "Output layer and target embedding share one matrix (Press and Wolf 2017). false keeps all matrices separate.",
    )
    share_encoder_decoder_embeddings: bool = setting(
        True, "The source embedding shares that matrix too; needs one vocabulary and tie_word_embeddings."
    )
    label_smoothing_type: Literal["uniform", "exclude_padding"] = setting(
        "uniform",
        "Where label smoothing moves the probability: uniform, over the whole vocabulary; exclude_padding, "
        "over all tokens except the label and padding.",
    )


@dataclass(frozen=True)
class TranslatorArguments:
    """The objective, the start and the decoding settings of a run."""

    _argument_group_name = "translator"

    objective: Literal["translation", "span_corruption", "masked_lm", "causal_lm"] = setting(
        "translation",
        "What to train: translation of pairs; or pretraining on texts, which fills in spans (encoder and decoder), "
        "fills in masked tokens (encoder) or continues a text (decoder).",
    )
    init_from: str | None = setting(
        None,
        "Folder or Hub name of a trained model to start from; its tokenizer and architecture are kept, and its "
        "dropout unless another is given.",
    )
    add_language: str | None = setting(
        None,
        "Code of a target language that the model of init_from lacks. It gets a token, whose embedding begins as the "
        "mean of those of the other languages. For models of several target languages, and NLLB.",
    )
    add_vocabulary: int | None = setting(
        None,
        "Number of pieces to add to the vocabulary of init_from, learned from the targets of the training pairs. Each "
        "begins as the mean of the old pieces that it consists of. For byte-pair encoding.",
        interval="[1, inf)",
    )
    num_beams: int = setting(4, "Number of beams of the finished model; 1 is greedy decoding.", interval="[1, inf)")
    length_penalty: float = setting(
        1.0, "Beam scores are divided by the length to this power.", interval="(-inf, inf)"
    )
    bleu_tokenizer: Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200", "none"] = (
        setting("auto", "sacreBLEU's tokenizer. auto: 13a, or what the target language needs.")
    )
    max_new_tokens: int = setting(
        128, "Maximum length of translations during validation, in tokens.", interval="[1, inf)"
    )


@dataclass
class TrainingSettings:
    """Training settings that transformers' `Seq2SeqTrainingArguments` lacks, or that have other defaults.

    The optimizer defaults are from Vaswani et al. 2017, section 5.3. `learning_rate` is the peak of the schedule
    instead of a factor.
    """

    output_dir: str = setting("runs/translator", "The folder of the run: checkpoints, log, finished model.")
    batch_tokens: int = setting(
        2048,
        "Maximum tokens per batch and device on either side, including padding; replaces the batch size.",
        interval="[1, inf)",
    )
    gradient_accumulation_steps: int = setting(
        2,
        "Batches per step and device. With 1, all sentences of a step have similar length and the model learns less.",
        interval="[1, inf)",
    )
    average_checkpoints: int = setting(
        0, "Number of checkpoints whose weights are averaged into the finished model.", interval="[0, inf)"
    )
    early_stopping_patience: int | None = setting(
        None, "Stop after this many evaluations without a better metric. Default: never.", interval="[1, inf)"
    )
    learning_rate: float = setting(1e-3, "Peak learning rate.", interval="[0, inf)")
    muon_learning_rate: float | None = setting(
        None,
        "Train the matrices of the layers with Muon, with this peak learning rate; the other weights keep optim and "
        "learning_rate. Default: no Muon.",
        interval="(0, inf)",
    )
    learning_rate_factor: float | None = setting(
        None,
        "Factor of the schedule of Vaswani et al. 2017 (section 5.3), instead of learning_rate: the rate is "
        "factor x d_model^-0.5 x min(step^-0.5, step x warmup_steps^-1.5). Requires lr_scheduler_type inverse_sqrt.",
        interval="(0, inf)",
    )
    lr_scheduler_type: str = setting("inverse_sqrt", "Schedule of the learning rate after warm-up.")
    warmup_steps: float = setting(
        0.1, "Steps in which the learning rate rises; a value below 1 is a fraction of all steps.", interval="[0, inf)"
    )
    adam_beta2: float = setting(0.98, "Decay of Adam's second moment.", interval="[0, 1)")
    adam_epsilon: float = setting(1e-9, "Added to Adam's denominator.", interval="[0, inf)")
    label_smoothing_factor: float = setting(0.1, "Label smoothing in the loss of the model.", interval="[0, 1)")
    num_train_epochs: float = setting(10.0, "Passes over the training pairs.", interval="(0, inf)")
    hours: float | None = setting(
        None,
        "Time limit for the steps of training, in hours: a trial on this machine lowers num_train_epochs to what "
        "fits. Preparing the data, and scoring and saving at the end, take more time; with stages they count too. "
        "Default: no limit.",
        interval="(0, inf)",
    )
    hours_share: float = setting(
        1.0,
        "Share of hours that this training may take; the other stages of a chain have the rest.",
        interval="(0, 1]",
    )
    stages: str = setting(
        PLAIN,
        "What the hours are spent on: plain, one training; or names joined by commas, in order: first a training, "
        "plain or both (one model in both directions); then diversify (its translations of the training pairs) and "
        "back (its translations of monolingual) as further pairs; a training in the wanted direction follows by "
        "itself. auto takes what was best for so many pairs and hours, and is chosen for monolingual text and hours. "
        "hours then count everything.",
    )
    eval_strategy: str = setting("epoch", "When to evaluate: no, steps or epoch.")
    save_strategy: str = setting("epoch", "When to save a checkpoint: no, steps, epoch or best.")
    save_total_limit: int | None = setting(
        3, "Number of checkpoints to keep, including the best.", interval="[1, inf)"
    )
    load_best_model_at_end: bool | None = setting(
        None,
        "Load the best checkpoint at the end instead of keeping the last weights. Default: where checkpoints are "
        "saved when the model is evaluated.",
    )
    metric_for_best_model: str | None = setting("bleu", "Metric that selects the best checkpoint: bleu, chrf or loss.")
    predict_with_generate: bool = setting(True, "Translate the validation split at each evaluation.")
    per_device_eval_batch_size: int = setting(64, "Sentences in an evaluation batch.", interval="[1, inf)")
    eval_samples: int = setting(
        3, "Validation sentences printed with their translations after each evaluation.", interval="[0, inf)"
    )
    logging_steps: float = setting(
        50, "Steps between log lines; a value below 1 is a fraction of all steps.", interval="(0, inf)"
    )
    report_to: str = setting("tensorboard", "Where to report curves: tensorboard, trackio, wandb, none.")
    resume_from_checkpoint: str | None = setting(
        None,
        "Continue a run: true from the last whole checkpoint in output_dir, or from the checkpoint in this folder. "
        "Default: a new run.",
    )
    seed: int = setting(1, "Seed of weights, dropout and batch order.", interval="[0, 4294967295]")
    lora_rank: int = setting(
        0,
        "With init_from: train LoRA adapters of this rank (Hu et al. 2021), such as 16, instead of all weights. The "
        "finished model has them merged in; they are also saved alone. 0: train all weights.",
        interval="[0, inf)",
    )
    alignment_head: bool = setting(
        False,
        "Train a head of the last but one decoder layer to align words (Garg et al. 2019); the words of the training "
        "pairs are aligned by Eflomal (sil-thot) first.",
    )
    bf16: bool = setting(
        False,
        "Compute in bfloat16, with weights in float32. Default: on an NVIDIA GPU that computes in it; on a CPU with "
        "instructions and memory for it if a short trial at the start shows that it is faster; or as the resumed run.",
    )
    cpu_threads: int | None = setting(
        None,
        "Threads for training on the CPU. Default: OMP_NUM_THREADS if it is set; or the number of the resumed run; or "
        "the number that is fastest in a short trial at the start.",
        interval="[1, inf)",
    )
    cpu_processes: int | None = setting(
        None,
        "Processes for training on the CPU, which share the batches of a step: a divisor of "
        "gradient_accumulation_steps. Default: as many as cores and memory allow; 1 if threads are given; or the "
        "number of the resumed run.",
        interval="[1, inf)",
    )
