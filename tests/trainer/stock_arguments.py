"""Every field of TrainingArguments, and every argument of run_glue, run_qa, run_classification and run_ner, is done,
accepted with a line, or refused with the reason. Prints how many of each.
Usage: stock_arguments.py DTTRAIN DTTRAIN.1"""

import collections
import concurrent.futures
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import typing
from unittest import mock

import torch
import transformers
from transformers import TrainingArguments
from transformers.trainer_pt_utils import AcceleratorConfig

VERSION = "5.24"  # the version of the fields in man/dttrain.1

# The scripts' dataclasses, which are not in the package. True or False: a flag's default.
MODEL = {"model_name_or_path": None, "config_name": None, "tokenizer_name": None, "cache_dir": None,
         "model_revision": "main", "token": None, "trust_remote_code": False}
DATA = {"dataset_name": None, "dataset_config_name": None, "max_seq_length": 128, "overwrite_cache": False,
        "pad_to_max_length": True, "max_train_samples": None, "max_eval_samples": None,
        "max_predict_samples": None, "train_file": None, "validation_file": None, "test_file": None}
SCRIPTS = {
    "run_glue.py": {**MODEL, **DATA, "task_name": None, "use_fast_tokenizer": True,
                    "ignore_mismatched_sizes": False, "use_auth_token": False},
    "run_qa.py": {**MODEL, **DATA, "preprocessing_num_workers": None, "version_2_with_negative": False,
                  "null_score_diff_threshold": 0.0, "doc_stride": 128, "n_best_size": 20,
                  "max_answer_length": 30, "use_auth_token": False},
    "run_ner.py": {**MODEL, **DATA, "task_name": None, "ignore_mismatched_sizes": False,
                   "preprocessing_num_workers": None, "text_column_name": None, "label_column_name": None,
                   "label_all_tokens": False, "return_entity_level_metrics": False},
    "run_classification.py": {
        **MODEL, **DATA, "use_fast_tokenizer": True, "ignore_mismatched_sizes": False,
        "preprocessing_num_workers": None, "do_regression": False, "text_column_names": None,
        "text_column_delimiter": " ", "label_column_name": None, "train_split_name": None,
        "validation_split_name": None, "test_split_name": None, "remove_splits": None, "remove_columns": None,
        "shuffle_train_dataset": False, "shuffle_seed": 42, "metric_name": None},
}

# Values with an effect, for options that are not flags and do not accept "3".
VALUES = {
    "lr_scheduler_type": "cosine", "lr_scheduler_kwargs": '{"num_cycles": 1}', "optim": "adamw_torch",
    "optim_args": "momentum=0.5", "logging_strategy": "epoch", "eval_strategy": "steps", "save_strategy": "epoch",
    "report_to": "tensorboard", "metric_for_best_model": "accuracy", "task_name": "mrpc", "adam_beta1": "0.5",
    "adam_beta2": "0.5", "label_smoothing_factor": "0.5", "include_num_input_tokens_seen": "all",
    "hub_strategy": "end", "train_sampling_strategy": "sequential", "resume_from_checkpoint": "false",
}
# Further options that an option needs.
BESIDE = {
    "do_train": ["--do_eval"],
    "lr_scheduler_kwargs": ["--lr_scheduler_type", "cosine"], "optim_args": ["--optim", "sgd"],
    "load_best_model_at_end": ["--eval_strategy", "steps"], "bf16_full_eval": ["--do_eval"],
    "greater_is_better": ["--metric_for_best_model", "f1", "--eval_strategy", "steps"],
    "metric_for_best_model": ["--eval_strategy", "steps"],
    **dict.fromkeys(("doc_stride", "max_answer_length", "n_best_size", "null_score_diff_threshold",
                     "version_2_with_negative"), ["--train_file", "t.json"]),
    "eval_delay": ["--eval_strategy", "steps"], "eval_on_start": ["--eval_strategy", "steps"],
}
# Harmless values of refused options: answered with a notice.
HARMLESS = {"train_sampling_strategy": ["random", "group_by_length"]}

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def is_flag(field):
    hints = typing.get_type_hints(TrainingArguments)
    kinds = set(typing.get_args(hints[field.name])) or {hints[field.name]}
    return kinds <= {bool, type(None)}


