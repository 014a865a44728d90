"""Training of the vocabulary: byte-level BPE, saved as a fast tokenizer that needs no code of ours."""

from collections.abc import Iterable, Iterator

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from .errors import GlossaError

PAD, EOS, START, UNKNOWN = "<pad>", "</s>", "<s>", "<unk>"
SPECIAL_TOKENS = [PAD, EOS, START, UNKNOWN]  # ids 0 to 3, the defaults of GlossaConfig


def train_tokenizer(
    texts: Iterable[str] | Iterator[list[str]], vocab_size: int, max_length: int = 512
) -> PreTrainedTokenizerFast:
    """One vocabulary for both languages, learned from `texts` (the training split of both sides, nothing else).

    Byte-level (Radford et al. 2019, section 2.2), so that nothing is ever unknown. A space is put before the first
    word, so that it has the same tokens as within the sentence, and taken away again in decoding. `</s>` is added
    at the end. Text that looks like a special token is read as text.

    Args:
        texts: Sentences, or batches of them.
        vocab_size: Tokens to learn, the 256 bytes and 4 special tokens included.
        max_length: Written into the tokenizer as `model_max_length`; only `truncation=True` uses it.

    Raises:
        GlossaError: when `texts` do not hold that many tokens; the message says how many they hold.
    """
    smallest = len(pre_tokenizers.ByteLevel.alphabet()) + len(SPECIAL_TOKENS)
    if vocab_size < smallest:
        raise GlossaError(f"vocab_size is {vocab_size}; byte-level BPE needs at least {smallest}.")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() < vocab_size:
        raise GlossaError(
            f"vocab_size is {vocab_size}, but the training text supports only {tokenizer.get_vocab_size()} tokens "
            f"that occur twice or more. Set vocab_size to {tokenizer.get_vocab_size()} or less, or give more text."
        )
    end = tokenizer.token_to_id(EOS)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {EOS}", pair=f"$A $B {EOS}", special_tokens=[(EOS, end)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        bos_token=START,
        unk_token=UNKNOWN,
        model_max_length=max_length,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
        split_special_tokens=True,  # a "</s>" that a user types is text, not an end
    )
