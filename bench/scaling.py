#!/usr/bin/python3
"""How dttrain scales over hosts that are as fast, beside their network, as a cluster of servers.

usage: bench/scaling.py [--rounds N] [--steps N] [--layers N] [--hidden N] [--vocab N] [--short]
       [-- OPTION OF DTTRAIN...]
as root, with the targets dtlaunch, dtagent, dtguard and dttrain of the release build

Hosts are those of tests/cluster. Each may use half a core, and its link is shaped so that the time
of a step and the time of its gradients on the wire have the proportion that they would have on a
server with 32 cores and 25 Gbit/s: 25 Gbit/s x 0.5 / 32 = 390.6 Mbit/s. (Both sides of the
proportion are divided by 64. A server's cores are taken to be as fast as this machine's.)

Each host trains BERT-base on 32 texts of 128 tokens per step, so N hosts do N times the work of
one. Words are as frequent as in a language: the k-th with a probability in proportion to
1 / (k + 2.7) (Mandelbrot's form of Zipf's law). Runs with 1, 2 and 4 hosts take turns, and with 4
hosts that train apart, without a network: what this machine, whose cores all work then, can give
at most. A figure is the median of the rounds.

  scaling = tokens/s of N hosts / tokens/s of one, first step not counted

Published for PyTorch with oneCCL on such servers: 1.7 on two, 3.0 on four.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from allreduce_hosts import BIN, CLUSTER, ROOT

CORES, SERVER_CORES, SERVER_MBIT = 0.5, 32, 25000
RATE = f"{SERVER_MBIT * CORES / SERVER_CORES:.1f}mbit"
BATCH, LENGTH, CLASSES = 32, 128, 4


def make_model(folder, a):
    """A model folder whose vocabulary is a list of words, and a file of full-length texts."""
    os.makedirs(folder)
    words = [f"w{i:x}".replace("0", "o") for i in range(a.vocab - 5)]
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="ascii") as out:
        out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="ascii") as out:
        json.dump({"do_lower_case": True}, out)
    source = random.Random(1)
    frequencies = list(itertools.accumulate(1 / (k + 2.7) for k in range(1, len(words) + 1)))
    with open(os.path.join(folder, "train.tsv"), "w", encoding="ascii") as out:
        out.write("sentence\tlabel\n")
        for i in range(BATCH * 4 * a.steps):
            text = " ".join(source.choices(words, cum_weights=frequencies, k=LENGTH - 2))
            out.write(f"{text}\tclass{i % CLASSES}\n")
    labels = {str(i): f"class{i}" for i in range(CLASSES)}
    config = {"model_type": "bert", "vocab_size": a.vocab, "hidden_size": a.hidden,
              "num_hidden_layers": a.layers, "num_attention_heads": a.hidden // 64,
              "intermediate_size": 4 * a.hidden, "max_position_embeddings": LENGTH,
              "id2label": labels}
    with open(os.path.join(folder, "config.json"), "w", encoding="ascii") as out:
        json.dump(config, out)
    make_weights(folder, config)


def make_weights(folder, c):
    """Every tensor of the encoder, in safetensors' format: a JSON header, then the values."""
    import array
    H, I, V = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
    shapes = {"embeddings.word_embeddings.weight": (V, H),
              "embeddings.position_embeddings.weight": (LENGTH, H),
              "embeddings.token_type_embeddings.weight": (2, H),
              "embeddings.LayerNorm.weight": (H,), "embeddings.LayerNorm.bias": (H,),
              "pooler.dense.weight": (H, H), "pooler.dense.bias": (H,)}
    for i in range(c["num_hidden_layers"]):
        at = f"encoder.layer.{i}."
        for name, shape in (("attention.self.query", (H, H)), ("attention.self.key", (H, H)),
                            ("attention.self.value", (H, H)),
                            ("attention.output.dense", (H, H)),
                            ("intermediate.dense", (I, H)), ("output.dense", (H, I))):
            shapes[at + name + ".weight"], shapes[at + name + ".bias"] = shape, shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[at + name + ".weight"] = shapes[at + name + ".bias"] = (H,)
    source = random.Random(2)
    some = array.array("f", (source.gauss(0, 0.02) for _ in range(65521)))
    header, data, at = {}, [], 0
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        if "LayerNorm.weight" in name:
            values = array.array("f", [1.0]) * count
        elif name.endswith("bias"):
            values = array.array("f", [0.0]) * count
        else:
            values = (some * (count // len(some) + 1))[:count]
        data.append(values.tobytes())
        header["bert." + name] = {"dtype": "F32", "shape": list(shape),
                                  "data_offsets": [at, at + len(data[-1])]}
        at += len(data[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text + b"".join(data))


def tokens_per_second(hosts, folder, environment, a):
    """hosts: their numbers, from 1."""
    output = os.path.join(folder, "out" + "_".join(map(str, hosts)))
    names = output + ".hosts"
    with open(names, "w", encoding="ascii") as out:
        out.writelines(f"node{i}\n" for i in hosts)
    command = [CLUSTER, "exec", f"node{hosts[0]}", os.path.join(BIN, "dtlaunch"), "-f", names,
               "-np", str(len(hosts)), "-ppn", "1", "-genv", "OMP_NUM_THREADS=1", os.path.join(BIN, "dttrain"),
               "--model_name_or_path", os.path.join(folder, "model"), "--do_train",
               "--train_file", os.path.join(folder, "model/train.tsv"),
               "--per_device_train_batch_size", str(BATCH), "--max_steps", str(a.steps),
               "--max_seq_length", str(LENGTH), "--logging_steps", "1", "--overwrite_output_dir",
               *a.options, "--output_dir", output]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                         timeout=900)
    if run.returncode != 0:
        sys.exit(f"bench/scaling.py: {' '.join(command)}: status {run.returncode}\n{run.stderr}")
    with open(os.path.join(output, "trainer_state.json"), encoding="utf-8") as file:
        log = [entry for entry in json.load(file)["log_history"] if "tokens_per_second" in entry]
    tokens = len(hosts) * BATCH * LENGTH
    times = [tokens / entry["tokens_per_second"] for entry in log[1:]]
    return tokens * len(times) / sum(times)


def apart(hosts, folder, environment, a):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return sum(pool.map(lambda host: tokens_per_second([host], folder, environment, a), hosts))


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4, help="of a run")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--vocab", type=int, default=30522)
    parser.add_argument("--short", action="store_true", help="whether it works; no figures")
    parser.add_argument("options", nargs="*", help="of dttrain, after --")
    a = parser.parse_args()
    if a.short:
        a.rounds, a.steps, a.layers, a.hidden = 1, 3, 2, 128
    return a


def main():
    a = parse()
    print(f"{a.layers} layers of {a.hidden}, vocabulary {a.vocab}; {BATCH} texts of {LENGTH} "
          f"tokens per host and step; hosts of {CORES} cores with links of {RATE} "
          f"({SERVER_MBIT} Mbit/s x {CORES} / {SERVER_CORES}); median of {a.rounds} rounds",
          flush=True)
    runs = {"1": (tokens_per_second, [1]), "2": (tokens_per_second, [1, 2]),
            "4": (tokens_per_second, [1, 2, 3, 4]), "4 apart": (apart, [1, 2, 3, 4])}
    rates = {name: [] for name in runs}
    with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "build")) as folder:
        make_model(os.path.join(folder, "model"), a)
        environment = {**os.environ, "DTL_CLUSTER": os.path.join(folder, "cluster")}
        subprocess.run([CLUSTER, "up", "4", "--cpus", str(CORES), "--rate", RATE], check=True,
                       env=environment, stdout=subprocess.DEVNULL)
        try:
            for index in range(a.rounds):
                turn = index % len(runs)
                for name in list(runs)[turn:] + list(runs)[:turn]:
                    function, hosts = runs[name]
                    rates[name].append(function(hosts, folder, environment, a))
        finally:
            subprocess.run([CLUSTER, "down"], check=True, env=environment)
    one = statistics.median(rates["1"])
    print(f"{'hosts':>8}{'tokens/s':>12}{'scaling':>10}   of each round")
    for hosts, values in rates.items():
        rate = statistics.median(values)
        print(f"{hosts:>8}{rate:>12.1f}{rate / one:>10.2f}   "
              + " ".join(f"{value:.1f}" for value in values))


if __name__ == "__main__":
    main()
