#!/usr/bin/env python3
"""Runs Hugging Face's own scripts, unmodified, under dtlaunch: two ranks, with gloo, dtring and ccl. All three
have to come to the same losses and metrics.

    real_scripts.py FOLDER LIBDTRING DTLAUNCH RESULTS

FOLDER has the scripts somewhere below, as the repository of transformers has them in examples/pytorch; those
that are known here are run (KNOWN). RESULTS: a table for summary.py. Each script says which version of
transformers it wants at least: that one is installed into a venv of its own, beside the tests' other references,
or DTL_TRANSFORMERS (5.24). DTL_TEST_PYTHON: a Python that has torch and accelerate. Exit status 1 when a run
failed or there is no script.

The scripts ask the network for their metrics; here small ones of the same names stand in (METRICS).
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 2
BACKENDS = ("gloo", "dtring", "ccl")
LIMIT = 600  # seconds per run
SAME = 1e-6  # largest difference between losses and metrics of two backends
FORWARD = re.compile(r"(_runtime|_per_second|_samples|^epoch|total_flos|_count)$")  # these differ from run to run

COMMON = ["--model_name_or_path", "model", "--do_train", "--do_eval", "--use_cpu", "--num_train_epochs", "2",
          "--per_device_train_batch_size", "8", "--learning_rate", "2e-3", "--seed", "1", "--save_strategy", "no",
          "--report_to", "none", "--disable_tqdm", "true"]
FILES = ["--train_file", "{0}-train.{1}", "--validation_file", "{0}-dev.{1}"]


def files(name, ending):
    return [word.format(name, ending) for word in FILES]


KNOWN = {  # arguments; scripts without Trainer: accelerate chooses the backend
    "run_glue.py": COMMON + files("glue", "json") + ["--max_seq_length", "32"],
    "run_qa.py": COMMON + files("qa", "json") + ["--max_seq_length", "48", "--doc_stride", "16"],
    "run_ner.py": COMMON + files("ner", "json") + ["--max_seq_length", "32"],
    "run_mlm.py": COMMON + files("mlm", "txt") + ["--line_by_line", "--max_seq_length", "32"],
    "run_swag.py": COMMON + files("swag", "json") + ["--max_seq_length", "32"],
    "run_glue_no_trainer.py": ["--model_name_or_path", "model", *files("glue", "json"), "--max_length", "32",
                               "--num_train_epochs", "2", "--per_device_train_batch_size", "8", "--seed", "1",
                               "--learning_rate", "2e-3"],
}

METRICS = {
    "accuracy": ("""{"predictions": Value("int64"), "references": Value("int64")}""",
                 """return {"accuracy": share(a == b for a, b in zip(predictions, references))}"""),
    "squad": ("""{"predictions": {"id": Value("string"), "prediction_text": Value("string")},
            "references": {"id": Value("string"), "answers": Sequence({"text": Value("string"),
                                                                     "answer_start": Value("int32")})}}""",
              """right = {each["id"]: each["answers"]["text"] for each in references}
        return {"exact_match": 100 * share(p["prediction_text"] in right[p["id"]] for p in predictions)}"""),
    "seqeval": ("""{"predictions": Sequence(Value("string")), "references": Sequence(Value("string"))}""",
                """same = share(a == b for p, r in zip(predictions, references) for a, b in zip(p, r))
        return {"overall_" + name: same for name in ("precision", "recall", "f1", "accuracy")}"""),
}
METRIC = '''import evaluate
from datasets import Features, Sequence, Value


def share(answers):
    answers = list(answers)
    return sum(answers) / max(len(answers), 1)


class Metric(evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=Features(
            {features}))

    def _compute(self, predictions, references):
        {compute}
'''
MODEL = '''import sys, torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer
torch.manual_seed(1)
AutoTokenizer.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[1])
AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(sys.argv[1])).save_pretrained(sys.argv[1])
'''


# ---- inputs


def squad_rows(path):
    """The flat form that the script wants of a file of one's own."""
    for article in json.load(open(path))["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                answers = question["answers"]
                yield {"id": question["id"], "question": question["question"], "context": paragraph["context"],
                       "answers": {key: [a[key] for a in answers] for key in ("text", "answer_start")}}


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_inputs(python, work):
    subprocess.run([python, "-B", HERE / "make_texts.py", work], check=True)
    draw = random.Random(2)
    for part in ("train", "dev"):
        rows = [json.loads(line) for line in open(work / f"{part}.json")]
        write_rows(work / f"glue-{part}.json", rows)
        (work / f"qa-{part}.json").write_text(json.dumps({"data": list(squad_rows(work / f"squad-{part}.json"))}))
        (work / f"mlm-{part}.txt").write_text("".join(row["sentence"] + "\n" for row in rows))
        write_rows(work / f"ner-{part}.json", (
            {"tokens": (words := row["sentence"].split()),
             "ner_tags": ["B-MOOD" if word in ("good", "bad") else "O" for word in words]} for row in rows))
        write_rows(work / f"swag-{part}.json", (
            {"sent1": row["sentence"], "sent2": "the river is", "label": (right := draw.randrange(4)),
             **{f"ending{i}": "good" if i == right else "bad" for i in range(4)}} for row in rows))
    for name, (features, compute) in METRICS.items():
        (work / name).mkdir()
        (work / name / f"{name}.py").write_text(METRIC.format(features=features, compute=compute))
    subprocess.run([python, "-B", "-c", MODEL, work / "model"], check=True)


# ---- a Python for each version of transformers


def wanted_version(script):
    if os.environ.get("DTL_TRANSFORMERS"):
        return os.environ["DTL_TRANSFORMERS"]
    found = re.search(r'^check_min_version\("(\d+)\.(\d+)', script.read_text(), re.M)
    return f"{found[1]}.{found[2]}" if found else None


def site_of(python):
    said = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                          capture_output=True, text=True, check=True)
    return pathlib.Path(said.stdout.strip())


