"""A model made by `dttrain init` as Hugging Face reads it: config, weights, tokenizer.

init_parity.py INIT_HERE ENCODE_LINES
"""
import json
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

TEXTS = [("stone", "granite and basalt are hard"), ("plant", "moss and fern like the shade"),
         ("stone", "slate splits into thin plates"), ("plant", "an oak grows for centuries, slowly")]


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


def check_bytes(path):
    """The format by its own description, without any library."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    check(size % 8 == 0 and data[8:9] == b"{", "header is padded and starts with a brace")
    check(header.pop("__metadata__") == {"format": "pt"}, "metadata")
    end = 0
    for entry in sorted(header.values(), key=lambda e: e["data_offsets"]):
        check(entry["data_offsets"][0] == end, "no holes")
        end = entry["data_offsets"][1]
        check(end - entry["data_offsets"][0] == 4 * math.prod(entry["shape"]), "sizes")
    check(end == len(data) - 8 - size, "nothing behind the last tensor")


def check_model(init, encode, root, kind):
    folder = root / kind
    subprocess.run([init, "--train_file", root / "train.tsv", "--vocab_size", "120", "--hidden_size",
                    "32", "--num_hidden_layers", "2", "--num_attention_heads", "4",
                    "--intermediate_size", "64", "--max_seq_length", "40", "--model_type", kind,
                    "--lowercase", "--output_dir", folder], check=True)
    check_bytes(folder / "model.safetensors")
    config = AutoConfig.from_pretrained(folder)
    check(config.model_type == kind and config.id2label == {0: "plant", 1: "stone"}, "labels")
    model, report = AutoModelForSequenceClassification.from_pretrained(
        folder, output_loading_info=True)
    check(not report["missing_keys"] and not report["unexpected_keys"]
          and not report["mismatched_keys"], f"tensor names and shapes: {report}")
    ours = load_file(folder / "model.safetensors")
    state = model.state_dict()
    check(set(ours) == {name for name in state if "position_ids" not in name}, "every tensor")
    for name, tensor in ours.items():
        check((state[name] == tensor).all(), name)
        spread = 0.02
        if kind == "modernbert":  # a normal distribution, cut at two deviations
            spread = 0.88 * (32 ** -0.5 if name == "classifier.weight" else
                             0.01 if name.endswith(("Wo.weight", "dense.weight")) else 0.02)
            check(tensor.abs().max() <= spread / 0.88 * 2.0001 or "norm" in name, f"cut of {name}")
        if name.endswith("bias"):
            check((tensor == 0).all(), f"{name} is zero")
        elif "norm" in name.lower():
            check((tensor == 1).all(), f"{name} is one")
        elif tensor.numel() > 1000:
            check(abs(tensor.mean()) < 0.003 and abs(tensor.std() - spread) < 0.1 * spread, f"spread of {name}")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    pad = tokenizer.pad_token_id
    check(config.pad_token_id == pad, "the padding token of config and tokenizer")
    for key, token in (("bos_token_id", "cls"), ("eos_token_id", "sep")):
        if kind in ("roberta", "xlm-roberta", "camembert"):
            check(getattr(config, key) == getattr(tokenizer, f"{token}_token_id"), key)
    words = next(tensor for name, tensor in ours.items() if "word_embeddings" in name or "tok_embeddings" in name)
    check((words[pad] == 0).all() and (words[1 - pad] != 0).all(), "only the padding row is zero")
    check(tokenizer.model_max_length == 40, "model_max_length")
    lines = "".join(json.dumps({"first": t, "second": None, "max": 40}) + "\n" for _, t in TEXTS)
    result = subprocess.run([encode, folder], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    for (_, text), line in zip(TEXTS, result.stdout.splitlines()):
        ids = json.loads(line)["ids"]
        check(tokenizer(text)["input_ids"] == ids and tokenizer.unk_token_id not in ids, text)
    texts = [t for _, t in TEXTS]
    for pairs in (None, texts[::-1], [" ".join(["granite"] * 60)] * 4):  # the last is cut to 40 tokens
        logits = model.eval()(**tokenizer(texts, pairs, padding=True, truncation=True, return_tensors="pt")).logits
        check(logits.shape == (4, 2) and logits.isfinite().all(), "the model runs")
    print(f"{kind}: config, {len(ours)} tensors and tokenizer agree")


def main():
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "train.tsv").write_text(
            "label\tsentence\n" + "".join(f"{label}\t{text}\n" for label, text in TEXTS * 3))
        for kind in ("bert", "distilbert", "roberta", "xlm-roberta", "camembert", "electra", "deberta-v2", "modernbert"):
            check_model(sys.argv[1], sys.argv[2], root, kind)


main()
