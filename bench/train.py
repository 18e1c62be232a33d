#!/usr/bin/env python3
"""Training steps of dttrain beside PyTorch: the same model, texts, batches and optimizer.

  cmake --build --preset release --target train_steps dttrain
  bench/train.py --python PYTHON [PARTS]      # parts: full mrpc squad start; default: all
  bench/train.py --python PYTHON --short      # whether it works here; no figures

PYTHON has torch and transformers. A round runs every contestant once, in an order that changes from
round to round, on the same cores and threads; the tables show the median of the rounds. dttrain's
steps are run by train_steps, PyTorch's by this script: forward, backward, clipping and AdamW, dropout
on, eager or compiled, its batches padded to their longest text or to --length as run_glue pads them.

  tokens/s = tokens of all texts, padding not / median time of a step, the first ones left out
  share    = operations of the products / (forward + backward) / gemm peak measured before
  MiB      = peak resident memory
  times    = dttrain's tokens/s divided by those of the line
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

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES, VOCABULARY, WARM_UP = 8, 30522, 2
LAYERS = {"bert": 12, "distilbert": 6}
# Lengths of texts, [CLS] and [SEP] included: (mean, deviation, shortest, longest). MRPC's pairs and
# SQuAD's windows of 384 in outline; both are drawn from a normal distribution cut at the ends.
LENGTHS = {"full": (128, 0, 128, 128), "mrpc": (53, 14, 18, 128), "squad": (177, 65, 60, 384)}


def write_examples(path, part, count):
    mean, deviation, shortest, longest = LENGTHS[part]
    source = random.Random(1)
    with open(path, "w") as out:
        for _ in range(count):
            length = min(longest, max(shortest, round(source.gauss(mean, deviation))))
            ids = [source.randrange(1000, VOCABULARY) for _ in range(length - 2)]
            out.write(" ".join(map(str, [source.randrange(CLASSES), 101, *ids, 102])) + "\n")


# ---- the side of PyTorch, inside the measured Python

def torch_model(a, torch):
    import transformers
    if a.type == "bert":
        config = transformers.BertConfig(num_hidden_layers=a.layers, num_labels=CLASSES)
        return transformers.BertForSequenceClassification(config).train()
    config = transformers.DistilBertConfig(n_layers=a.layers, num_labels=CLASSES)
    return transformers.DistilBertForSequenceClassification(config).train()


def torch_batches(a, torch):
    """The batches of dttrain's first epoch: torch.randperm with its default seed, 42."""
    with open(a.examples) as file:
        rows = [[int(word) for word in line.split()] for line in file]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(42)).tolist()
    for step in range(a.steps):
        yield [rows[i] for i in order[step * a.batch:(step + 1) * a.batch]]