def python_with(version, reference):
    """It takes torch and accelerate from the reference, and dtring from this source tree."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    venv = cache / "dtlaunch-test" / f"real-{version}"
    python = venv / "bin" / "python"
    if not (venv / "complete").exists():
        print(f"installing transformers {version} and datasets in {venv}", flush=True)
        subprocess.run([reference, "-m", "venv", "--clear", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        f"transformers=={version}.*", "datasets", "evaluate", "scikit-learn"], check=True)
        (venv / "complete").touch()
    site = site_of(python)
    (site / "a-reference.pth").write_text(f"{site_of(reference)}\n{HERE.parent.parent / 'python'}\n")
    shutil.copy(HERE.parent.parent / "python" / "dtring-autoload.pth", site)
    return python


# ---- runs


class Failed(Exception):
    pass


class Scripts:
    def __init__(self, work, python, library, dtlaunch):
        self.work, self.python, self.library, self.dtlaunch = work, python, library, dtlaunch

    def run(self, script, backend):
        """What it has come to, losses and metrics by name."""
        output = self.work / f"{script.stem}.{backend}"
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(self.work / "huggingface"),
                       "PYTHONDONTWRITEBYTECODE": "1", "DTRING_LIBRARY": self.library, "DTRING_AUTOLOAD": "1"}
        words = [self.dtlaunch, "-np", str(RANKS), "--oversubscribe", self.python, script, *KNOWN[script.name],
                 "--output_dir", output]
        if backend in BACKENDS:
            words += ["--ddp_backend", backend]
        with open(f"{output}.said", "wb") as said:
            try:
                done = subprocess.run(words, cwd=self.work, env=environment, stdin=subprocess.DEVNULL, stdout=said,
                                      stderr=said, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                raise Failed(f"not over after {LIMIT} s") from None
        text = pathlib.Path(f"{output}.said").read_text(errors="replace")
        last = " / ".join(text.strip().splitlines()[-3:])
        if done.returncode != 0:
            raise Failed(f"status {done.returncode}: {last}")
        if "no connection to the others was seen" in text or (backend == "accelerate" and text.count("Num processes: 2") != RANKS):
            raise Failed("its ranks have not met")
        results = json.load(open(output / "all_results.json"))
        return {name: value for name, value in results.items()
                if isinstance(value, (int, float)) and not FORWARD.search(name)}

    def compare(self, script):
        """A row for each backend: what, seconds, verdict, why."""
        first, rows = None, []
        for backend in BACKENDS if "no_trainer" not in script.name else ("accelerate",):
            began = time.monotonic()
            try:
                found = self.run(script, backend)
                first = first or found
                if found.keys() != first.keys() or any(abs(found[k] - first[k]) > SAME for k in found):
                    raise Failed(f"{found}, and before {first}")
                verdict = ("passed", ", ".join(f"{name} {value:.6g}" for name, value in sorted(found.items())))
            except (Failed, OSError, ValueError) as failure:
                verdict = ("failed", str(failure).replace("\t", " ").replace("\n", " "))
            rows.append((f"{script.name} {backend}", f"{time.monotonic() - began:.0f}", *verdict))
            print("{0:32} {1:>4} s  {2}: {3}".format(*rows[-1]), flush=True)
        return rows


def main():
    folder, library, dtlaunch, results = sys.argv[1:]
    reference = os.environ["DTL_TEST_PYTHON"]
    scripts = sorted(path.resolve() for path in pathlib.Path(folder).rglob("run_*.py") if path.name in KNOWN)
    if not scripts:
        sys.exit(f"real_scripts: none of {', '.join(KNOWN)} is below {folder}")
    rows = []
    for version in sorted({wanted_version(script) for script in scripts if wanted_version(script)}):
        python = python_with(version, reference)
        with tempfile.TemporaryDirectory(prefix="dtl-real-scripts.") as name:
            work = pathlib.Path(name)
            make_inputs(python, work)
            print(f"transformers {version}", flush=True)
            runs = Scripts(work, python, os.path.abspath(library), os.path.abspath(dtlaunch))
            for script in scripts:
                if wanted_version(script) == version:
                    rows += runs.compare(script)
    pathlib.Path(results).write_text("".join("\t".join(row) + "\n" for row in rows))
    sys.exit(any(row[2] == "failed" for row in rows))


main()
