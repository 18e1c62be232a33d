"""Reranking and multiple choice by dttrain beside PyTorch, transformers and sentence-transformers,
from the same folder and the same file: loss, logits and gradients of the first step, figures of the
evaluation, scores of predictions, and folders that the others load.
Usage: candidates_parity.py DTTRAIN"""

import csv
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

try:
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator
except ImportError:
    print(f"skipped: {sys.executable} has no sentence_transformers")
    sys.exit(77)

SEED, BATCH = 13, 6
WORDS = [a + b for a in ("ka", "lo", "mi", "ru", "te", "zu") for b in ("n", "r", "s", "t", "la", "vo")]
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

failures = []


def expect(what, worst, limit=1e-5):
    print(f"  {what:<52} {worst:9.2e}  (limit {limit:.0e})")
    if not worst <= limit:
        failures.append(what)


def words(source, most=8):
    return " ".join(source.choice(WORDS) for _ in range(source.randint(1, most)))


def write_csv(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(names)
        writer.writerows(rows)
    return rows


def make_model(folder, kind, labels):
    torch.manual_seed(5)
    common = dict(vocab_size=5 + len(WORDS), max_position_embeddings=40, initializer_range=0.3,
                  num_labels=labels)
    if kind == "bert":
        config = transformers.BertConfig(
            hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=53,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **common)
        model = transformers.BertForSequenceClassification(config)
    else:
        config = transformers.DistilBertConfig(
            dim=32, n_layers=2, n_heads=4, hidden_dim=75, dropout=0.0, attention_dropout=0.0,
            seq_classif_dropout=0.0, **common)
        model = transformers.DistilBertForSequenceClassification(config)
    model.save_pretrained(folder)
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as out:
        json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer", "model_max_length": 40}, out)


class Case:
    def __init__(self, program, folder, kind):
        self.program, self.folder, self.kind = program, folder, kind
        self.start = os.path.join(folder, "start")
        make_model(self.start, kind, 1)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.start)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, task, output, *arguments):
        command = [self.program, "--model_name_or_path", self.start, "--task", task, "--output_dir",
                   self.path(output), "--debug_dump", self.path(output + ".dump"), "--seed", str(SEED),
                   "--per_device_train_batch_size", str(BATCH), "--max_steps", "1", "--learning_rate", "0",
                   "--logging_steps", "1", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")

    def results(self, output, name="all_results.json"):
        with open(os.path.join(self.path(output), name), encoding="utf-8") as file:
            return json.load(file)

    def predictions(self, output):
        with open(os.path.join(self.path(output), "predictions.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def first_batch(self, rows):
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(SEED)).tolist()
        return [rows[i] for i in order[:BATCH]]

    def encode(self, pairs):
        return self.tokenizer([a for a, _ in pairs], [b for _, b in pairs], padding=True,
                              truncation=True, max_length=40, return_tensors="pt")

    def expect_step(self, what, output, model, loss):
        """The first step's loss and gradients against torch's."""
        model.zero_grad()
        loss.backward()
        expect(f"{what}: loss", abs(self.results(output)["train_loss"] - loss.item()) / abs(loss.item()))
        dumped = load_file(os.path.join(self.path(output + ".dump"), "gradients.safetensors"))
        # Some are zero but for rounding: those of keys' biases, and of a bias that softmax does not see.
        least = 1e-2 * torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        worst = max(((dumped[name] - p.grad).norm() / torch.maximum(p.grad.norm(), least)).item()
                    for name, p in model.named_parameters())
        expect(f"{what}: gradients", worst)


def sequence_model(case):
    return transformers.AutoModelForSequenceClassification.from_pretrained(case.start).eval()


def test_labelled_pairs(case):
    source = random.Random(1)
    rows = write_csv(case.path("pairs.csv"), ["query_id", "query", "passage", "label"],
                     [[i, words(source), words(source), source.randint(0, 1)] for i in range(20)])
    queries = [words(source, 3) for _ in range(7)]
    evaluated = [[queries[i % 7], words(source), source.randint(0, 1)] for i in range(70)]
    evaluated += [[q, words(source), 1] for q in queries]
    write_csv(case.path("eval.csv"), ["query", "passage", "label"], evaluated)
    case.run("reranking", "pairs", "--do_train", "--train_file", case.path("pairs.csv"), "--do_eval",
             "--validation_file", case.path("eval.csv"), "--do_predict", "--test_file", case.path("eval.csv"))
    model = sequence_model(case)
    batch = case.first_batch(rows)
    logits = model(**case.encode([(r[1], r[2]) for r in batch])).logits[:, 0]
    target = torch.tensor([float(r[3]) for r in batch])
    case.expect_step(f"{case.kind} pairs", "pairs", model,
                     torch.nn.functional.binary_cross_entropy_with_logits(logits, target))
    # The folder as sentence-transformers reads it.
    encoder = CrossEncoder(case.path("pairs"))
    scores = encoder.predict([(r[0], r[1]) for r in evaluated])
    ours = [row["score"] for row in case.predictions("pairs")]
    expect(f"{case.kind} pairs: CrossEncoder's scores", max(abs(a - b) for a, b in zip(ours, scores)))
    samples = [{"query": q, "positive": [r[1] for r in evaluated if r[0] == q and r[2]],
                "negative": [r[1] for r in evaluated if r[0] == q and not r[2]]} for q in queries]
    theirs = CrossEncoderRerankingEvaluator(samples, write_csv=False)(encoder)
    figures = case.results("pairs")
    for name in ("map", "mrr@10", "ndcg@10"):
        expect(f"{case.kind} pairs: {name}", abs(figures["eval_" + name] - theirs[name]))


def test_candidates(case, loss):
    source = random.Random(2)
    names = ["query", "right", "wrong1", "wrong2"]
    rows = write_csv(case.path("rows.csv"), names, [[words(source) for _ in names] for _ in range(20)])
    output = "rows_" + loss
    case.run("reranking", output, "--do_train", "--train_file", case.path("rows.csv"), "--reranking_loss", loss,
             "--do_eval", "--validation_file", case.path("rows.csv"), "--gradient_accumulation_steps", "1")
    model = sequence_model(case)
    batch = case.first_batch(rows)
    logits = model(**case.encode([(r[0], each) for r in batch for each in r[1:]])).logits.view(BATCH, 3)
    if loss == "softmax":
        expected = torch.nn.functional.cross_entropy(logits, torch.zeros(BATCH, dtype=torch.long))
    else:
        target = torch.tensor([[1.0, 0.0, 0.0]] * BATCH)
        expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
    case.expect_step(f"{case.kind} {loss}", output, model, expected)
    theirs = CrossEncoderRerankingEvaluator(
        [{"query": r[0], "positive": [r[1]], "negative": r[2:]} for r in rows], write_csv=False)(
            CrossEncoder(case.path(output)))
    expect(f"{case.kind} {loss}: ndcg@10", abs(case.results(output)["eval_ndcg@10"] - theirs["ndcg@10"]))


def test_choices(case):
    source = random.Random(3)
    names = ["sent1", "sent2", "ending0", "ending1", "ending2", "ending3", "label"]
    rows = write_csv(case.path("swag.csv"), names,
                     [[words(source), words(source, 2), *(words(source, 5) for _ in range(4)), source.randint(0, 3)]
                      for _ in range(21)])
    case.run("multiple_choice", "swag", "--do_train", "--train_file", case.path("swag.csv"), "--do_eval",
             "--validation_file", case.path("swag.csv"), "--do_predict", "--test_file", case.path("swag.csv"))
    if case.kind == "bert":
        model = transformers.BertForMultipleChoice.from_pretrained(case.start)
    else:
        model = transformers.DistilBertForMultipleChoice.from_pretrained(case.start)

    def outputs(some, of):
        encoded = case.encode([(r[0], f"{r[1]} {each}") for r in some for each in r[2:6]])
        labels = torch.tensor([r[6] for r in some])
        known = {k: v.view(len(some), 4, -1) for k, v in encoded.items()
                 if case.kind == "bert" or k != "token_type_ids"}
        return of.eval()(**known, labels=labels)

    case.expect_step(f"{case.kind} choices", "swag", model, outputs(case.first_batch(rows), model).loss)
    # The folder as transformers reads it.
    saved = type(model).from_pretrained(case.path("swag"))
    with torch.no_grad():
        theirs = outputs(rows, saved)
    figures = case.results("swag")
    expect(f"{case.kind} choices: eval_loss", abs(figures["eval_loss"] - theirs.loss.item()))
    right = (theirs.logits.argmax(1) == torch.tensor([r[6] for r in rows])).float().mean().item()
    expect(f"{case.kind} choices: accuracy", abs(figures["eval_accuracy"] - right), 1e-7)
    ours = torch.tensor([row["probabilities"] for row in case.predictions("swag")])
    expect(f"{case.kind} choices: probabilities", (ours - theirs.logits.softmax(1)).abs().max().item())


def main():
    for kind in ("bert", "distilbert"):
        with tempfile.TemporaryDirectory() as folder:
            case = Case(os.path.abspath(sys.argv[1]), folder, kind)
            test_labelled_pairs(case)
            for loss in ("binary", "softmax"):
                test_candidates(case, loss)
            test_choices(case)
    if failures:
        sys.exit("FAILED: " + ", ".join(failures))


if __name__ == "__main__":
    main()
