#!/usr/bin/env python3
"""Seconds to tokenise pairs of texts: dttrain's tokenizer beside the `tokenizers` package.

  bench/tokenizer.py --python PYTHON [--pairs N] [--threads N] [--rounds N]

PYTHON needs the tokenizers package. The pairs are lines of the texts that this machine has, two
neighbours each, in a vocabulary learnt from some of them. Every round starts each program anew, in
turn, so nothing is known of the words beforehand; reading the file and loading the tokenizer are not
in the time. `encode_batch` computes offsets too; `encode_batch_fast` leaves them out. The ids of all
must have the same sum and number.

  s = time from the list of texts in memory to the ids of all of them, the median round of each
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY = 30000


def make_inputs(a):
    """pairs.tsv and a tokenizer folder. Runs inside PYTHON."""
    sys.path.insert(0, os.path.join(HERE, "../tests/trainer"))
    from text_corpus import lines
    from tokenizers import BertWordPieceTokenizer
    texts = [" ".join(line.split()) for line in lines(2 * a.pairs, 1)]
    with open(os.path.join(a.folder, "pairs.tsv"), "w", encoding="utf-8", newline="\n") as out:
        out.write("sentence1\tsentence2\n")
        for first, second in zip(texts[::2], texts[1::2]):
            clean = [text.replace("\0", "") for text in (first, second)]
            out.write("\t".join(clean) + "\n")
    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(texts[::5], vocab_size=VOCABULARY, show_progress=False)
    tokenizer = BertWordPieceTokenizer(tokenizer.get_vocab())  # with BERT's template
    tokenizer.save(os.path.join(a.folder, "tokenizer.json"))


def tokenizers_worker(a):
    """Runs inside PYTHON: prints one JSON line."""
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(os.path.join(a.folder, "tokenizer.json"))
    tokenizer.enable_truncation(128, strategy="longest_first")
    tokenizer.no_padding()
    with open(os.path.join(a.folder, "pairs.tsv"), encoding="utf-8", newline="\n") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")) for line in file][1:]
    start = time.perf_counter()
    encodings = getattr(tokenizer, a.worker)(pairs)
    ids = [encoding.ids for encoding in encodings]
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": [seconds], "tokens": sum(map(len, ids)),
                      "sum": sum(map(sum, ids))}))


def run_ours(a):
    done = subprocess.run([a.program, a.folder, os.path.join(a.folder, "pairs.tsv"), str(a.threads),
                           "1"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def run_theirs(a, method):
    environment = dict(os.environ, TOKENIZERS_PARALLELISM="true", RAYON_NUM_THREADS=str(a.threads))
    done = subprocess.run([a.python, __file__, "--worker", method, "--folder", a.folder],
                          env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def describe(a, tokens):
    with open("/proc/cpuinfo") as file:
        cpu = next((l.split(":")[1].strip() for l in file if l.startswith("model name")), "?")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            cwd=HERE).stdout.strip()
    print(f"machine {cpu}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
          f"Linux {platform.release()}; commit {commit}")
    print(f"{a.pairs} pairs, {tokens} tokens, {a.threads} threads, {a.rounds} rounds")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(HERE, "../build/release/bin/tokenize_pairs"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    for name, value in dict(pairs=100000, threads=2, rounds=3).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    if a.worker:
        return make_inputs(a) if a.worker == "inputs" else tokenizers_worker(a)
    with tempfile.TemporaryDirectory() as a.folder:
        subprocess.run([a.python, __file__, "--worker", "inputs", "--folder", a.folder, "--pairs",
                        str(a.pairs)], check=True)
        seconds, results = {}, {}
        for _ in range(a.rounds):
            runs = {"dttrain": run_ours(a)}
            for method in ("encode_batch", "encode_batch_fast"):
                runs["tokenizers, " + method] = run_theirs(a, method)
            for name, result in runs.items():
                seconds.setdefault(name, []).append(result["seconds"][0])
                results[name] = (result["tokens"], result["sum"])
    if len(set(results.values())) != 1:
        sys.exit(f"the tokens differ: {results}")
    describe(a, results["dttrain"][0])
    ours = statistics.median(seconds["dttrain"])
    for name, values in seconds.items():
        median = statistics.median(values)
        spread = f"{min(values):.3f} to {max(values):.3f}"
        print(f"{median:8.3f} s  {median / ours:6.2f}x  {name} ({spread})")


main()
