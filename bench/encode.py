#!/usr/bin/env python3
"""Sentences per second of dttrain encode beside sentence-transformers' encode.

  bench/encode.py --dttrain DTTRAIN --python PYTHON [--texts N] [--threads N] [--rounds N]

PYTHON needs sentence-transformers. The model has MiniLM-L6's sizes and random weights; texts are of random words,
half about 20 tokens long, half about 60. Each round runs both, in turn; sentence-transformers is loaded once and
warmed up. Neither time has loading in it. The embeddings of both must be equal.

  sentences/s = texts / time from texts in memory to all embeddings, tokenising included (dttrain: in the file, too)
"""
import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = [a + b + c for a in ("ka", "lo", "mi", "ru", "te", "zu", "shi", "ba") for b in ("n", "r", "s", "t", "l", "")
         for c in ("a", "e", "i", "o", "u", "y")]


def make_inputs(folder, count):
    import random
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    torch.manual_seed(1)
    source = random.Random(1)
    base = folder + "/base"
    os.makedirs(base)
    filler = [f"[unused{i}]" for i in range(30522 - len(WORDS) - 5)]
    with open(base + "/vocab.txt", "w") as file:
        file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS + filler) + "\n")
    BertTokenizerFast(base + "/vocab.txt", model_max_length=256).save_pretrained(base)
    BertModel(BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                         initializer_range=0.1)).save_pretrained(base)
    SentenceTransformer(modules=[Transformer(base, max_seq_length=256), Pooling(384, "mean"), Normalize()]).save(
        folder + "/model", create_model_card=False)
    with open(folder + "/texts.txt", "w") as file:
        for i in range(count):
            size = max(2, round(source.gauss(18 if i % 2 else 58, 6)))
            file.write(" ".join(source.choice(WORDS) for _ in range(size)) + "\n")


def serve(folder, threads):
    """Runs inside PYTHON: encodes once for each line of standard input, and prints the seconds."""
    import numpy
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(threads)
    model = SentenceTransformer(folder + "/model", device="cpu")
    texts = open(folder + "/texts.txt").read().splitlines()
    model.encode(texts[:64])
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        found = model.encode(texts, batch_size=32, show_progress_bar=False)
        took = time.perf_counter() - began
        numpy.save(folder + "/theirs.npy", found)
        print(json.dumps(took), flush=True)


def compare(folder):
    import numpy
    ours, theirs = numpy.load(folder + "/ours.npy"), numpy.load(folder + "/theirs.npy")
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, (ours.shape, theirs.shape)
    print(f"{numpy.abs(ours - theirs).max():.2g}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dttrain", default="build/release/bin/dttrain")
    parser.add_argument("--python", default=os.environ.get("DTL_TEST_PYTHON", "python3"))
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.work:
        {"make": lambda: make_inputs(a.work[1], a.texts), "serve": lambda: serve(a.work[1], a.threads),
         "compare": lambda: compare(a.work[1])}[a.work[0]]()
        return
    environment = {**os.environ, "OMP_NUM_THREADS": str(a.threads), "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        def work(what):
            return [a.python, os.path.abspath(__file__), "--texts", str(a.texts), "--threads", str(a.threads),
                    "--work", what, folder]
        subprocess.run(work("make"), check=True, env=environment, stderr=subprocess.DEVNULL)
        server = subprocess.Popen(work("serve"), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        assert server.stdout.readline().strip() == "ready"
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        print(f"{platform.node()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, commit {commit}, "
              f"{a.texts} texts, {a.threads} threads")
        ratios, own, theirs = [], [], []
        for _ in range(a.rounds):
            done = subprocess.run([a.dttrain, "encode", "--model_name_or_path", folder + "/model", "--test_file",
                                   folder + "/texts.txt", "--output_file", folder + "/ours.npy"],
                                  env=environment, capture_output=True, text=True, check=True)
            own.append(float(re.search(r"([\d.]+) sentences/s", done.stderr)[1]))
            server.stdin.write("\n")
            server.stdin.flush()
            theirs.append(a.texts / json.loads(server.stdout.readline()))
            ratios.append(own[-1] / theirs[-1])
        server.stdin.close()
        server.wait()
        differ = subprocess.run(work("compare"), capture_output=True, text=True, check=True).stdout.strip()
        print(f"dttrain {statistics.median(own):.0f}, sentence-transformers {statistics.median(theirs):.0f} sentences/s; "
              f"ratios {' '.join(f'{r:.2f}' for r in ratios)}, median {statistics.median(ratios):.2f}; "
              f"embeddings differ by {differ}")


main()