class Program:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        text = subprocess.run([program, "__options"], capture_output=True, text=True, check=True).stdout
        self.groups, self.reasons, name = {}, {}, None
        for line in text.splitlines():
            heading = re.fullmatch(r"(\S.*):", line)
            option = re.match(r"  (?:-\w, )?(--\w+)(.*)", line)
            if heading:
                group = heading[1]
            elif option:
                name = option[1][2:]
                self.groups[name] = group
                self.reasons[name] = option[2].split("  ")[-1].strip() if "  " in option[2] else ""
            elif name and line.startswith(" " * 32):
                self.reasons[name] = (self.reasons[name] + " " + line.strip()).strip()

    def run(self, *words, file=None):
        """The exit status and the output, without what it says of this command's own files. There is no model, so
        nothing is trained."""
        output = tempfile.mkdtemp(dir=self.folder)
        before = []
        if file is not None:
            before = [os.path.join(output, "args.json")]
            with open(before[0], "w") as out:
                json.dump(file, out)
        command = [self.program, *before, "--model_name_or_path", os.path.join(output, "none"), "--do_train",
                   "--train_file", "t.tsv", "--validation_file", "t.tsv", "--test_file", "t.tsv",
                   "--overwrite_output_dir", "--output_dir", output, *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=output)
        lines = (done.stdout + done.stderr).splitlines(keepends=True)
        own = re.compile("--(validation|test)_file has no effect here: it needs --do_(eval|predict)$")
        return done.returncode, "".join(line for line in lines if not own.search(line.rstrip()))

    def class_of(self, name):
        group = self.groups.get(name)
        if group is None:
            return "unknown"
        return {"Accepted, without effect": "accepted with a line", "Refused": "refused"}.get(group, "done")


def forms_of(name, flag, default):
    """(words or a file's value, whether it is the harmless one)"""
    if flag:
        yield [f"--{name}"], False
        for value in ("true", "false"):
            yield [f"--{name}={value}"], value == "false"
            yield [f"--{name}", value.title()], value == "false"
            yield {name: value == "true"}, value == "false"
        if default is True:
            yield [f"--no_{name}"], True
            yield ["--no-" + name.replace("_", "-")], True
    else:
        value = VALUES.get(name, "3")
        yield [f"--{name}", value], False
        yield ["--" + name.replace("_", "-") + "=" + value], False
        yield {name: json.loads(value) if value[:1] in "{0123456789" else value}, False
        for value in HARMLESS.get(name, []):
            yield [f"--{name}", value], True


def reason_shown(reason):
    """What a message says of --help's reason: the option to use follows behind Try."""
    return re.sub(r"(: )?use --\S.*$", "", reason) or "it has another name here"


def check(program, name, flag, default):
    expected = program.class_of(name)
    if expected == "unknown":
        expect(False, f"--{name}: dttrain knows no such option")
        return expected
    for form, harmless in forms_of(name, flag, default):
        if isinstance(form, dict):
            status, said = program.run(*BESIDE.get(name, []), file=form)
        else:
            status, said = program.run(*BESIDE.get(name, []), *form)
        line = f"--{name}" in said and "has no effect here: " in said
        at_usual = isinstance(form, dict) and f"with these values: {name}\n" in said
        refused = status in (64, 65) and reason_shown(program.reasons[name]) in said and not line and not at_usual
        if expected == "accepted with a line":
            expect((line or at_usual) and status != 64, f"{form}: no line: {status} {said}")
        elif expected == "refused" and harmless:
            expect((line or at_usual) and status != 64, f"{form}: no line for the harmless value: {status} {said}")
        elif expected == "refused":
            as_typed = (f"--{name}", "--" + name.replace("_", "-"), f": {name}", f'"{name}"')
            expect(refused and any(word in said for word in as_typed), f"{form}: not refused: {status} {said}")
        else:
            expect(status != 64, f"{form}: refused: {said}")
    return expected


def page_lists(path):
    """Option -> (heading, text) of an mdoc page's lists, with the words of macros as they are shown.
    Options share a text when they share a line or when their lines follow each other."""
    found, heading, names, text = {}, "", [], ""
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith((".Ss ", ".Sh ")):
            heading, names = line[4:], []
        elif line.startswith(".It Fl -"):
            names = ([] if text else names) + re.findall(r" -(\w+)", line)
            text = ""
            found.update({name: (heading, "") for name in names})
        elif line.startswith(".It") or line.startswith(".El"):
            names = []
        elif names:
            shown = re.sub(r"^\.(?:Cm|Pa|Ql|Ar|Dv) ", "", re.sub(r"^\.Fl -", "--", line))
            shown = re.sub(r" ([,:.;])(?: |$)", r"\1 ", shown.replace(" Ns ", "")).replace(" Fl -", " --").strip()
            text = (text + " " + shown).strip()
            found.update({name: (heading, text) for name in names})
    return found


