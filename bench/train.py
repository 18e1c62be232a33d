#!/usr/bin/env python3
"""Training steps of dttrain beside PyTorch: the same model, texts, batches and optimizer.

  cmake --build --preset release --target train_steps dttrain
  bench/train.py --python PYTHON [--python PYTHON...] [PARTS]   # parts: full mrpc squad sentences start
  bench/train.py --python PYTHON --short      # whether it works here; no figures
  bench/train.py --python PYTHON --task tokens --type distilbert sentences   # a label for each token
  bench/train.py --python PYTHON --task multi_label --type distilbert mrpc   # several for each text
  bench/train.py --python PYTHON --task masked full                          # masked tokens
  bench/train.py --python PYTHON --type modernbert --length 2048 --batch 2 full   # long texts

PYTHON has torch; the first has transformers, too. A round runs every contestant once, in an order
that changes from round to round, on the same cores and threads; the tables show the median of the
rounds. dttrain's steps are run by train_steps, PyTorch's by train_torch.py: forward, backward,
clipping and AdamW, dropout on, eager or compiled, its batches padded to their longest text or to the
longest allowed, as run_glue pads them. "start" is a whole run of dttrain on a folder of BERT-base and
2,000 texts, beside a script that does the same with transformers.

  tokens/s = tokens of all texts, padding not / median time of a step, the first ones left out
  share    = operations of the products / (forward + backward) / gemm peak: that of single products
             that stay in the caches, mean of measurements just before and after a step
  MiB      = peak resident memory
  times    = dttrain's tokens/s divided by those of the line
"""

import argparse
import itertools
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
TORCH = os.path.join(HERE, "train_torch.py")
LAYERS = {"bert": 12, "distilbert": 6, "roberta": 12, "xlm-roberta": 12, "camembert": 12, "electra": 12, "mpnet": 12,
          "deberta-v2": 12, "modernbert": 22}
# transformers' implementations of attention, where both are measured: "sdpa" is its default.
ATTENTION = {"modernbert": ["sdpa", "eager"]}
# Lengths of texts, including [CLS] and [SEP]: (mean, deviation, shortest, longest). Approximates
# MRPC's pairs, SQuAD's windows of 384 and CoNLL-2003's sentences by truncated normal distributions.
LENGTHS = {"full": (128, 0, 128, 128), "mrpc": (53, 14, 18, 128), "squad": (177, 65, 60, 384),
           "sentences": (22, 14, 4, 128)}


def write_examples(path, part, count):
    mean, deviation, shortest, longest = LENGTHS[part]
    source = random.Random(1)
    with open(path, "w") as out:
        for _ in range(count):
            length = min(longest, max(shortest, round(source.gauss(mean, deviation))))
            ids = [source.randrange(1000, VOCABULARY) for _ in range(length - 2)]
            out.write(" ".join(map(str, [source.randrange(CLASSES), 101, *ids, 102])) + "\n")


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
                        str(VOCABULARY), str(a.batch), str(a.steps), str(a.threads), precision, a.task, str(a.hidden)])


def run_torch(a, python, how, width, precision, attention):
    command = [python, TORCH, "train", "--how", how, "--width", str(width), "--precision",
               precision, "--examples", a.examples, "--type", a.type, "--labels", a.task, "--vocabulary",
               str(VOCABULARY), "--hidden", str(a.hidden), "--attention", attention]
    for key in ("layers", "batch", "steps", "threads"):
        command += [f"--{key}", str(getattr(a, key))]
    return run_json(a, command)


def torch_name(python):
    """Its version, and which encoder train_torch.py gets from it."""
    code = ("import importlib.util as u, torch; print(torch.__version__, "
            "'transformers' if u.find_spec('transformers') else 'TransformerEncoder')")
    return subprocess.run([python, "-c", code], check=True, capture_output=True,
                          text=True).stdout.split()


def contestants(a):
    """Names and what runs them; ours first."""
    result = {}
    for precision in a.precisions:
        result[f"dttrain {precision}"] = lambda p=precision: run_ours(a, p)
    widths = {"": 0} if a.part == "full" else {
        ", padded to longest": 0, f", padded to {LENGTHS[a.part][3]}": LENGTHS[a.part][3]}
    for python in a.python:
        version, encoder = torch_name(python)
        for precision in a.precisions:
            hows = ["eager"]
            # torch.compile would compile every new width again.
            if a.compile and a.part == "full" and encoder == "transformers":
                hows.append("compiled")
            for how, attention in itertools.product(hows, ATTENTION.get(a.type, [""])):
                for padding, width in widths.items():
                    name = " ".join(filter(None, ["torch", version, encoder, how, attention, precision])) + padding
                    result[name] = (lambda y=python, h=how, w=width, p=precision, t=attention:
                                    run_torch(a, y, h, w, p, t))
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
    return statistics.median(s["flops"] / (s["forward"] + s["backward"]) / s["peak"]
                             for s in steps)


def peak(result):
    return statistics.median(s["peak"] for s in result["steps"][WARM_UP:])


