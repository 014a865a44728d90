"""A saved folder can be fine-tuned with plain transformers, and gradient accumulation does not change the step."""

import pytest
import torch
import transformers

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.train.data.encoding.vocabulary import train_tokenizer

NUMBERS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "six"}
THINGS = {"cats": "chats", "dogs": "chiens", "birds": "oiseaux", "books": "livres", "trees": "arbres"}
PAIRS = [(f"{n} {t}.", f"{NUMBERS[n]} {THINGS[t]}.") for n in NUMBERS for t in THINGS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved")
    tokenizer = train_tokenizer([text for pair in PAIRS for text in pair], 330)
    config = GlossaConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=64, dropout=0.0
    )
    torch.manual_seed(0)
    GlossaForConditionalGeneration(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def trainer_of(folder, output, pairs, **arguments):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    rows = [dict(tokenizer(source, text_target=target)) for source, target in pairs]
    defaults = {"report_to": "none", "disable_tqdm": True, "save_strategy": "no", "dataloader_pin_memory": False}
    settings = transformers.Seq2SeqTrainingArguments(output_dir=output, **(defaults | arguments))
    collator = transformers.DataCollatorForSeq2Seq(tokenizer, model=model)
    data = {"train_dataset": rows, "eval_dataset": rows, "data_collator": collator}
    return transformers.Seq2SeqTrainer(model=model, args=settings, processing_class=tokenizer, **data)


@pytest.mark.slow
def test_transformers_trainer_fine_tunes_a_saved_folder(folder, tmp_path):
    trainer = trainer_of(
        folder, tmp_path, PAIRS, per_device_train_batch_size=10, num_train_epochs=40, learning_rate=5e-3,
        predict_with_generate=True, generation_max_length=16,
    )  # fmt: skip
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    after = trainer.evaluate()["eval_loss"]
    assert after < 0.2 * before
    predicted = trainer.predict(trainer.eval_dataset).predictions
    predicted = predicted.clip(min=0)  # the Trainer fills shorter batches with -100
    texts = trainer.processing_class.batch_decode(predicted, skip_special_tokens=True)
    right = sum(text == target for text, (_, target) in zip(texts, PAIRS, strict=True))
    assert right >= 0.9 * len(PAIRS)

    trainer.save_model(tmp_path / "tuned")
    tuned = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "tuned")
    for name, weight in trainer.model.state_dict().items():
        assert tuned.state_dict()[name].equal(weight)


def test_accumulated_step_equals_the_step_of_the_whole_batch(folder, tmp_path):
    """One SGD step on targets of unequal length: a mean of batch means would give different weights."""
    pairs = [("one cat", "un"), ("two dogs", "deux chiens. quatre oiseaux. cinq livres."), *PAIRS[:2]]
    weights = []
    for batch, accumulation in ((4, 1), (1, 4)):
        trainer = trainer_of(
            folder, tmp_path, pairs, per_device_train_batch_size=batch, gradient_accumulation_steps=accumulation,
            max_steps=1, learning_rate=1.0, optim="sgd", max_grad_norm=0.0, lr_scheduler_type="constant",
        )  # fmt: skip
        trainer.train()
        weights.append(trainer.model.state_dict())
    start = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).state_dict()
    moved = 0.0
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-4, atol=1e-5)
        moved = max(moved, (weight - start[name]).abs().max().item())
    assert moved > 1e-2
