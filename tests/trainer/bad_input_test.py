"""dttrain refuses unusable input at once, by name and with a next step, never in a library's words:
pipes, folders and sockets as files, weights that are NaN or infinite, files that are not JSON.

bad_input_test.py DTTRAIN
"""
import json
import math
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TIME_LIMIT = 60  # seconds for a refused run; one that waits for a pipe never ends
TRAIN = "label\ttext\n" + "a\tgood and kind\nb\tbad and rude\n" * 8
SQUAD = {"data": [{"paragraphs": [{"context": "one two", "qas": [
    {"id": "1", "question": "which?", "answers": [{"text": "two", "answer_start": 4}]}]}]}]}
WORD = "bert.embeddings.word_embeddings.weight"


class Bench:
    def __init__(self, program, root):
        self.program, self.root, self.wrong, self.count = program, root, 0, 0
        (root / "t.tsv").write_text(TRAIN)
        (root / "t.json").write_text(json.dumps(SQUAD))
        self.run("init", "--train_file", root / "t.tsv", "--vocab_size", "60", "--hidden_size", "8",
                 "--intermediate_size", "8", "--num_hidden_layers", "1", "--output_dir",
                 root / "start")

    def run(self, *words, **environment):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True,
                              timeout=TIME_LIMIT, env={**os.environ, "OMP_NUM_THREADS": "1", **environment})
        return done.returncode, done.stdout + done.stderr

    def copy(self):
        folder = self.root / "model"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.root / "start", folder)
        return folder

    def evaluate(self, folder, *more):
        return self.run("--model_name_or_path", folder, "--do_eval", "--validation_file",
                        self.root / "t.tsv", "--output_dir", self.root / "out",
                        "--overwrite_output_dir", *more)

    def train(self, folder, *more, **environment):
        return self.run("--model_name_or_path", folder, "--do_train", "--train_file",
                        self.root / "t.tsv", "--output_dir", self.root / "out", "--max_steps", "1",
                        "--disable_tqdm", *more, **environment)

    def expect(self, what, answer, status, *words):
        self.count += 1
        code, text = answer
        missing = [word for word in words if word not in text]
        if code != status or missing or "json.exception" in text:
            self.wrong += 1
            print(f"{what}: status {code}, not in it: {missing}\n{text}")


def put_pipe(path):
    os.mkfifo(path)


def put_socket(path):
    # A short name: a socket's path may have 107 bytes.
    place = os.getcwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(place)


def put_folder(path):
    path.mkdir()


def put_device(path):
    path.symlink_to("/dev/zero")


def check_files(bench):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
                 "special_tokens_map.json", "added_tokens.json", "model.safetensors",
                 "model.safetensors.index.json", "pytorch_model.bin"):
        for put in (put_pipe, put_socket, put_folder, put_device):
            folder = bench.copy()
            for hides in {"vocab.txt": ["tokenizer.json"],
                          "model.safetensors.index.json": ["model.safetensors"],
                          "pytorch_model.bin": ["model.safetensors"]}.get(name, []):
                (folder / hides).unlink()
            (folder / name).unlink(missing_ok=True)
            put(folder / name)
            bench.expect(f"{put.__name__} {name}", bench.evaluate(folder), 65, name)
    for name in ("d.tsv", "d.csv", "d.json", "d.jsonl"):
        for put in (put_pipe, put_socket, put_folder, put_device):
            path = bench.root / name
            put(path)
            bench.expect(f"{put.__name__} {name}",
                         bench.evaluate(bench.root / "start", "--validation_file", path), 65, name)
            bench.expect(f"{put.__name__} {name}, questions",
                         bench.evaluate(bench.root / "start", "--task", "qa", "--validation_file",
                                        path), 65, name)
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for name in ("options.json", "options.toml"):
        put_pipe(bench.root / name)
        bench.expect(f"pipe {name}", bench.run(bench.root / name), 65, name)