def show(a, results):
    print(f"\n{a.part}: labels of {a.task}, {a.type}, {a.layers} layers, {a.batch} texts of {LENGTHS[a.part][0]} tokens on "
          f"average, {a.threads} threads; {a.rounds} rounds of {a.steps} steps")
    print(f"{'tokens/s':>10} {'times':>7} {'share':>6} {'peak GF/s':>9} {'MiB':>7}")
    for name, runs in results.items():
        ours = results["dttrain " + ("bf16" if "bf16" in name else "float32")]
        times = statistics.median(rate(o) / rate(t) for o, t in zip(ours, runs))
        own = ([f"{statistics.median(map(share, runs)):6.2f}",
                f"{statistics.median(map(peak, runs)) / 1e9:9.0f}"]
               if "peak" in runs[0]["steps"][0] else [" " * 6, " " * 9])
        print(f"{statistics.median(map(rate, runs)):10.0f} {times:7.2f} {own[0]} {own[1]} "
              f"{max(r['kib'] for r in runs) / 1024:7.0f}  {name}")
    sys.stdout.flush()


def make_start(a, folder):
    """A model folder with a vocabulary of words, and 2,000 texts of MRPC's lengths."""
    model, texts = os.path.join(folder, "model"), os.path.join(folder, "texts.tsv")
    subprocess.run([a.python[0], TORCH, "folder", "--model", model], check=True,
                   capture_output=True)
    words = [f"w{i:x}".replace("0", "o") for i in range(VOCABULARY - 5)]
    with open(os.path.join(model, "vocab.txt"), "w", encoding="ascii") as out:
        out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
    source = random.Random(1)
    mean, deviation, shortest, longest = LENGTHS["mrpc"]
    with open(texts, "w", encoding="ascii") as out:
        out.write("sentence\tlabel\n")
        for i in range(2000):
            length = min(longest, max(shortest, round(source.gauss(mean, deviation)))) - 2
            out.write(" ".join(source.choice(words) for _ in range(length)) + f"\tclass{i % 2}\n")
    return model, texts


def seconds_until(command, a, begins, ends):
    """Seconds from the start of `command` to its first lines with these words."""
    start = time.perf_counter()
    seen = {}
    with subprocess.Popen(limited(a, command), env=environment(a), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            for word in (begins, ends):
                if word in line:
                    seen.setdefault(word, time.perf_counter() - start)
    if process.returncode or len(seen) < 2:
        sys.exit(f"{command[0]} failed:\n{''.join(lines)[-2000:]}")
    return seen[begins], seen[ends]


def show_start(a, folder):
    model, texts = make_start(a, folder)
    ours = [os.path.join(a.build, "dttrain"), "--model_name_or_path", model, "--do_train",
            "--train_file", texts, "--max_seq_length", "128", "--per_device_train_batch_size",
            str(a.batch), "--max_steps", "2", "--logging_steps", "1", "--save_strategy", "no",
            "--overwrite_output_dir", "--output_dir", os.path.join(folder, "out")]
    theirs = [a.python[0], TORCH, "start", "--model", model, "--examples", texts, "--batch",
              str(a.batch), "--threads", str(a.threads)]
    runs = {"dttrain": lambda: seconds_until(ours, a, "Running training", "step 1/2"),
            "torch and transformers": lambda: seconds_until(theirs, a, "begins", "ends")}
    times = {name: [] for name in runs}
    for number in range(a.rounds):
        for name in sorted(runs, reverse=number % 2 == 1):
            times[name].append(runs[name]())
    print(f"\nstart: BERT-base, 2,000 texts, {a.batch} in the first step, {a.threads} threads; "
          f"seconds from start to the first step, median of {a.rounds} rounds")
    print(f"{'begins':>10} {'ends':>8} {'ratios':>15}")
    for name, values in times.items():
        columns = [statistics.median(column) for column in zip(*values)]
        ratios = [statistics.median(o[i] / t[i] for o, t in zip(times["dttrain"], values))
                  for i in (0, 1)]
        print(f"{columns[0]:10.3f} {columns[1]:8.3f} {ratios[0]:7.2f} {ratios[1]:7.2f}  {name}")


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
    parser.add_argument("--python", action="append", help="may be repeated")
    parser.add_argument("--build", default=os.path.join(HERE, "../build/release/bin"))
    parser.add_argument("--type", choices=LAYERS, default="bert")
    parser.add_argument("--task", choices=["texts", "tokens", "multi_label", "masked"], default="texts",
                        help="what has a label; masked: a masked language model")
    parser.add_argument("--layers", type=int, default=0, help="fewer flatter dttrain")
    parser.add_argument("--hidden", type=int, default=768, help="width of modernbert; 64 in each head")
    parser.add_argument("--length", type=int, default=0, help="tokens of all texts of part full (128)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bf16", action="store_true", help="mixed precision, too")
    parser.add_argument("--compile", action="store_true", help="torch.compile, too")
    parser.add_argument("--short", action="store_true")
    a = parser.parse_args()
    a.python = a.python or [sys.executable]
    a.layers = a.layers or LAYERS[a.type]
    if a.hidden != 768 and a.type != "modernbert":
        parser.error("--hidden is for --type modernbert")
    if a.length:
        LENGTHS["full"] = (a.length, 0, a.length, a.length)
    if a.short:
        a.layers, a.batch, a.steps, a.rounds = 1, 4, 3, 1
    return a


def main():
    a = arguments()
    a.precisions = ["float32", "bf16"] if a.bf16 else ["float32"]
    describe()
    with tempfile.TemporaryDirectory() as folder:
        for a.part in a.parts or ["full", "mrpc", "squad", "start"]:
            if a.part == "start":
                show_start(a, folder)
                continue
            if a.part not in LENGTHS:
                sys.exit(f"no part '{a.part}': {', '.join([*LENGTHS, 'start'])}")
            a.examples = os.path.join(folder, a.part)
            write_examples(a.examples, a.part, a.steps * a.batch)
            show(a, interleaved(a))


if __name__ == "__main__":
    main()
