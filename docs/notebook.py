# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From your own files to a translator
#
# This notebook trains a very small translator in less than a minute on an idle CPU, looks at its curves and translates
# with it. It needs `pip install .` in a checkout and no other files: the pairs come from the corpus in the package.
#
# ## 1. A file of sentence pairs
#
# Two columns with a tab between them, source and target. Replace this file with your own.

# %%
from pathlib import Path

from glossa.readers.embedded import embedded_corpus

corpus = embedded_corpus()
rows = [pair["translation"] for pair in corpus["train"].select(range(8000))]
folder = Path("notebook")
folder.mkdir(exist_ok=True)
pairs = folder / "pairs.tsv"
pairs.write_text("".join(f"{row['en']}\t{row['fr']}\n" for row in rows), encoding="utf-8")
print(pairs.read_text(encoding="utf-8")[:300])

# %% [markdown]
# ## 2. A recipe
#
# A recipe is a YAML file of settings. Every setting that it leaves out keeps its default. A setting that does not
# exist is refused, with the name of the nearest one.

# %%
recipe = folder / "recipe.yaml"
recipe.write_text(
    f"""\
dataset: files
data_path: {pairs}
source_language: en
target_language: fr
validation_size: 100
test_size: 100
vocab_size: 800
d_model: 64
encoder_layers: 1
decoder_layers: 1
encoder_ffn_dim: 128
decoder_ffn_dim: 128
num_train_epochs: 4
batch_tokens: 750
learning_rate: 1e-2
lr_scheduler_type: cosine
dropout: 0
warmup_steps: 50
logging_steps: 20
num_beams: 4
max_new_tokens: 30
report_to: none
eval_samples: 0
disable_tqdm: true
output_dir: {folder / "run"}
""",
    encoding="utf-8",
)

# %% [markdown]
# ## 3. Training
#
# In a terminal this step is `glossa train notebook/recipe.yaml`. It reads, cleans and splits the pairs, learns a
# vocabulary, trains, and scores the result on the test pairs.

# %%
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

run = Path(train(parse_settings([str(recipe)])))
sorted(path.name for path in run.iterdir())

# %% [markdown]
# The loss on training and validation pairs, and BLEU on the validation pairs after each epoch:

# %%
from PIL import Image

Image.open(run / "curves.png")

# %% [markdown]
# ## 4. Translating
#
# The run's folder is an ordinary transformers model. In a terminal: `glossa translate notebook/run < lines.txt`.
#
# The model is very small and has seen few pairs, so expect errors. `glossa train quickstart` trains a larger model on
# all 40,000 pairs of this corpus.

# %%
from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

translator = Translator(load_model(str(run)), load_tokenizer(str(run)), Search(4))
sentences = [row["translation"]["en"] for row in corpus["test"].select(range(5))]
for sentence, translation in zip(sentences, translator.best(sentences), strict=True):
    print(f"{sentence}\n  {translation}")

# %% [markdown]
# ## 5. A page to try it
#
# `glossa demo` shows the model in a page of this machine (`pip install "glossa-mt[serve]"`):
#
# ```bash
# glossa demo notebook/run
# ```
#
# To publish the model on the Hub, with its card and with a Space that has the same page:
#
# ```bash
# glossa push notebook/run --repo_id user/name --space --dry_run   # shows the files and the card, sends nothing
# glossa push notebook/run --repo_id user/name --space
# ```
