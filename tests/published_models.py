"""Small random models of other families, in folders with the files that the Hub has of them."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import EncoderDecoderModel, T5Config, T5Tokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

SIDES = {f"{side}_{name}": size for side in ("encoder", "decoder")
         for name, size in {"layers": 1, "attention_heads": 2, "ffn_dim": 32}.items()}  # fmt: skip
BART = {"d_model": 16, "max_position_embeddings": 64, **SIDES}
SPECIAL = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}  # of most
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_decoder_layers": 1, "num_heads": 2}


def sentence_pieces(
    texts: Iterable[str], path: Path, size: int = 60, **options
) -> sentencepiece.SentencePieceProcessor:
    """Train a SentencePiece model on `texts` and write it to `path`."""
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=file, vocab_size=size, hard_vocab_limit=False,
            minloglevel=2, **{"bos_id": 1, "eos_id": 2, "unk_id": 0} | options,
        )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False))


def marian(folder: Path, sources: list[str], targets: list[str], codes: Iterable[str] = (), apart: bool = False):
    """OPUS-MT: two SentencePiece models, whose pieces share a vocabulary, unless it is `apart`."""
    pieces = []
    for name, texts in (("source", sources), ("target", targets)):
        found = sentence_pieces(texts, folder / f"{name}.spm")
        pieces.append([found.id_to_piece(index) for index in range(3, found.get_piece_size())])
    own = [f">>{code}<<" for code in codes]
    sides = [["</s>", "<unk>", *own, *dict.fromkeys(side), "<pad>"] for side in pieces]
    joint = ["</s>", "<unk>", *own, *dict.fromkeys([*pieces[0], *pieces[1]]), "<pad>"]
    if apart:
        longest = max(map(len, sides))
        sides = [[*side[:-1], *(f"<filler{n}>" for n in range(longest - len(side))), "<pad>"] for side in sides]
        write(folder / "target_vocab.json", {piece: index for index, piece in enumerate(sides[1])})
        joint = sides[0]
    write(folder / "vocab.json", {piece: index for index, piece in enumerate(joint)})
    settings = {"source_lang": "en", "target_lang": "fr"} | ({"separate_vocabs": True} if apart else {})
    write(folder / "tokenizer_config.json", settings)
    pad = len(joint) - 1
    tied = {"share_encoder_decoder_embeddings": not apart, "decoder_vocab_size": len(joint)}
    special = {"pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad, "forced_eos_token_id": 0}
    config = transformers.MarianConfig(vocab_size=len(joint), **BART, **tied, **special)
    search = {"bad_words_ids": [[pad]], "max_length": 64, "num_beams": 4, "renormalize_logits": True}
    return config, search


def pieces_and_merges(texts: Iterable[str], special: list[str]) -> dict:
    """What a tokenizer of byte pairs is built from, learned from `texts`."""
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=120, special_tokens=special))
    described = json.loads(backend.to_str())["model"]
    return {"vocab": described["vocab"], "merges": [tuple(merge) for merge in described["merges"]]}


def nllb(folder: Path, sources: list[str], targets: list[str]):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    learned = pieces_and_merges([*sources, *targets], special)
    codes = ["eng_Latn", "fra_Latn", "deu_Latn"]
    tokenizer = transformers.NllbTokenizer(**learned, extra_special_tokens=codes)
    tokenizer.save_pretrained(folder)
    saved = json.loads((folder / "tokenizer_config.json").read_text())
    write(folder / "tokenizer_config.json", saved | {"src_lang": None, "tgt_lang": None})
    config = transformers.M2M100Config(vocab_size=len(tokenizer), **BART, **SPECIAL, decoder_start_token_id=2,
                                       tokenizer_class="NllbTokenizer")  # fmt: skip
    return config, {"max_length": 64}


def m2m100(folder: Path, sources: list[str], targets: list[str]):
    found = sentence_pieces([*sources, *targets], folder / "sentencepiece.bpe.model", model_type="bpe")
    pieces = [found.id_to_piece(index) for index in range(3, found.get_piece_size())]
    vocabulary = {piece: index for index, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    write(folder / "vocab.json", vocabulary)
    write(folder / "tokenizer_config.json", {"tokenizer_class": "M2M100Tokenizer", "src_lang": None, "tgt_lang": None})
    config = transformers.M2M100Config(vocab_size=len(vocabulary) + 108, **BART, **SPECIAL, decoder_start_token_id=2,
                                       early_stopping=True)  # fmt: skip
    return config, {"num_beams": 5, "max_length": 64, "early_stopping": True}


def mbart(folder: Path, sources: list[str], targets: list[str], kind: str):
    sentence_pieces([*sources, *targets], folder / "sentencepiece.bpe.model")
    write(folder / "tokenizer_config.json", {"tokenizer_class": kind, "src_lang": None, "tgt_lang": None})
    size = len(transformers.AutoTokenizer.from_pretrained(folder))
    start = {"decoder_start_token_id": 2} if kind == "MBart50Tokenizer" else {}
    config = transformers.MBartConfig(vocab_size=size, **BART, **SPECIAL, forced_eos_token_id=2, scale_embedding=True,
                                      tokenizer_class=kind, **start)  # fmt: skip
    return config, {"num_beams": 5, "max_length": 64, "forced_eos_token_id": 2}


def t5(folder: Path, sources: list[str], targets: list[str], build: Callable = T5Config):
    sentence_pieces([*sources, *targets], folder / "spiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    write(folder / "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "extra_ids": 100})
    if build is transformers.UMT5Config:
        T5Tokenizer.from_pretrained(folder).save_pretrained(folder)
    size = len(T5Tokenizer.from_pretrained(folder)) + 28  # published ones have more rows than the vocabulary
    given = {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"} if build is not T5Config else {}
    if build is T5Config:
        prefixes = {"translation_en_to_fr": {"prefix": "translate English to French: ", "num_beams": 4}}
        given = {"task_specific_params": prefixes}
    return build(vocab_size=size, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, **T5, **given), {}


def byt5(folder: Path, sources: list[str], targets: list[str]):
    write(folder / "tokenizer_config.json", {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 125})
    given = T5 | {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "tokenizer_class": "ByT5Tokenizer"}
    return T5Config(vocab_size=384, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, **given), {}


def t5gemma(folder: Path, sources: list[str], targets: list[str]):
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"]
    learned = pieces_and_merges([*sources, *targets], special)
    tokenizer = transformers.GemmaTokenizer(**learned)
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
             "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
             "vocab_size": len(tokenizer)}  # fmt: skip
    sizes |= {"query_pre_attn_scalar": 8, "layer_types": ["full_attention"]}
    side = transformers.T5GemmaModuleConfig(**sizes)
    decoder = transformers.T5GemmaModuleConfig(**sizes, is_decoder=True, cross_attention_hidden_size=16)
    search = {"bos_token_id": 2, "eos_token_id": [1, 6], "pad_token_id": 0}
    return transformers.T5GemmaConfig(encoder=side, decoder=decoder, vocab_size=len(tokenizer)), search


def bart(folder: Path, sources: list[str], targets: list[str]):
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    backend.train_from_iterator([*sources, *targets], trainer)
    backend.add_special_tokens(["<mask>"])
    described = json.loads(backend.to_str())["model"]
    write(folder / "vocab.json", described["vocab"] | {"<mask>": len(described["vocab"])})
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(map(" ".join, described["merges"])) + "\n")
    write(folder / "tokenizer_config.json", {"tokenizer_class": "BartTokenizer"})
    config = transformers.BartConfig(vocab_size=len(described["vocab"]) + 1, **BART, **SPECIAL,
                                     decoder_start_token_id=2, forced_eos_token_id=2,
                                     forced_bos_token_id=0)  # fmt: skip
    search = {"num_beams": 4, "max_length": 62, "min_length": 2, "length_penalty": 2.0, "no_repeat_ngram_size": 3,
              "early_stopping": True, "forced_bos_token_id": 0, "forced_eos_token_id": 2}  # fmt: skip
    return config, search


def pegasus(folder: Path, sources: list[str], targets: list[str]):
    sentence_pieces([*sources, *targets], folder / "spiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PegasusTokenizer"})
    size = len(transformers.AutoTokenizer.from_pretrained(folder))
    config = transformers.PegasusConfig(vocab_size=size, **BART, pad_token_id=0, eos_token_id=1,
                                        decoder_start_token_id=0, forced_eos_token_id=1,
                                        scale_embedding=True)  # fmt: skip
    return config, {"num_beams": 8, "max_length": 64, "length_penalty": 0.6, "forced_eos_token_id": 1}


def prophetnet(folder: Path, sources: list[str], targets: list[str]):
    words = sorted({letter for text in [*sources, *targets] for letter in text.lower() if letter.strip()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[X_SEP]", *words, *(f"##{word}" for word in words)]
    (folder / "prophetnet.tokenizer").write_text("\n".join(vocabulary) + "\n")
    write(folder / "tokenizer_config.json", {"do_lower_case": True})
    sizes = {"hidden_size": 16, "num_encoder_layers": 1, "num_decoder_layers": 1, "encoder_ffn_dim": 32,
             "decoder_ffn_dim": 32, "num_encoder_attention_heads": 2, "num_decoder_attention_heads": 2,
             "max_position_embeddings": 64}  # fmt: skip
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
    config = transformers.ProphetNetConfig(vocab_size=len(vocabulary), **sizes, **ids)
    return config, {"num_beams": 4, "max_length": 64}


def bert2bert(folder: Path, sources: list[str], targets: list[str]):
    words = sorted({letter for text in [*sources, *targets] for letter in text.lower() if letter.strip()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *(f"##{word}" for word in words)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    write(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True})
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
             "max_position_embeddings": 64, "vocab_size": len(vocabulary)}  # fmt: skip
    sides = [transformers.BertConfig(**sizes) for _ in range(2)]
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(*sides)
    config.update({"decoder_start_token_id": 2, "eos_token_id": 3, "pad_token_id": 0, "bos_token_id": 2})
    return config, {
        "max_length": 64, "num_beams": 2, "decoder_start_token_id": 2, "eos_token_id": 3, "pad_token_id": 0,
    }  # fmt: skip


PUBLISHED: dict[str, Callable[[Path, list[str], list[str]], tuple[transformers.PreTrainedConfig, dict]]] = {
    "opus-mt": marian, "opus-mt, many targets": lambda folder, *texts: marian(folder, *texts, codes=("fra", "deu")),
    "opus-mt, two vocabularies": lambda folder, *texts: marian(folder, *texts, apart=True), "nllb": nllb,
    "m2m100": m2m100, "mbart-50": lambda folder, *texts: mbart(folder, *texts, kind="MBart50Tokenizer"),
    "mbart-25": lambda folder, *texts: mbart(folder, *texts, kind="MBartTokenizer"), "t5": t5,
    "mt5": lambda folder, *texts: t5(folder, *texts, build=transformers.MT5Config),
    "umt5": lambda folder, *texts: t5(folder, *texts, build=transformers.UMT5Config), "byt5": byt5, "t5gemma": t5gemma,
    "bart": bart, "pegasus": pegasus, "prophetnet": prophetnet, "bert2bert": bert2bert,
}  # fmt: skip


def publish(name: str, folder: Path, sources: list[str], targets: list[str], pickled: bool = False) -> Path:
    """Write the folder of a random model of the family `name`, with pieces of `sources` and `targets`."""
    folder.mkdir(parents=True, exist_ok=True)
    config, search = PUBLISHED[name](folder, sources, targets)
    torch.manual_seed(0)
    build = EncoderDecoderModel if name == "bert2bert" else MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING[type(config)]
    model = build(config=config)
    model.generation_config.update(**search)
    model.save_pretrained(folder)
    if pickled:  # as it was before safetensors
        weights = {key: value.clone() for key, value in model.state_dict().items()}
        torch.save(weights, folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    return folder
