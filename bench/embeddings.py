#!/usr/bin/env python3
"""Training steps of sentence embeddings by dttrain beside sentence-transformers.

  cmake --build --preset release --target embedding_steps
  bench/embeddings.py --python PYTHON [--threads 2]

PYTHON has torch and sentence-transformers. The model has MiniLM-L6's size (6 layers, H 384, 12 heads,
I 1536) and random weights; mean pooling, normalised; MultipleNegativesRankingLoss on pairs of texts of
20 and 60 tokens; forward, backward, clipping and AdamW, dropout on. A round runs every contestant once
on the same cores and threads, in an order that changes from round to round. sentence-transformers
joins both columns in one forward, padded to the longest text of both ("joined", its default), or
runs one forward for each ("apart"), padded to the longest of its column.

  pairs/s = pairs of a step / median time of a step, the first one left out
  times   = dttrain's pairs/s divided by those of the line, median of the rounds
  CPU     = the same by the CPU's time, for one thread on a machine that others use as well
"""

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY, WARM_UP = 30522, 1
# Tokens of a text, with [CLS] and [SEP]: mean and deviation of the anchors and of the positives.
LENGTHS = [(20, 4), (60, 10)]


def write_pairs(path, count):
    source = random.Random(1)
    with open(path, "w", encoding="ascii") as out:
        for _ in range(count):
            for mean, deviation in LENGTHS:
                words = max(1, round(source.gauss(mean, deviation)) - 2)
                ids = [source.randrange(1000, VOCABULARY) for _ in range(words)]
                out.write(" ".join(map(str, [101, *ids, 102])) + "\n")


def batches_of(torch, a):
    """The batches of dttrain's first epoch: torch.randperm with its default seed, 42."""
    with open(a.examples, encoding="ascii") as file:
        rows = [[int(word) for word in line.split()] for line in file]
    pairs = list(zip(rows[::2], rows[1::2]))
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(42)).tolist()
    for step in range(a.steps):
        yield [pairs[i] for i in order[step * a.batch:(step + 1) * a.batch]]


def features_of(torch, texts):
    width = max(map(len, texts))
    ids = torch.tensor([text + [0] * (width - len(text)) for text in texts])
    return dict(input_ids=ids, attention_mask=(ids != 0).long(), token_type_ids=torch.zeros_like(ids))


def make_reference(folder):
    import sentence_transformers
    import transformers
    from sentence_transformers.sentence_transformer import modules
    transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                            intermediate_size=1536).save_pretrained(folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="ascii") as out:
        out.write("\n".join(words + [f"w{i}" for i in range(VOCABULARY - len(words))]) + "\n")
    transformers.BertTokenizerFast(os.path.join(folder, "vocab.txt")).save_pretrained(folder)
    model = transformers.BertModel(transformers.BertConfig.from_pretrained(folder))
    model.save_pretrained(folder)
    return sentence_transformers.SentenceTransformer(
        modules=[modules.Transformer(folder), modules.Pooling(384), modules.Normalize()],
        device="cpu").train()


def torch_steps(a):
    """The reference's side, inside the measured Python."""
    import contextlib
    import torch
    from sentence_transformers.base.losses import merged_forward
    from sentence_transformers.sentence_transformer import losses
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        model = make_reference(folder)
    loss_of = losses.MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
    how = merged_forward.column_merging_disabled if a.how == "apart" else contextlib.nullcontext
    steps = []
    with how():
        for pairs in batches_of(torch, a):
            start, cpu = time.perf_counter(), time.process_time()
            columns = [features_of(torch, list(column)) for column in zip(*pairs)]
            optimizer.zero_grad()
            loss = loss_of(columns, None)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            steps.append({"loss": loss.item(), "seconds": time.perf_counter() - start,
                          "cpu": time.process_time() - cpu})
    print(json.dumps({"steps": steps,
                      "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def run_json(a, command):
    threads = str(a.threads)
    environment = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads,
                       OPENBLAS_NUM_THREADS=threads, TOKENIZERS_PARALLELISM="false",
                       HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
    cores = ",".join(map(str, range(a.threads)))
    done = subprocess.run(["taskset", "-c", cores, *command], env=environment, capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def contestants(a):
    """Names and commands; ours first."""
    numbers = [str(a.steps), str(a.threads)]
    program = os.path.join(a.build, "embedding_steps")
    result = {"dttrain": [program, a.examples, str(a.batch), "1", *numbers]}
    result["dttrain, 8 micro-batches"] = [program, a.examples, str(a.batch), "8", *numbers]
    versions = subprocess.run(
        [a.python, "-c", "import torch, sentence_transformers as s; "
         "print('sentence-transformers', s.__version__, 'torch', torch.__version__)"],
        check=True, capture_output=True, text=True).stdout.strip()
    for how in ("joined", "apart"):
        result[f"{versions}, {how}"] = [
            a.python, os.path.abspath(__file__), "--reference", "--how", how, "--examples",
            a.examples, "--batch", str(a.batch), "--steps", str(a.steps), "--threads",
            str(a.threads)]
    return result


def rate(a, result, clock="seconds"):
    return a.batch / statistics.median(s[clock] for s in result["steps"][WARM_UP:])


def compare(a):
    runs = contestants(a)
    results = {name: [] for name in runs}
    for number in range(a.rounds):
        names = list(runs)
        for name in names[number % len(names):] + names[:number % len(names)]:
            results[name].append(run_json(a, runs[name]))
    print(f"{a.batch} pairs of {LENGTHS[0][0]} and {LENGTHS[1][0]} tokens, {a.threads} threads; "
          f"{a.rounds} rounds of {a.steps} steps")
    print(f"{'pairs/s':>10} {'times':>7} {'CPU':>7} {'MiB':>7} {'loss':>7}")
    for name, rounds in results.items():
        times, of_cpu = (statistics.median(rate(a, o, clock) / rate(a, t, clock)
                                           for o, t in zip(results["dttrain"], rounds))
                         for clock in ("seconds", "cpu"))
        print(f"{statistics.median(rate(a, r) for r in rounds):10.1f} {times:7.2f} {of_cpu:7.2f} "
              f"{max(r['kib'] for r in rounds) / 1024:7.0f} "
              f"{rounds[0]['steps'][-1]['loss']:7.3f}  {name}")
    sys.stdout.flush()


def describe():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        cpu = next((l.split(":")[1].strip() for l in file if l.startswith("model name")), "?")
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True,
                            text=True, cwd=HERE).stdout.strip()
    print(f"machine {cpu}, {os.cpu_count()} CPUs, load of others {os.getloadavg()[0]:.1f}, "
          f"Linux {platform.release()}; commit {commit}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--build", default=os.path.join(HERE, "../build/release/bin"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reference", action="store_true", help=argparse.SUPPRESS)
    for name in ("--how", "--examples"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.reference:
        return torch_steps(a)
    describe()
    with tempfile.TemporaryDirectory() as folder:
        a.examples = os.path.join(folder, "pairs")
        write_pairs(a.examples, a.steps * a.batch)
        compare(a)


if __name__ == "__main__":
    main()