def check_weights(bench):
    start = (bench.root / "start/model.safetensors").read_bytes()
    size = struct.unpack("<Q", start[:8])[0]
    header = json.loads(start[8:8 + size])
    begin = 8 + size + header[WORD]["data_offsets"][0]
    for value in (math.nan, math.inf, -math.inf):
        folder = bench.copy()
        bad = bytearray(start)
        bad[begin + 12:begin + 16] = struct.pack("<f", value)
        (folder / "model.safetensors").write_bytes(bad)
        words = (WORD, "1 of its ", "from place 3 on", "Try: ")
        bench.expect(f"{value} evaluated", bench.evaluate(folder), 65, *words)
        bench.expect(f"{value} predicted", bench.evaluate(
            folder, "--do_eval", "false", "--do_predict", "--test_file", bench.root / "t.tsv"),
            65, *words)
        bench.expect(f"{value} trained", bench.train(folder, "--overwrite_output_dir"), 65, *words)
    folder = bench.copy()
    header[WORD]["dtype"] = "I32"
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text
                                               + start[8 + size:])
    bench.expect("whole numbers", bench.evaluate(folder), 65, WORD, "whole, of type I32", "Try: ")
    huge = bytearray(start)  # finite, but all sums of them overflow
    for name, tensor in header.items():
        if name.endswith(("pooler.dense.bias", "classifier.weight")):
            first, last = (8 + size + at for at in tensor["data_offsets"])
            huge[first:last] = struct.pack("<f", 3e38) * ((last - first) // 4)
    folder = bench.copy()
    (folder / "model.safetensors").write_bytes(huge)
    bench.expect("too large weights", bench.evaluate(folder), 65, "too large", "Try: ")


def check_resume(bench):
    out = bench.root / "out"
    shutil.rmtree(out, ignore_errors=True)
    start = bench.root / "start"
    bench.expect("a checkpoint that is not there",
                 bench.train(start, "--resume_from_checkpoint", bench.root / "none"), 65,
                 "--resume_from_checkpoint", "there is no such folder", "Try: ")
    shutil.rmtree(out)
    bench.expect("a run", bench.train(start), 0)
    again = ("--max_steps", "2", "--lr_scheduler_type", "constant")
    bench.expect("and where there is another",
                 bench.train(start, "--resume_from_checkpoint", out / "checkpoint-9", *again), 65,
                 "there is no such folder", f"Try: --resume_from_checkpoint {out}/checkpoint-1")
    for name in ("trainer_state.json", "training_state.json"):
        for text, place in (("{\n \"a\": oops}", ":2:7"), ("", ":1:1"), ("[]", ":1:1"),
                            ("{\"step\": 1", ":1:11"), ("{\"step\": \"\\ud83d\"}", ":1:11")):
            folder = bench.root / "checkpoint-1"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(out / "checkpoint-1", folder)
            (folder / "checksums.txt").unlink()
            (folder / name).write_text(text)
            answer = bench.train(start, "--resume_from_checkpoint", folder)
            bench.expect(f"{name} {text!r}", answer, 65, f"{name}{place}: cannot resume", "Try: ")


def check_lengths(bench):
    folder = bench.copy()
    config = folder / "tokenizer_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "model_max_length": 8}))
    bench.expect("model_max_length", bench.evaluate(folder), 0,
                 "--max_seq_length 128 is more than the tokenizer's model_max_length: using 8")
    pairs = bench.root / "pairs.tsv"
    pairs.write_text("label\tsentence1\tsentence2\n" + "a\tgood\tkind\nb\tbad\trude\n" * 4)
    bench.expect("no room in a pair",
                 bench.train(folder, "--overwrite_output_dir", "--train_file", pairs, "--max_seq_length", "3"),
                 64, "--max_seq_length 3", "3 special tokens", "Try: --max_seq_length 128")


def check_models(bench):
    for change, words in (
            (dict(num_attention_heads=3), ["config.json:", "'num_attention_heads'", "not a multiple"]),
            (dict(pad_token_id=-1), ["'pad_token_id'", "Try: "]),
            (dict(model_type="albert"), ["'albert' is not one of bert, ", "Try: "]),
            (dict(vocab_size=20), ["the model's vocab_size is 20", "Try: python3 -c "]),
            (dict(intermediate_size=9), ["but a model as in config.json needs", "Try: "])):
        folder = bench.copy()
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        bench.expect(str(change), bench.evaluate(folder), 65, *words)
    folder = bench.copy()
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").unlink()
    bench.expect("no tokenizer", bench.evaluate(folder), 65, "neither tokenizer.json nor vocab.txt",
                 "Try: hf download NAME ", f"--local-dir {folder}")
    folder = bench.copy()
    for frozen in ("2", "7"):
        bench.expect("too many frozen layers", bench.train(
            folder, "--overwrite_output_dir", "--freeze_layers", frozen), 64, "the model has 1 layer",
            "Try: --freeze_layers 0")
    bench.expect("frozen layers without a training", bench.evaluate(folder, "--freeze_layers", "7"), 0,
                 "--freeze_layers has no effect here: it needs --do_train")
    choices, numbers, pairs = (bench.root / name for name in ("choices.csv", "numbers.tsv", "queries.csv"))
    choices.write_text("sent1,sent2,ending0,ending1,label\n" + "good,and,kind,rude,0\n" * 4)
    numbers.write_text("label\ttext\n" + "0.5\tgood and kind\n1.5\tbad and rude\n" * 4)
    pairs.write_text("query,passage\n" + "".join(f"what is {i},it is {i}\n" for i in range(9)))
    words = ("--task", "multiple_choice", "--train_file", choices, "--ignore_mismatched_sizes")
    bench.expect("a head that is made", bench.train(bench.copy(), *words, "--overwrite_output_dir"), 0,
                 "newly initialised (not in ")
    answer = bench.train(folder, *words)
    bench.expect("a head of a checkpoint", answer, 0, "Continuing from ")
    bench.expect("which is not new", (0, "a new one" if "newly" in answer[1] else "none"), 0, "none")
    bench.expect("a model with one number", bench.run(
        "init", "--train_file", numbers, "--output_dir", bench.root / "one", "--hidden_size", "8",
        "--intermediate_size", "8", "--num_hidden_layers", "1"), 0, "one")
    bench.expect("another task's head", bench.train(bench.root / "one", *words, "--overwrite_output_dir"), 0,
                 "multiple choice starts from the head of its BertForSequenceClassification")
    bench.expect("texts without labels", bench.run(
        "init", "--train_file", pairs, "--output_dir", bench.root / "new"), 65, "Try: --encoder_only")


def check_options(bench):
    path = bench.root / "options.toml"
    path.unlink(missing_ok=True)
    path = bench.root / "options.json"
    path.unlink(missing_ok=True)
    for text, words in (("{\n\"seed\": 1,,}", [":2:11: "]), ("{\"seed\": NaN}", [":1:10: "]),
                        ("{\"seed\": 1e999}", ["too large"]), ("[]", [":1:1: ", "JSON object"]),
                        ("{\n \"learning_rate\": \"nan\"}", [":2:19: ", "learning_rate"])):
        path.write_text(text)
        bench.expect(f"options {text}", bench.run(path), 64, "options.json", *words)


def follow(bench, text, made):
    """Runs the command behind "Try: ", with the name of the file that it makes."""
    command = text.partition("Try: ")[2].splitlines()[0]
    folder = bench.root / "cure"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(command, shell=True, check=True, cwd=folder)
    return folder / made


# Tables in other layouts: the message has the command that rewrites them.
TABLES = {
    "semicolons.csv": "\ufeff\"text\";\"label\"\n\"good; and kind\";a\nbad;b\n",
    "tabs.csv": "text\tlabel\ngood, and kind\ta\nbad\tb\n",
    "it's.tsv": "text,label\n\"good, and kind\",a\nbad,b\n",
    "splits.json": json.dumps({"train": [{"text": "good", "label": "a"}, {"text": "bad", "label": "b"}]}),
    "lists.json": json.dumps({"text": ["good", "bad"], "label": ["a", "b"]}, indent=1),
    "split.json": json.dumps({"columns": ["text", "label"], "index": [0, 1],
                              "data": [["good", "a"], ["bad", "b"]]}),
    "pandas.json": json.dumps({"text": {"0": "good", "1": "bad"}, "label": {"0": "a", "1": "b"}}),
}


def check_tables(bench):
    start = bench.root / "start"
    for name, text in TABLES.items():
        path = bench.root / name
        path.write_text(text)
        answer = bench.evaluate(start, "--validation_file", path)
        bench.expect(name, answer, 65, name, "Try: ")
        better = follow(bench, answer[1], "NEW.json" if name.endswith(".json") else "NEW.csv")
        bench.expect(f"{name} rewritten", bench.evaluate(start, "--validation_file", better), 0,
                     "2 examples", "a: 1, b: 1")
    path = bench.root / "review.csv"
    path.write_text("review,sentiment\ngood,a\nbad,b\n")
    answer = bench.run("init", "--train_file", path, "--output_dir", bench.root / "other")
    bench.expect("another label", answer, 65, "Try: --label_column_name sentiment")


def check_problems(bench):
    """init and training read labels the same way."""
    for name, text, words in (("floats", "text,label\ngood,1.0\nbad,0.0\n", []),
                              ("several", "text,label\ngood,x;y\nbad,y\n", ["--label_delimiter", ";"]),
                              ("numbers", "text,label\ngood,1\nbad,3\n", ["--do_regression"])):
        path, folder = bench.root / f"{name}.csv", bench.root / f"of_{name}"
        path.write_text(text)
        bench.expect(f"init of {name}", bench.run("init", "--train_file", path, "--hidden_size", "8",
                                                  "--output_dir", folder, *words), 0)
        bench.expect(f"training of {name}", bench.train(folder, "--train_file", path, "--overwrite_output_dir",
                                                        *words), 0)


def check_figures(bench):
    start = bench.root / "start"
    wish = ("--do_eval", "--validation_file", bench.root / "t.tsv", "--overwrite_output_dir", "--eval_strategy",
            "steps", "--save_strategy", "no", "--load_best_model_at_end", "false", "--metric_for_best_model")
    code, text = answer = bench.train(start, *wish, "f1")
    bench.expect("f1", answer, 64, "--metric_for_best_model f1: not a figure of the evaluation", "Try: ")
    if "Running training" in text:
        bench.expect("before the first step", (1, text), 0)
    better = text.partition("Try: --metric_for_best_model ")[2].split()[0]
    bench.expect(better, bench.train(start, *wish, better), 0, "eval_f1_macro", "precision  recall")
    bench.expect("f1_class_b", bench.train(start, *wish, "f1_class_b"), 0)


def check_predictions(bench):
    path = bench.root / "p.csv"
    path.write_text("text\ngood\n\n\"bad\nor not\"\nkind\n")
    answer = bench.evaluate(bench.root / "start", "--do_eval", "false", "--do_predict", "--test_file", path)
    bench.expect("predictions", answer, 0, "no prediction for 1 blank line, the first of them line 3")
    rows = (bench.root / "out/predict_results.txt").read_text().splitlines()
    lines = [row.split("\t")[2] for row in rows]
    bench.expect("lines of predictions", (0, " ".join(lines)), 0, "line 2 4 6")
    shutil.rmtree(bench.root / "out")


def check_environment(bench):
    for value in ("many", "0", ""):
        bench.expect(f"ranks at the begin '{value}'",
                     bench.train(bench.root / "start", DTLAUNCH_FIRST_WORLD_SIZE=value), 64,
                     f'DTLAUNCH_FIRST_WORLD_SIZE={value}: not a number of ranks')


def main():
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(sys.argv[1], Path(name))
        check_files(bench)
        check_weights(bench)
        check_resume(bench)
        check_lengths(bench)
        check_models(bench)
        check_options(bench)
        check_tables(bench)
        check_problems(bench)
        check_figures(bench)
        check_predictions(bench)
        check_environment(bench)
    print(f"{bench.count} inputs, {bench.wrong} of them not refused as they should be")
    sys.exit(bench.wrong > 0)


if __name__ == "__main__":
    main()
