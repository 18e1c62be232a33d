"""Pre-trained models in all published file formats: dttrain reads the same model from each.
Usage: old_checkpoints.py DTTRAIN"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers

WORDS = ["stone", "plant", "moss", "slate", "oak", "fern"]


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def pretrained(kind):
    sizes = dict(vocab_size=5 + len(WORDS), max_position_embeddings=20,
                 id2label={0: "no", 1: "yes"}, label2id={"no": 0, "yes": 1})
    torch.manual_seed(1)
    if kind == "bert":
        return transformers.BertForPreTraining(transformers.BertConfig(
            hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
            **sizes))
    return transformers.DistilBertForMaskedLM(transformers.DistilBertConfig(
        dim=24, n_layers=2, n_heads=2, hidden_dim=40, **sizes))


def new_folder(root, name, config):
    folder = os.path.join(root, name)
    os.makedirs(folder)
    config.save_pretrained(folder)
    with open(os.path.join(folder, "vocab.txt"), "w") as out:
        out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
        json.dump({"do_lower_case": True}, out)
    return folder


def evaluate(program, folder, data):
    """The file of logits, and the output."""
    dump = folder + ".dump"
    # Encoders without a head: a new one is asked for, the same each time.
    done = subprocess.run([program, "--model_name_or_path", folder, "--do_eval", "--ignore_mismatched_sizes",
                           "--validation_file", data, "--debug_dump", dump,
                           "--output_dir", folder + ".out"],
                          capture_output=True, text=True)
    expect(done.returncode == 0, f"{folder}: status {done.returncode}: {done.stderr}")
    with open(os.path.join(dump, "logits.safetensors"), "rb") as file:
        return file.read(), done.stdout + done.stderr


def old_name(name):
    return (name.replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta"))


def check_kind(program, root, kind, data):
    model = pretrained(kind)
    prefix = kind + "."
    state = {name: value.clone() for name, value in model.state_dict().items()}
    state[prefix + "embeddings.position_ids"] = torch.arange(20).unsqueeze(0)

    new = new_folder(root, kind + "-new", model.config)
    model.save_pretrained(new)
    expected, said = evaluate(program, new, data)
    expect("classifier.weight" in said.split("newly initialised", 1)[1].splitlines()[0],
           f"the new head is named: {said}")

    gamma = new_folder(root, kind + "-gamma", model.config)
    torch.save({old_name(name): value for name, value in state.items()},
               os.path.join(gamma, "pytorch_model.bin"))
    logits, said = evaluate(program, gamma, data)
    expect(logits == expected, "the model with LayerNorm.gamma in a zip archive is another")
    unused = said.split("not used from", 1)[1].splitlines()[0]
    first, more = ("cls.predictions.bias", 6) if kind == "bert" else ("vocab_layer_norm.bias", 3)
    expect(first in unused and unused.endswith(f" and {more} more"), unused)  # position_ids is not among them
    expect(prefix not in unused, unused)

    bare = new_folder(root, kind + "-bare", model.config)
    torch.save({name.removeprefix(prefix): value for name, value in state.items()
                if name.startswith(prefix)},
               os.path.join(bare, "pytorch_model.bin"), _use_new_zipfile_serialization=False)
    logits, said = evaluate(program, bare, data)
    expect(logits == expected, "the bare encoder in an old torch file is another")
    expect("not used" not in said, said)

    pieces = new_folder(root, kind + "-pieces", model.config)
    names = sorted(state)
    places = {}
    for part in range(3):
        file = f"pytorch_model-{part + 1:05}-of-00003.bin"
        torch.save({name: state[name] for name in names[part::3]}, os.path.join(pieces, file))
        places.update({name: file for name in names[part::3]})
    with open(os.path.join(pieces, "pytorch_model.bin.index.json"), "w") as out:
        json.dump({"metadata": {"total_size": 0}, "weight_map": places}, out)
    expect(evaluate(program, pieces, data)[0] == expected, "the model in three pieces is another")

    os.remove(os.path.join(pieces, "pytorch_model-00002-of-00003.bin"))
    shutil.rmtree(pieces + ".dump")
    done = subprocess.run([program, "--model_name_or_path", pieces, "--do_eval",
                           "--validation_file", data, "--output_dir", pieces + ".out"],
                          capture_output=True, text=True)
    expect(done.returncode == 65 and "pytorch_model-00002-of-00003.bin" in done.stderr,
           f"a missing piece: status {done.returncode}: {done.stderr}")
    print(f"  {kind}: four forms, one model")


def main():
    with tempfile.TemporaryDirectory() as root:
        data = os.path.join(root, "data.tsv")
        with open(data, "w") as out:
            out.write("sentence\tlabel\n")
            for i, word in enumerate(WORDS):
                out.write(f"{word} {WORDS[i - 1]} {WORDS[i - 2]}\t{'yes' if i % 2 else 'no'}\n")
        for kind in ("bert", "distilbert"):
            check_kind(os.path.abspath(sys.argv[1]), root, kind, data)


main()
