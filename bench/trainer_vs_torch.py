#!/usr/bin/env python3
"""Tokens per second of dttrain beside PyTorch: the same model, data, batches and optimizer.

  bench/trainer_vs_torch.py --dttrain build/release/bin/dttrain [--python PYTHON ...] [--threads N]

Each PYTHON needs torch; with transformers its BertForSequenceClassification is trained, otherwise
the same encoder made of torch.nn.TransformerEncoderLayer. PyTorch gets its batches padded to their
longest text, and to --length as run_glue pads them; dttrain computes no padding. All programs run
one after the other in every round, and the median round of each is shown.

  tokens/s = tokens of all texts, [CLS] and [SEP] included, padding not / time of the steps
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

CLASSES = 8


def make_texts(path, count, words, longest, seed=1):
    """Lengths as of short descriptions: between 8 and the longest, most of them in the lower half."""
    source = random.Random(seed)
    with open(path, "w") as out:
        out.write("sentence\tlabel\n")
        for _ in range(count):
            length = min(longest - 2, int(8 + source.gammavariate(2.5, longest / 6)))
            text = [words[min(len(words) - 1, int(source.expovariate(8 / len(words))))]
                    for _ in range(length)]
            out.write(" ".join(text) + f"\tclass{source.randrange(CLASSES)}\n")


def make_model(folder, a):
    """The model folder for dttrain: its vocabulary is the list of words. Returns the words."""
    os.makedirs(folder)
    words = [f"w{i:x}".replace("0", "o") for i in range(a.vocab - 5)]
    with open(os.path.join(folder, "vocab.txt"), "w") as out:
        out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
        json.dump({"do_lower_case": True}, out)
    return words


def torch_worker(a):
    """Runs inside the measured Python: prints one JSON line."""
    import torch
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    with open(os.path.join(a.folder, "batches.json")) as file:
        batches = json.load(file)
    model, name = torch_model(a, torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    tokens, seconds, loss = 0, 0.0, None
    for number, (ids, labels) in enumerate(batches):
        width = a.length if a.padding == "length" else max(map(len, ids))
        padded = torch.tensor([row + [0] * (width - len(row)) for row in ids])
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(padded), torch.tensor(labels))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if number >= 3:  # the first steps allocate
            seconds += time.perf_counter() - start
            tokens += sum(map(len, ids))
    assert loss.isfinite()
    print(json.dumps({"name": f"torch {torch.__version__} {name}", "rate": tokens / seconds}))


def torch_model(a, torch):
    try:
        import transformers
        config = transformers.BertConfig(
            vocab_size=a.vocab, hidden_size=a.hidden, num_hidden_layers=a.layers,
            num_attention_heads=a.heads, intermediate_size=a.intermediate,
            max_position_embeddings=a.length, num_labels=CLASSES)
        bert = transformers.BertForSequenceClassification(config).train()
        return WithMask(torch, lambda ids: bert(ids, attention_mask=(ids != 0).long()).logits,
                        bert), "transformers " + transformers.__version__
    except ImportError:
        layer = torch.nn.TransformerEncoderLayer(a.hidden, a.heads, a.intermediate, 0.1, "gelu",
                                                 batch_first=True)
        parts = torch.nn.ModuleDict(dict(
            word=torch.nn.Embedding(a.vocab, a.hidden), place=torch.nn.Embedding(a.length, a.hidden),
            norm=torch.nn.LayerNorm(a.hidden), encoder=torch.nn.TransformerEncoder(layer, a.layers),
            pool=torch.nn.Linear(a.hidden, a.hidden), out=torch.nn.Linear(a.hidden, CLASSES)))

        def forward(ids):
            x = parts["word"](ids) + parts["place"](torch.arange(ids.shape[1]))
            x = torch.nn.functional.dropout(parts["norm"](x), 0.1)
            x = parts["encoder"](x, src_key_padding_mask=ids == 0)
            return parts["out"](torch.nn.functional.dropout(torch.tanh(parts["pool"](x[:, 0])), 0.1))
        return WithMask(torch, forward, parts.train()), "TransformerEncoderLayer"


class WithMask:
    def __init__(self, torch, forward, module):
        self.forward, self.module = forward, module

    def __call__(self, ids):
        return self.forward(ids)

    def parameters(self):
        return self.module.parameters()


def write_batches(a, words, steps):
    ids = {word: 5 + i for i, word in enumerate(words)}
    with open(os.path.join(a.folder, "train.tsv")) as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    encoded = [([2] + [ids[w] for w in text.split()] + [3], int(label[5:])) for text, label in rows]
    batches = []
    for step in range(steps):
        chosen = encoded[step * a.batch:(step + 1) * a.batch]
        batches.append(([e[0] for e in chosen], [e[1] for e in chosen]))
    with open(os.path.join(a.folder, "batches.json"), "w") as file:
        json.dump(batches, file)
    real = sum(len(row) for batch in batches for row in batch[0])
    longest = sum(max(map(len, batch[0])) * len(batch[0]) for batch in batches)
    return real, longest, sum(len(batch[0]) for batch in batches) * a.length


def limited(a):
    env = dict(os.environ, OMP_NUM_THREADS=str(a.threads), OPENBLAS_NUM_THREADS=str(a.threads))
    for name in ("WORLD_SIZE", "RANK", "OPENBLAS_CORETYPE"):  # every library chooses for itself
        env.pop(name, None)
    return env


def cpus(a):
    return ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:a.threads]))]


def run_dttrain(a, count):
    output = os.path.join(a.folder, "out")
    command = cpus(a) + [
        a.dttrain, "--model_name_or_path", os.path.join(a.folder, "model"), "--do_train",
        "--train_file", os.path.join(a.folder, "train.tsv"), "--max_seq_length", str(a.length),
        "--per_device_train_batch_size", str(a.batch), "--num_train_epochs", "1",
        "--learning_rate", "1e-4", "--weight_decay", "0.01", "--logging_steps", "1000000",
        "--output_dir", output, "--overwrite_output_dir"]
    done = subprocess.run(command, env=limited(a), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    with open(os.path.join(output, "train_results.json")) as file:
        results = json.load(file)
    assert results["train_samples"] == count and 0 < results["train_loss"] < 10
    return "dttrain, no padding", results["train_tokens_per_second"]


def run_torch(a, python, padding):
    keys = ("threads", "vocab", "hidden", "layers", "heads", "intermediate", "length", "batch")
    command = cpus(a) + [python, __file__, "--worker", "--padding", padding, "--folder", a.folder]
    for key in keys:
        command += [f"--{key}", str(getattr(a, key))]
    done = subprocess.run(command, env=limited(a), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    result = json.loads(done.stdout.strip().splitlines()[-1])
    where = f"padded to {a.length}" if padding == "length" else "padded to the longest"
    return f"{result['name']}, {where}", result["rate"]


def describe(a, real, longest, full):
    with open("/proc/cpuinfo") as file:
        cpu = next((l.split(":")[1].strip() for l in file if l.startswith("model name")), "?")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip()
    print(f"machine {cpu}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
          f"Linux {platform.release()}; commit {commit}")
    print(f"BERT vocabulary {a.vocab}, hidden {a.hidden}, {a.layers} layers, {a.heads} heads, "
          f"intermediate {a.intermediate}; {a.steps} steps of {a.batch} texts; {a.threads} threads")
    print(f"tokens {real}; padded to the longest {longest}; padded to {a.length} {full}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--dttrain", default=os.path.join(here, "../build/release/bin/dttrain"))
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--padding", default="longest", help=argparse.SUPPRESS)
    for name, value in dict(threads=1, vocab=8000, hidden=128, layers=2, heads=2, intermediate=512,
                            length=128, batch=32, steps=60, rounds=3).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    if a.worker:
        return torch_worker(a)
    with tempfile.TemporaryDirectory() as a.folder:
        words = make_model(os.path.join(a.folder, "model"), a)
        train = os.path.join(a.folder, "train.tsv")
        make_texts(train, a.steps * a.batch, words, a.length)
        init_weights(a, train)
        describe(a, *write_batches(a, words, a.steps))
        rates = {}
        for _ in range(a.rounds):
            runs = [run_dttrain(a, a.steps * a.batch)]
            runs += [run_torch(a, python, padding) for python in a.python
                     for padding in ("longest", "length")]
            for name, rate in runs:
                rates.setdefault(name, []).append(rate)
        ours = statistics.median(next(iter(rates.values())))
        for name, values in rates.items():
            rate = statistics.median(values)
            print(f"{rate:10.0f} tokens/s  {ours / rate:5.2f}x  {name}")


def init_weights(a, train):
    """dttrain init makes config.json and the weights for the size of our own vocabulary."""
    made = os.path.join(a.folder, "made")
    subprocess.run([a.dttrain, "init", "--train_file", train, "--output_dir", made, "--vocab_size",
                    "300", "--hidden_size", str(a.hidden), "--num_hidden_layers", str(a.layers),
                    "--num_attention_heads", str(a.heads), "--intermediate_size",
                    str(a.intermediate), "--max_seq_length", str(a.length)],
                   check=True, env=limited(a), stderr=subprocess.DEVNULL)
    with open(os.path.join(made, "config.json")) as file:
        config = json.load(file)
    model = os.path.join(a.folder, "model")
    grow_vocabulary(os.path.join(made, "model.safetensors"),
                    os.path.join(model, "model.safetensors"), a.vocab, a.hidden)
    config["vocab_size"] = a.vocab
    with open(os.path.join(model, "config.json"), "w") as file:
        json.dump(config, file)


def grow_vocabulary(source, target, vocabulary, hidden):
    """Copies a safetensors file with `vocabulary` rows of word embeddings, repeating those it has."""
    with open(source, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    pieces, at = [], 0
    for name in [n for n in header if n != "__metadata__"]:
        begin, end = header[name]["data_offsets"]
        piece = data[begin:end]
        if name.endswith("word_embeddings.weight"):
            want = vocabulary * hidden * 4
            piece = (piece * (want // len(piece) + 1))[:want]
            header[name]["shape"] = [vocabulary, hidden]
        header[name]["data_offsets"] = [at, at + len(piece)]
        at += len(piece)
        pieces.append(piece)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(pieces))


main()
