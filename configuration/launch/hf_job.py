# /// script
# requires-python = ">=3.11"
# dependencies = ["glossa-mt @ https://huggingface.co/USER/wheels/resolve/main/glossa_mt-0.1.0-py3-none-any.whl"]
# ///
"""Train on Hugging Face Jobs, on all GPUs of the machine, and push the result.

Build the wheel (`pip wheel --no-deps .`), upload it to a repository of yours, and put its address above. Then:

    hf jobs uv run --flavor a100-large --timeout 12h --secrets HF_TOKEN configuration/launch/hf_job.py \
        multi30k-en-de --push_to_hub true --hub_model_id USER/multi30k-en-de
"""

from glossa_command import main

if __name__ == "__main__":
    main("train")
