"""Ranks of dttrain as processes over libdtring: one process and four give the same loss curve, only
rank 0 needs the files, and rank 0's failure ends all with one message. Usage: processes_test.py
DTTRAIN"""

import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from small_job import check, environments_of, write_texts

PROGRAM = os.path.abspath(sys.argv[1])
DEADLINE = 100  # seconds per job


def run(world, folders, *arguments):
    """Rank r runs in folders[r]. Returns (exit status, stdout, stderr) of every rank."""
    environments = environments_of(world, folders[0])
    ranks = [subprocess.Popen([PROGRAM, *arguments], cwd=folders[rank], env=environments[rank], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
             for rank in range(world)]
    end = time.monotonic() + DEADLINE
    results = []
    try:
        for rank in ranks:
            out, err = rank.communicate(timeout=max(0.1, end - time.monotonic()))
            results.append((rank.returncode, out, err))
    finally:
        for rank in ranks:
            if rank.poll() is None:
                rank.kill()
    return results


def losses(folder):
    with open(os.path.join(folder, "trainer_state.json")) as file:
        return [e["loss"] for e in json.load(file)["log_history"] if "loss" in e]


def resume_with_each_optimizer(folders, job):
    """The state of each optimizer is saved, broadcast and resumed, to the bit."""
    for options in (["sgd"], ["sgd", "--optim_args", "momentum=0.9"], ["adafactor", "--freeze_layers", "1"],
                    ["lion"]):
        name = options[0] + str(len(options))
        steps = [*job[:-1], "--max_steps", "8", "--save_steps", "4"]
        train = [*steps, "--optim", *options, "--output_dir"]
        whole = run(2, folders, *train, name)
        check([rank[0] for rank in whole] == [0] * 2, f"two processes train with {' '.join(options)}", whole)
        rest = run(2, folders, *train, name + "-rest", "--resume_from_checkpoint", f"{name}/checkpoint-4")
        check([rank[0] for rank in rest] == [0] * 2, "and go on from the middle", rest)
        for file in ("model.safetensors", "optimizer.safetensors"):
            ends = [open(os.path.join(folders[0], run_name, "checkpoint-8", file), "rb").read()
                    for run_name in (name, name + "-rest")]
            check(ends[0] == ends[1], f"with the same bits in {file}")
        other = run(2, folders, *steps, "--output_dir", name + "-other", "--resume_from_checkpoint",
                    f"{name}/checkpoint-4")
        check([rank[0] for rank in other] == [65, 68] and f"optim was {options[0]} and is adamw_torch" in other[0][2],
              "and with no other optimizer", other)


def check_other_families(folders, job):
    """One process and two of each."""
    for kind in ("modernbert", "mpnet"):
        [made] = run(1, folders, "init", "--train_file", "train.tsv", "--output_dir", kind, "--model_type", kind,
                     "--vocab_size", "80", "--hidden_size", "16", "--num_hidden_layers", "2",
                     "--num_attention_heads", "2", "--intermediate_size", "24", "--max_seq_length", "32")
        check(made[0] == 0, f"init makes a {kind}", made)
        train = [*job[:-1], "--model_name_or_path", kind, "--max_steps", "10", "--output_dir"]
        for world in (1, 2):
            ranks = run(world, folders, *train, f"{kind}-{world}")
            check([rank[0] for rank in ranks] == [0] * world, f"{world} processes train it", ranks)
        curves = [losses(os.path.join(folders[0], f"{kind}-{world}")) for world in (1, 2)]
        gap = max(abs(a - b) for a, b in zip(*curves))
        check(len(curves[0]) == 10 and gap < 1e-5, f"with the same losses (largest difference {gap:.1e})")


def check_after_its_end(folders, job):
    state = os.path.join(folders[0], "four", "trainer_state.json")
    with open(state) as file:
        before = file.read()
    again = run(2, folders, *job)
    check([rank[0] for rank in again] == [0] * 2 and
          "nothing is left to train" in again[0][1] and "eval_accuracy" in again[0][1] and
          again[1][1] == "", "after its end the same command only evaluates, on all ranks", again)
    with open(state) as file:
        check(file.read() == before, "and leaves the records as they are")

    with open(os.path.join(folders[0], "four", "dttrain.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        locked = run(2, folders, *job)
    check([rank[0] for rank in locked] == [73, 68] and "another run writes there" in locked[0][2]
          and locked[1][2] == "", "where another run writes, rank 0 ends with 73 and the other because of it", locked)

    again = run(2, folders, *job, "--resume_from_checkpoint", "--bf16=emulate")
    check([rank[0] for rank in again] == [65, 68] and
          "the precision (--bf16) was fp32 and is bf16=emulate" in again[0][2],
          "a run goes on with the precision that it began with", again)


def main():
    with tempfile.TemporaryDirectory() as top:
        folders = [os.path.join(top, f"rank{rank}") for rank in range(4)]
        for folder in folders:
            os.mkdir(folder)
        write_texts(os.path.join(folders[0], "train.tsv"), 300, 1)
        write_texts(os.path.join(folders[0], "eval.tsv"), 50, 2)
        [made] = run(1, folders, "init", "--train_file", "train.tsv", "--output_dir", "start",
                     "--vocab_size", "80", "--hidden_size", "32", "--num_hidden_layers", "2",
                     "--num_attention_heads", "2", "--intermediate_size", "64",
                     "--max_seq_length", "32")
        check(made[0] == 0, "init makes a model", made)

        job = ["--model_name_or_path", "start", "--do-train", "True", "--train_file", "train.tsv",
               "--do_eval", "--validation_file=eval.tsv", "--global_batch_size", "16",
               "--max_steps", "100", "--learning_rate", "1e-3", "--logging_steps", "1",
               "--max_seq_length", "32", "--output_dir"]
        [one] = run(1, folders, *job, "one")
        check(one[0] == 0, "one process trains", one)
        four = run(4, folders, *job, "four")
        check([rank[0] for rank in four] == [0] * 4, "four processes train", four)
        curves = [losses(os.path.join(folders[0], name)) for name in ("one", "four")]
        check(len(curves[0]) == len(curves[1]) == 100, "both log 100 losses")
        gap = max(abs(a - b) for a, b in zip(*curves))
        check(gap < 1e-4, f"the loss curves agree (largest difference {gap:.1e})")
        check(curves[0][-1] < curves[0][0], "the loss falls", curves[0])
        check("on all 4 ranks" in four[0][1], "rank 0 says that all parameters are equal", four[0])
        check("accuracy" in four[0][1], "rank 0 says the accuracy", four[0])
        check(all(out == "" for _, out, _ in four[1:]), "the others are silent", four)
        check(all(os.listdir(folder) == [] for folder in folders[1:]),
              "only rank 0's folder is touched")

        again = run(2, folders, *job, "four", "--resume_from_checkpoint", "false")
        check([rank[0] for rank in again] == [73, 68] and "--overwrite_output_dir" in again[0][2],
              "a folder with results is not written over", again)
        check(again[1][2] == "", "only rank 0 complains", again)

        resume_with_each_optimizer(folders, job)
        check_other_families(folders, job)
        check_after_its_end(folders, [*job, "four"])

        missing = [word if word != "train.tsv" else "absent.tsv" for word in job]
        lost = run(3, folders, *missing, "lost")
        check([rank[0] for rank in lost] == [65, 68, 68],
              "a missing file ends rank 0 with 65, the others because of it", lost)
        check("absent.tsv" in lost[0][2] and lost[1][2] == lost[2][2] == "",
              "rank 0 names the file, the others stay silent", lost)

        torn = run(2, folders, *job, "torn", "--eval_strategy", "steps", "--eval_steps", "1",
                   "--learning_rate", "1e30", "--max_grad_norm", "0")
        check([rank[0] for rank in torn] == [65, 68] and
              "training step 2: the loss is nan." in torn[0][2] and
              "Try: --max_grad_norm 1 --learning_rate 1e+29" in torn[0][2] and torn[1][2] == "",
              "a loss that is not a number ends training, with the step and what to try", torn)
        check("eval_loss nan " in torn[0][1] and "-nan" not in torn[0][1] + torn[0][2],
              "what is not a number has no sign", torn)

        typo = run(2, folders, "--do_tran")
        check([rank[0] for rank in typo] == [64, 68] and re.search("Try: --do_train", typo[0][2])
              and typo[1][2] == "", "a misspelt option is answered once, with the nearest", typo)


main()