def check_page(program, path):
    listed = page_lists(path)
    plain = lambda text: re.sub(r"[\s.]+$", "", text).lower()
    for name, group in program.groups.items():
        if group in ("Accepted, without effect", "Refused"):
            shown = listed.get(name, ("nowhere", ""))
            expect(shown[0] == group, f"{path}: --{name} stands below '{shown[0]}', not '{group}'")
            expect(plain(shown[1]) == plain(program.reasons[name]),
                   f"{path}: --{name} has '{shown[1]}', --help '{program.reasons[name]}'")


def json_of_arguments():
    """TrainingArguments.to_json_string() as it comes out where the package accelerate is installed."""
    with mock.patch.object(TrainingArguments, "device", torch.device("cpu")):
        arguments = TrainingArguments(output_dir="out", learning_rate=3e-5, num_train_epochs=1, report_to="none",
                                      eval_strategy="steps", load_best_model_at_end=True,
                                      lr_scheduler_type="cosine", lr_scheduler_kwargs={"num_cycles": 1})
    arguments.accelerator_config = AcceleratorConfig().to_dict()
    return json.loads(arguments.to_json_string())


def check_whole_file(program):
    given = json_of_arguments()
    status, said = program.run(file=given)
    expect(status == 65 and "none" in said.splitlines()[-1], f"to_json_string() is not taken: {status} {said}")
    lines = [line for line in said.splitlines() if "no effect here" in line]
    expect(len(lines) == 1, "to_json_string() is answered with more than a line: " + "\n".join(lines))
    spoken = set(lines[0].split("with these values: ")[1].split(", ")) if lines else set()
    silent = [name for name, value in given.items()
              if program.class_of(name) != "done" and name not in spoken and value not in (None, [], "", {})]
    expect(not silent, f"of to_json_string() nothing is said of {silent}")
    given["fp16"], given["run_name"], given["report_to"] = True, "mine", ["wandb", "tensorboard"]
    status, said = program.run(file=given)
    expect(status == 64 and "fp16" in said and '"bf16": true' in said, f"fp16 in a file: {status} {said}")
    given["fp16"] = False
    status, said = program.run(file=given)
    expect("--run_name has no effect" in said and "--report_to wandb has no effect" in said, f"names: {said}")


def check_lists(program):
    for words in (["--report_to", "tensorboard", "wandb"], ["--report_to=wandb"], ["--report_to", "wandb", "--seed", "3"]):
        status, said = program.run(*words)
        expect(status == 65 and "--report_to wandb has no effect here" in said, f"{words}: {status} {said}")
    status, said = program.run("--report_to", "wandbb")
    expect(status == 64 and "wandbb" in said and "tensorboard" in said, f"a service that nobody knows: {status} {said}")
    status, said = program.run("--label_names", "labels", "start_positions", "--token", "hf_secret")
    expect(status == 65 and "--label_names has no effect" in said and "hf_secret" not in said, f"lists: {said}")
    status, said = program.run("--use_cpu=perhaps")
    expect(status == 64 and "neither true nor false" in said, f"perhaps: {status} {said}")
    status, said = program.run("--no_do_train")
    expect(status == 64 and "--no_do_train" in said, f"--no_do_train: {status} {said}")


def main():
    binary, page = os.path.abspath(sys.argv[1]), sys.argv[2]
    if not transformers.__version__.startswith(VERSION + "."):
        print(f"skipped: this is transformers {transformers.__version__}, the table is of {VERSION}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(binary, folder)
        tables = {f"TrainingArguments of transformers {transformers.__version__}":
                  [(f.name, is_flag(f), f.default) for f in dataclasses.fields(TrainingArguments)]}
        for script, arguments in SCRIPTS.items():
            tables[f"{script}'s own"] = [(n, isinstance(d, bool), d) for n, d in arguments.items()]
        known = {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for title, rows in tables.items():
                new = [row for row in rows if row[0] not in known]
                for row, answer in zip(new, pool.map(lambda row: check(program, *row), new)):
                    known[row[0]] = answer
                counts = collections.Counter(known[row[0]] for row in rows)
                print(f"{title}: {len(rows)}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
        old = [name for name in program.groups if name not in known and program.class_of(name) in
               ("accepted with a line", "refused")]
        for name in old:
            check(program, name, not program_value(binary, name), None)
        print(f"arguments of older versions: {len(old)}: " + ", ".join(
            f"{n} {what}" for what, n in sorted(collections.Counter(map(program.class_of, old)).items())))
        check_page(program, page)
        check_whole_file(program)
        check_lists(program)
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


def program_value(binary, name):
    """Whether the option takes a value, as the table of options has it."""
    text = subprocess.run([binary, "__options"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"^  --{name} [A-Z]", text, re.M) is not None


main()
