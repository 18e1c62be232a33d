"""The same command again: after a run that has ended, and after one that was cut short, no record is
lost and every figure is that of what it names. Usage: again_test.py DTTRAIN"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from small_job import check, environment
from small_runs import DEADLINE, command, contents, make_start, run, succeeds, train


def rows(folder):
    return [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]


def read(path):
    return json.loads(Path(path).read_text())


def after_the_end():
    succeeds("a run ends", train("ended", "--report_to", "tensorboard"))
    before = contents("ended")
    again = succeeds("the same command again", train("ended", "--report_to", "tensorboard"))
    check("nothing is left to train: the model has come to step 15 of 15" in again.stdout,
          "it says that nothing is left", again.stdout)
    after = contents("ended")
    check(after == before, "nothing is changed",
          [name for name in after if after[name] != before.get(name)])

    again = succeeds("and from its last checkpoint", train("ended", "--resume_from_checkpoint",
                                                           "ended/checkpoint-15/"))
    check("nothing is left to train" in again.stdout and contents("ended") == before,
          "nothing is changed either", again.stdout)

    asked = ["--do_eval", "--do_predict", "--test_file", "eval.tsv", "--report_to", "tensorboard"]
    succeeds("the same command with an evaluation and a prediction", train("ended", *asked))
    after = contents("ended")
    changed = {name for name in after if after[name] != before.get(name)}
    events = {name for name in changed if name.startswith("runs/")}
    check(changed - events == {"all_results.json", "eval_results.json", "metrics.jsonl",
                               "predict_results.json", "predict_results.txt",
                               "predictions.jsonl"} and len(events) == 1,
          "writes their files alone", changed)
    check(after["metrics.jsonl"].startswith(before["metrics.jsonl"]), "and adds to the log")
    last = rows("ended")[-1]
    check("eval_loss" in last and last["step"] == 15 and last["epoch"] == 1,
          "at the step that the model is at", last)
    check(read("ended/all_results.json").items() >= read("ended/train_results.json").items(),
          "beside the training's figures")

    before = contents("ended")
    succeeds("its model is evaluated in its place", run(
        "--model_name_or_path", "ended", "--do_eval", "--validation_file", "eval.tsv",
        "--output_dir", "ended/"))
    after = contents("ended")
    changed = {name for name in after if after[name] != before.get(name)}
    check(changed <= {"all_results.json", "eval_results.json", "metrics.jsonl"}, "beside its records",
          changed)
    check(rows("ended")[-1]["step"] == 15 and rows("ended")[-1]["epoch"] == 1, "at its step",
          rows("ended")[-1])


def init_keeps_what_is_there():
    before = contents("ended")
    again = ["init", "--train_file", "train.tsv", "--vocab_size", "80", "--hidden_size", "16",
             "--num_attention_heads", "2", "--intermediate_size", "32", "--max_seq_length", "32"]
    refused = run(*again, "--output_dir", "ended")
    check(refused.returncode == 73 and
          "ended: cannot write the output: the folder holds files already; --overwrite_output_dir would overwrite them. Try: --output_dir"
          in refused.stderr, "init refuses the folder of a trained model", refused)
    check(contents("ended") == before, "and leaves it alone")
    shutil.copytree("ended", "replaced")
    succeeds("unless it is told to", run(*again, "--output_dir", "replaced", "--overwrite_output_dir"))
    succeeds("or given the folder that it suggests", run(*again, *advice(refused)))
    check(os.path.exists("ended-2/model.safetensors"), "which is a new one")
    check(contents("replaced")["model.safetensors"] == contents("start")["model.safetensors"],
          "and then writes a new model")
    os.mkdir("empty")
    succeeds("an empty folder is no obstacle", run(*again, "--output_dir", "empty"))


def after_an_early_stop():
    """The run stops at step 4, which has no checkpoint; the best model is that of step 2."""
    options = ["--eval_strategy", "steps", "--eval_steps", "2", "--early_stopping_patience", "1",
               "--early_stopping_threshold", "100", "--save_steps", "3"]
    succeeds("a run stops early", train("early", *options))
    check(read("early/trainer_state.json")["global_step"] == 4, "at step 4")
    before = contents("early")
    again = succeeds("the same command again", train("early", *options))
    check("--early_stopping_patience ran out at step 4 of 15" in again.stdout,
          "it says that nothing is left", again.stdout)
    check(rows("early")[-1]["step"] == 4, "and evaluates at step 4", rows("early"))
    after = contents("early")
    check(all(after[name] == before[name] for name in
              ("trainer_state.json", "train_results.json", "report.html", "model.safetensors")),
          "the records stay")


def before_the_records():
    """A run that was killed after its last checkpoint: the records are written now."""
    folder = Path("late")
    succeeds("a run ends", train("late"))
    whole = contents("late")
    for name in ("trainer_state.json", "train_results.json", "all_results.json", "report.html",
                 "model.safetensors"):
        (folder / name).unlink()
    (folder / "unfinished").write_text("")
    succeeds("the same command again", train("late", "--do_eval"))
    state = read("late/trainer_state.json")
    check(state["global_step"] == 15 and state["epoch"] == 1, "trainer_state.json is written", state)
    check(contents("late")["model.safetensors"] == whole["model.safetensors"], "and the model")
    check([row["step"] for row in rows("late")] == [5, 10, 15, 15, 15], "the log is whole", rows("late"))
    check(not (folder / "unfinished").exists(), "and the run has ended")
    totals = read("late/train_results.json")
    check(totals["total_train_steps_per_second"] > 0 and "train_loss" not in totals,
          "train_results.json has the figures of all steps, and none of no steps", totals)
    report = (folder / "report.html").read_text()
    check("15 steps, 1 pass over 120 examples" in report, "the report has the run's steps")


def at_the_same_time():
    options = ["--max_steps", "1000000", "--logging_steps", "1", "--save_strategy", "no"]
    first = subprocess.Popen(command("busy", *options), env=environment(), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        check(any(line.startswith("step ") for line in first.stdout), "a run trains")
        before = {name: (Path("busy") / name).stat().st_ino for name in os.listdir("busy")}
        holder = f"busy: cannot write the output: another run writes there: pid {first.pid} on "
        for what, more in (("the same command", options), ("another", ["--overwrite_output_dir"]),
                           ("an evaluation", ["--do_train=false", "--do_eval"])):
            second = train("busy", *more)
            check(second.returncode == 73 and holder in second.stderr and " since 20" in second.stderr,
                  f"{what} is refused with the pid and host of the first, and since when", second)
        second = run("init", "--train_file", "train.tsv", "--output_dir", "busy")
        check(second.returncode == 73 and holder in second.stderr, "so is a new model", second)
        second = run("--demo", "--output_dir", "busy", "--overwrite_output_dir")
        check(second.returncode == 73 and holder in second.stderr, "and the demonstration", second)
        check(before == {name: (Path("busy") / name).stat().st_ino for name in os.listdir("busy")},
              "none of them has written anything")
        check(first.poll() is None, "the first goes on")
    finally:
        first.kill()
        first.wait()
    succeeds("after kill -9 the folder is free", train("busy"))
    check("dttrain.lock" not in os.listdir("busy"), "and nothing of the lock is left")


def without_locks():
    """On a file system that has none."""
    Path("none.c").write_text("#include <errno.h>\nint flock(int fd, int how) "
                              "{ return (void)fd, (void)how, errno = ENOLCK, -1; }\n")
    if shutil.which("cc") is None:
        return print("skipped: no C compiler to take the locks away")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "none.so", "none.c"], check=True)
    done = subprocess.run(command("lockless"), text=True, capture_output=True, timeout=DEADLINE,
                          env={**environment(), "LD_PRELOAD": os.path.abspath("none.so")})
    succeeds("without locks a run goes on", done)
    check("lockless/dttrain.lock: cannot lock: No locks available" in done.stderr,
          "and says that it has none", done.stderr)
    check("dttrain.lock" not in os.listdir("lockless"), "and leaves no file")


def flip_a_bit(path):
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 4
    Path(path).write_bytes(data)


def advice(done):
    return done.stderr.split(" Try: ")[1].split()


def damaged():
    succeeds("a run ends", train("torn"))
    parameters = contents("torn")["model.safetensors"]
    Path("torn/checkpoint-9999").mkdir()
    done = succeeds("with an empty checkpoint-9999 in its folder", train("torn"))
    check("torn/checkpoint-9999: skipped: it is empty" in done.stderr and
          "nothing is left to train" in done.stdout, "the one before it is found", done)
    flip_a_bit("torn/checkpoint-15/optimizer.safetensors")
    for name, reason in (("torn/checkpoint-15", "it is damaged: optimizer.safetensors: its checksum is"),
                         ("torn/checkpoint-9999", "it is empty"),
                         ("torn/checkpoint-12", "there is no such folder"),
                         ("torn", "it has no training_state.json")):
        refused = train("torn", "--resume_from_checkpoint", name)
        check(refused.returncode == 65 and f"{name}: cannot resume: {reason}" in refused.stderr,
              f"--resume_from_checkpoint {name} is refused", refused)
        check(advice(refused) == ["--resume_from_checkpoint", "torn/checkpoint-10"],
              "with the last sound one", refused.stderr)
        done = succeeds("which works", train(f"from-{os.path.basename(name)}", *advice(refused)))
        check(contents(f"from-{os.path.basename(name)}")["model.safetensors"] == parameters,
              "and gives the same model")
    (Path("torn") / "unfinished").write_text("")
    done = succeeds("the damaged one is not gone on from",
                    train("torn", "--save_total_limit", "2", "--save_steps", "3"))
    check("torn/checkpoint-15: damaged checkpoint: optimizer.safetensors" in done.stderr and
          "Continuing from torn/checkpoint-10," in done.stdout, "but the one before", done)
    check(contents("torn")["model.safetensors"] == parameters, "to the same model")
    kept = sorted(path.name for path in Path("torn").glob("checkpoint-*"))
    check(kept == ["checkpoint-12", "checkpoint-15", "checkpoint-15.damaged", "checkpoint-9999"],
          "of the checkpoints the two newest stay", kept)

    other = train("torn", "--learning_rate", "2e-3")
    check(other.returncode == 65 and "learning_rate was 0.001 and is 0.002" in other.stderr,
          "other arguments are refused", other)
    done = succeeds("their advice works", train("torn", "--learning_rate", "2e-3", *advice(other)))
    check("Continuing" not in done.stdout, "and begins anew", done.stdout)

    for step in (5, 10, 15):
        if (Path("torn") / f"checkpoint-{step}").exists():
            flip_a_bit(f"torn/checkpoint-{step}/model.safetensors")
    check(Path("torn/checkpoint-12.old").exists(), "with what the old run left out of its way")
    before = contents("torn")["trainer_state.json"]
    named = train("torn", "--resume_from_checkpoint", "torn/checkpoint-15")
    check(named.returncode == 65, "with no sound checkpoint one that is named is refused", named)
    done = train("torn", "--learning_rate", "2e-3")
    check(done.returncode == 73 and ": no earlier checkpoint" in done.stderr and
          "--overwrite_output_dir" in done.stderr, "a run that has ended is not written over", done)
    check(contents("torn")["trainer_state.json"] == before, "and keeps its records")
    succeeds("that advice works, too", train("torn", *advice(named)))


def longer():
    options = ["--warmup_ratio", "0.2"]
    succeeds("a run ends", train("long", *options))
    done = succeeds("and goes on for another pass", train("long", *options, "--num_train_epochs", "2"))
    check("The run is longer, 30 steps instead of 15: from step 16 on the learning rate is that of the "
          "linear schedule over 30 steps, 0.000625 instead of 0" in done.stdout,
          "the schedule's rule is said", done.stdout)
    log = rows("long")
    check([row["step"] for row in log] == [5, 10, 15, 15, 20, 25, 30, 30], "the log goes on", log)
    near = lambda row, rate: abs(row["learning_rate"] - rate) < 1e-12
    check(near(log[2], 1e-3 / 12) and near(log[4], 1e-3 * 11 / 24), "and the rate is as said", log)
    check(read("long/trainer_state.json")["max_steps"] == 30, "the state has all steps")
    done = succeeds("and on by --max_steps", train("long", *options, "--max_steps", "33"))
    check(read("long/trainer_state.json")["global_step"] == 33, "to its end")
    less = train("long", *options, "--max_steps", "20")
    check(less.returncode == 65 and "the number of steps was 33 and is 20" in less.stderr,
          "a shorter run is another", less)


def steps_of(folder):
    return sorted(int(path.name.split("-")[1]) for path in Path(folder).glob("checkpoint-*"))


def best_alone():
    options = ["--save_strategy", "best", "--eval_strategy", "steps", "--eval_steps", "2",
               "--eval_delay", "5", "--eval_on_start", "--do_eval"]
    succeeds("a run saves its best models", train("best", *options))
    log = [row for row in rows("best") if "eval_loss" in row]
    check([row["step"] for row in log] == [0, 6, 8, 10, 12, 14, 15, 15] and log[0]["epoch"] == 0,
          "it evaluates at the start, and then from step 5 on", log)
    better, least = [], float("inf")
    for row in log[1:-1]:
        if row["eval_loss"] < least:
            better, least = better + [row["step"]], row["eval_loss"]
    check(steps_of("best") == better, "its checkpoints are those that were the best so far", better)
    state = read("best/trainer_state.json")
    check(state["best_global_step"] == better[-1] and state["best_metric"] == least,
          "the state names the last of them", state)
    before = contents("best")
    again = succeeds("the same command again", train("best", *options))
    check("nothing is left to train" in again.stdout and
          contents("best")["trainer_state.json"] == before["trainer_state.json"],
          "has nothing left to train, though the last step was not saved", again.stdout)


def model_only():
    options = ["--save_only_model", "--save_total_limit", "2"]
    succeeds("a run saves models alone", train("slim", *options))
    check(steps_of("slim") == [10, 15], "of which the limit leaves two")
    check(not {"training_state.json", "optimizer.safetensors"} & set(os.listdir("slim/checkpoint-15")),
          "without what a run could go on from")
    succeeds("they can be evaluated", run("--model_name_or_path", "slim/checkpoint-15", "--do_eval",
                                          "--validation_file", "eval.tsv", "--output_dir", "slim-eval"))
    before = contents("slim")
    for more in ([], ["--resume_from_checkpoint", "slim/checkpoint-15"]):
        again = train("slim", *options, *more)
        check(again.returncode in (65, 73) and "it has the model alone (--save_only_model)" in again.stderr,
              "the same command again is refused", again)
        check(contents("slim") == before, "and changes nothing")

    process = subprocess.Popen(command("told", *options, "--max_steps", "1000000"), env=environment(),
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    check(any(line.startswith("step ") for line in process.stdout), "a run trains")
    process.terminate()
    process.communicate(timeout=DEADLINE)
    last = steps_of("told")[-1]
    check(process.returncode == 143 and Path(f"told/checkpoint-{last}/training_state.json").exists(),
          "one that is told to stop saves everything", process.returncode)


def other_order():
    succeeds("a run", train("order", "--logging_steps", "1"))
    succeeds("with another order", train("order-7", "--logging_steps", "1", "--data_seed", "7"))
    succeeds("with the seed's own", train("order-42", "--logging_steps", "1", "--data_seed", "42"))
    losses = {name: [row.get("loss") for row in rows(name)] for name in ("order", "order-7", "order-42")}
    check(losses["order"] == losses["order-42"] != losses["order-7"],
          "--data_seed alone changes the order", losses)


def in_two_runs():
    """The same 15 steps, the first 5 in a separate run: the expected figures."""
    succeeds("a run of all steps", train("whole"))
    whole = read("whole/train_results.json")
    check(not any(key.startswith("total_train") for key in whole), "has one kind of figures", whole)
    for folder in ("whole/checkpoint-10", "whole/checkpoint-15"):
        shutil.rmtree(folder)
    cost = read("whole/checkpoint-5/training_state.json")
    (Path("whole") / "unfinished").write_text("")
    done = succeeds("the same command goes on from step 5", train("whole"))
    check("from step 6 on and 0:0" in done.stdout and "in all" in done.stdout, "it says so",
          done.stdout)
    here = read("whole/train_results.json")

    def share(prefix, seconds, steps, examples, tokens):
        near = lambda key, amount: abs(here[prefix + key] * seconds - amount) < 0.02 * amount
        check(near("steps_per_second", steps) and near("samples_per_second", examples) and
              near("tokens_per_second", tokens), f"the rates {prefix}* are those of {steps} steps", here)

    tokens = read("whole/trainer_state.json")["num_input_tokens_seen"]
    before = read("whole/checkpoint-5/trainer_state.json")["num_input_tokens_seen"]
    share("train_", here["train_runtime"], 10, 80, tokens - before)
    share("total_train_", here["total_train_runtime"], 15, 120, tokens)
    check(abs(here["total_train_runtime"] - here["train_runtime"] - cost["seconds"]) < 1e-3,
          "the whole time is that of both runs", here, cost)
    check(abs(here["total_train_loss"] - whole["train_loss"]) < 1e-12,
          "the whole loss is that of an undisturbed run", here, whole)
    check(abs(10 * here["train_loss"] + cost["loss_sum"] - 15 * whole["train_loss"]) < 1e-9,
          "the run's loss is that of its steps", here, cost)
    report = (Path("whole") / "report.html").read_text()
    check("This run went on from step 5" in report, "the report says so")


def main():
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        make_start()
        after_the_end()
        init_keeps_what_is_there()
        after_an_early_stop()
        before_the_records()
        in_two_runs()
        at_the_same_time()
        without_locks()
        damaged()
        longer()
        best_alone()
        model_only()
        other_order()


main()