def torch_worker(a):
    import resource
    import torch
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    module = torch_model(a, torch)
    optimizer = torch.optim.AdamW(module.parameters(), lr=2e-5, weight_decay=0.01)
    model = torch.compile(module) if a.how == "compiled" else module
    steps = []
    for rows in torch_batches(a, torch):
        width = LENGTHS[a.part][3] if a.padding == "length" else max(len(row) - 1 for row in rows)
        start = time.perf_counter()
        ids = torch.tensor([row[1:] + [0] * (width - len(row) + 1) for row in rows])
        labels = torch.tensor([row[0] for row in rows])
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=a.precision == "bf16"):
            loss = model(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        value = loss.item()
        assert abs(value - 2.08) < 1, value  # ln(8): the labels are random
        steps.append({"tokens": sum(len(row) - 1 for row in rows), "loss": value,
                      "seconds": time.perf_counter() - start})
    print(json.dumps({"version": torch.__version__, "steps": steps,
                      "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


# ---- running the contestants

def environment(a):
    threads = str(a.threads)
    return dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads,
                OPENBLAS_NUM_THREADS=threads, TOKENIZERS_PARALLELISM="false")


def limited(a, command):
    return ["taskset", "-c", ",".join(map(str, range(a.threads))), *command]


def run_json(a, command):
    done = subprocess.run(limited(a, command), env=environment(a), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_ours(a, precision):
    return run_json(a, [os.path.join(a.build, "train_steps"), a.examples, a.type, str(a.layers),
                        str(VOCABULARY), str(a.batch), str(a.steps), str(a.threads), precision])


def run_torch(a, how, padding, precision):
    command = [a.python, __file__, "--worker", "--how", how, "--padding", padding, "--precision",
               precision, "--part", a.part, "--examples", a.examples, "--type", a.type]
    for key in ("layers", "batch", "steps", "threads"):
        command += [f"--{key}", str(getattr(a, key))]
    return run_json(a, command)


def contestants(a):
    """Names and what runs them; ours first."""
    result = {}
    for precision in a.precisions:
        result[f"dttrain {precision}"] = lambda p=precision: run_ours(a, p)
    for precision in a.precisions:
        for how in ["eager", "compiled"] if a.compile else ["eager"]:
            if how == "compiled" and a.part != "full":
                continue  # every new width is compiled anew
            name = f"torch {how} {precision}"
            if a.part == "full":
                result[name] = lambda h=how, p=precision: run_torch(a, h, "longest", p)
                continue
            for padding in ("longest", "length"):
                result[f"{name}, padded to {LENGTHS[a.part][3] if padding == 'length' else 'longest'}"] = (
                    lambda h=how, p=precision, w=padding: run_torch(a, h, w, p))
    return result


def interleaved(a):
    runs = contestants(a)
    results = {name: [] for name in runs}
    for number in range(a.rounds):
        names = list(runs)
        for name in names[number % len(names):] + names[:number % len(names)]:
            results[name].append(runs[name]())
    return results


def rate(result):
    steps = result["steps"][WARM_UP:]
    return statistics.median(s["tokens"] / s["seconds"] for s in steps)


def share(result):
    steps = result["steps"][WARM_UP:]
    return statistics.median(s["flops"] / (s["forward"] + s["backward"]) / result["peak"]
                             for s in steps)


def show(a, results):
    print(f"\n{a.part}: {a.type}, {a.layers} layers, {a.batch} texts of {LENGTHS[a.part][0]} tokens on "
          f"average, {a.threads} threads; {a.rounds} rounds of {a.steps} steps")
    print(f"{'tokens/s':>10} {'times':>7} {'share':>6} {'peak GF/s':>9} {'MiB':>7}")
    for name, runs in results.items():
        ours = results["dttrain " + ("bf16" if "bf16" in name else "float32")]
        times = statistics.median(rate(o) / rate(t) for o, t in zip(ours, runs))
        own = ([f"{statistics.median(map(share, runs)):6.2f}",
                f"{statistics.median(r['peak'] for r in runs) / 1e9:9.0f}"]
               if "peak" in runs[0] else [" " * 6, " " * 9])
        print(f"{statistics.median(map(rate, runs)):10.0f} {times:7.2f} {own[0]} {own[1]} "
              f"{max(r['kib'] for r in runs) / 1024:7.0f}  {name}")
    sys.stdout.flush()


def show_start(a):
    commands = {"dttrain --version": [os.path.join(a.build, "dttrain"), "--version"],
                "import torch": [a.python, "-c", "import torch"],
                "import torch, transformers, a model": [
                    a.python, "-c", "import torch; from transformers import "
                    "BertForSequenceClassification"]}
    times = {name: [] for name in commands}
    for _ in range(a.rounds):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[name].append(time.perf_counter() - start)
    print("\nstart: seconds from start to exit")
    for name, values in times.items():
        print(f"{statistics.median(values):10.4f}  {name}")


def describe():
    with open("/proc/cpuinfo") as file:
        cpu = next((l.split(":")[1].strip() for l in file if l.startswith("model name")), "?")
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True,
                            cwd=HERE).stdout.strip()
    chosen = os.environ.get("OPENBLAS_CORETYPE", "chosen by OpenBLAS")
    print(f"machine {cpu}, {os.cpu_count()} CPUs, load of others {os.getloadavg()[0]:.1f}, "
          f"Linux {platform.release()}; commit {commit}; OPENBLAS_CORETYPE {chosen}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--build", default=os.path.join(HERE, "../build/release/bin"))
    parser.add_argument("--type", choices=LAYERS, default="bert")
    parser.add_argument("--layers", type=int, default=0, help="fewer flatter dttrain")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bf16", action="store_true", help="mixed precision, too")
    parser.add_argument("--compile", action="store_true", help="torch.compile, too")
    parser.add_argument("--short", action="store_true")
    for hidden in ("worker", "how", "padding", "precision", "part", "examples"):
        parser.add_argument(f"--{hidden}", help=argparse.SUPPRESS,
                            **({"action": "store_true"} if hidden == "worker" else {}))
    a = parser.parse_args()
    a.layers = a.layers or LAYERS[a.type]
    if a.short:
        a.layers, a.batch, a.steps, a.rounds = 1, 4, 3, 1
    return a


def main():
    a = arguments()
    if a.worker:
        return torch_worker(a)
    a.precisions = ["float32", "bf16"] if a.bf16 else ["float32"]
    describe()
    with tempfile.TemporaryDirectory() as folder:
        for a.part in a.parts or ["full", "mrpc", "squad", "start"]:
            if a.part == "start":
                show_start(a)
                continue
            if a.part not in LENGTHS:
                sys.exit(f"no part '{a.part}': {', '.join([*LENGTHS, 'start'])}")
            a.examples = os.path.join(folder, a.part)
            write_examples(a.examples, a.part, a.steps * a.batch)
            show(a, interleaved(a))


main()
