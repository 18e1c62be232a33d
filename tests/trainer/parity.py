"""dttrain beside PyTorch and transformers: the same logits, loss, gradients, AdamW steps and loss
curve from the same model folder. Usage: parity.py DTTRAIN"""

import functools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file
from transformers.trainer_pt_utils import LabelSmoother

CLASSES, BATCH, SEED = 3, 7, 13
LEARNING_RATE, WEIGHT_DECAY, WARMUP = 2e-3, 0.05, 4
FAMILIES = ("roberta", "xlm-roberta", "camembert", "electra", "mpnet")  # tested by families_parity.py
WORDS = [a + b for a in ("ka", "lo", "mi", "ru", "te") for b in ("n", "r", "s", "t", "la", "vo")]


def config_of(kind):
    labels = {i: f"class{i}" for i in range(CLASSES)}
    common = dict(vocab_size=5 + len(WORDS), max_position_embeddings=40, id2label=labels,
                  label2id={name: i for i, name in labels.items()}, initializer_range=0.15)
    if kind == "deberta-v2":
        common.update(relative_attention=True, position_buckets=16, share_att_key=True, norm_rel_ebd="layer_norm",
                      pos_att_type="p2c|c2p", position_biased_input=False)
    if kind != "distilbert":
        return transformers.AutoConfig.for_model(
            kind, hidden_size=36, num_hidden_layers=3, num_attention_heads=3, intermediate_size=53,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout=0.0, **common)
    return transformers.DistilBertConfig(
        dim=32, n_layers=2, n_heads=4, hidden_dim=75, dropout=0.0, attention_dropout=0.0,
        seq_classif_dropout=0.0, **common)


def specials_of(kind):
    """In the order of their ids. Later families than BERT have padding at 1."""
    return (["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"] if config_of(kind).pad_token_id == 1 else
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])


def write_texts(path, count, seed):
    """Rows of 1 to 30 words; the label depends on the words, so there is something to learn."""
    source = random.Random(seed)
    rows = []
    for _ in range(count):
        words = [source.choice(WORDS) for _ in range(source.randint(1, 30))]
        label = sum(word.startswith(("ka", "lo")) for word in words) * CLASSES // (len(words) + 1)
        rows.append((" ".join(words), f"class{label}"))
    with open(path, "w") as out:
        out.write("sentence\tlabel\n")
        out.writelines(f"{text}\t{label}\n" for text, label in rows)
    return rows


class Case:
    """A model's folder and its texts, made if missing. `launcher`: arguments before dttrain's."""

    def __init__(self, program, kind, folder, launcher=()):
        self.command, self.kind, self.folder = [*launcher, program], kind, folder
        self.start = os.path.join(folder, "start")
        if not os.path.isdir(self.start):
            self.make_model()
        self.ids = {word: 5 + i for i, word in enumerate(WORDS)}
        self.train = write_texts(os.path.join(folder, "train.tsv"), 60, 1)
        self.evaluation = write_texts(os.path.join(folder, "eval.tsv"), 41, 2)

    def make_model(self):
        os.makedirs(self.start)
        torch.manual_seed(5)
        model = transformers.AutoModelForSequenceClassification.from_config(config_of(self.kind))
        with torch.no_grad():  # biases too, so that every gradient is tested
            for parameter in model.parameters():
                parameter.add_(0.02 * torch.randn_like(parameter))
        model.save_pretrained(self.start)
        vocabulary = os.path.join(self.start, "vocab.txt")
        with open(vocabulary, "w") as out:
            out.write("\n".join(specials_of(self.kind) + WORDS) + "\n")
        with open(os.path.join(self.start, "tokenizer_config.json"), "w") as out:
            json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, out)

    def model(self, folder=None):
        return transformers.AutoModelForSequenceClassification.from_pretrained(folder or self.start)

    def batch(self, rows):
        cls, sep, pad = (specials_of(self.kind).index(f"[{name}]") for name in ("CLS", "SEP", "PAD"))
        encoded = [[cls] + [self.ids[w] for w in text.split()] + [sep] for text, _ in rows]
        width = max(map(len, encoded))
        ids = torch.tensor([row + [pad] * (width - len(row)) for row in encoded])
        labels = torch.tensor([int(label[-1]) for _, label in rows])
        return dict(input_ids=ids, attention_mask=(ids != pad).long(), labels=labels)

    def run(self, name, *arguments):
        """Runs dttrain, returns its output folder."""
        output = os.path.join(self.folder, name)
        command = [*self.command, "--model_name_or_path", self.start, "--output_dir", output,
                   "--debug_dump", output + ".dump", "--seed", str(SEED), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
        return output

    def run_training(self, name, steps, *arguments):
        return self.run(
            name, "--do_train", "--train_file", os.path.join(self.folder, "train.tsv"),
            "--per_device_train_batch_size", str(BATCH), "--max_steps", str(steps),
            "--learning_rate", str(LEARNING_RATE), "--weight_decay", str(WEIGHT_DECAY),
            "--warmup_steps", str(WARMUP), "--logging_steps", "1", *arguments)

    def rows_of_step(self, step, batch=BATCH):
        """The training examples of a step: dttrain's order is torch's, by seed and pass."""
        epoch, at = divmod(step, math.ceil(len(self.train) / batch))
        order = torch.randperm(len(self.train),
                               generator=torch.Generator().manual_seed(SEED + epoch)).tolist()
        return [self.train[i] for i in order[at * batch:(at + 1) * batch]]

    def optimizer_of(self, model, optimizer_of=torch.optim.AdamW):
        plain = [p for n, p in model.named_parameters() if "bias" in n or "norm" in n.lower()]
        decayed = [p for n, p in model.named_parameters()
                   if not ("bias" in n or "norm" in n.lower())]
        return optimizer_of([dict(params=decayed, weight_decay=WEIGHT_DECAY),
                             dict(params=plain, weight_decay=0.0)], lr=LEARNING_RATE)

    def torch_training(self, steps, optimizer_of=torch.optim.AdamW, schedule="linear", shape=None):
        """Yields (loss, model) before each update."""
        model = self.model().train()
        optimizer = self.optimizer_of(model, optimizer_of)
        scheduler = transformers.get_scheduler(schedule, optimizer, WARMUP, steps, shape)
        for step in range(steps):
            rows = self.rows_of_step(step)
            optimizer.zero_grad()
            loss = model(**self.batch(rows)).loss
            loss.backward()
            yield loss.item(), model
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()


def losses_of(output):
    with open(os.path.join(output, "trainer_state.json")) as file:
        return [entry["loss"] for entry in json.load(file)["log_history"] if "loss" in entry]


def results_of(output):
    with open(os.path.join(output, "eval_results.json")) as file:
        return json.load(file)


def without_noise(tensors):
    """Without the keys' biases, whose gradient is zero but for rounding: softmax does not see them."""
    return {name: t for name, t in tensors.items()
            if not name.endswith(("key.bias", "k_lin.bias", "attn.k.bias"))}


failures = []


def expect(what, worst, limit):
    print(f"  {what:<34} {worst:9.2e}  (limit {limit:.0e})")
    if not worst <= limit:
        failures.append(what)


def check_evaluation_losses(case, logits):
    """What Trainer.prediction_step measures: the model's loss, or its label smoother's."""
    labels = case.batch(case.evaluation)["labels"]
    plain = torch.nn.functional.cross_entropy(logits, labels)
    smooth = LabelSmoother(epsilon=0.2)({"logits": logits}, labels)
    assert abs(plain - smooth) > 0.01, "the two losses are too close to tell them apart"
    for name, expected, arguments in (("plain", plain, ()),
                                      ("smooth", smooth, ("--label_smoothing_factor", "0.2"))):
        output = case.run("eval-" + name, "--do_eval", "--validation_file",
                          os.path.join(case.folder, "eval.tsv"), *arguments)
        with open(os.path.join(output, "eval_results.json")) as file:
            found = json.load(file)["eval_loss"]
        expect(f"{name} loss of the evaluation", abs(found - expected.item()), 1e-5)


def check(program, kind, folder):
    print(kind)
    case = Case(program, kind, folder)
    with torch.no_grad():
        expected = case.model().eval()(**case.batch(case.evaluation)).logits
    output = case.run("eval", "--do_eval", "--validation_file", os.path.join(folder, "eval.tsv"))
    found = load_file(output + ".dump/logits.safetensors")["logits"]
    expect("logits, largest difference", (found - expected).abs().max().item(), 1e-5)

    check_evaluation_losses(case, expected)
    check_bf16_evaluation(case, expected)
    check_columns(case)
    check_frozen(program, kind, folder)
    check_optimizers(case)

    loss, model = next(case.torch_training(1))
    gradients = {name: p.grad for name, p in model.named_parameters()}
    output = case.run_training("one", 1)
    expect("loss of the first step", abs(losses_of(output)[0] - loss), 1e-6)
    found = load_file(output + ".dump/gradients.safetensors")
    assert set(found) == set(gradients), set(found) ^ set(gradients)
    worst, worst_element = 0.0, 0.0
    for name, expected in without_noise(gradients).items():
        difference = found[name] - expected
        worst = max(worst, (difference.norm() / expected.norm()).item())
        worst_element = max(worst_element, (difference.abs().max() / expected.abs().max()).item())
    expect(f"{len(found)} gradients, relative L2", worst, 1e-5)
    expect("gradients, largest / largest", worst_element, 1e-4)

    curve = list(loss for loss, model in case.torch_training(10))
    parameters = without_noise(dict(model_after(case, 10)))
    output = case.run_training("ten", 10)
    found = without_noise(dict(case.model(output).named_parameters()))
    expect("parameters after 10 steps",
           max((found[n] - p).abs().max().item() for n, p in parameters.items()), 5e-6)
    expect("loss curve of 10 steps", largest_gap(losses_of(output), curve), 1e-5)

    curve = [loss for loss, _ in case.torch_training(100)]
    assert curve[-1] < 0.7 * curve[0], "nothing was learnt"
    output = case.run_training("hundred", 100)
    expect("loss curve of 100 steps", largest_gap(losses_of(output), curve), 1e-4)


class FrozenCase(Case):
    """Embeddings and the first layer are not trained."""

    def model(self, folder=None):
        model = super().model(folder)
        for name, parameter in model.named_parameters():
            if ".embeddings." in name or ".layer.0." in name:
                parameter.requires_grad_(False)
        return model


def check_frozen(program, kind, folder):
    case = FrozenCase(program, kind, folder)
    curve = [loss for loss, _ in case.torch_training(30)]
    output = case.run_training("frozen", 30, "--freeze_layers", "1")
    expect("losses of 30 steps, frozen layers", largest_gap(losses_of(output), curve), 1e-5)
    start, end = (dict(case.model(path).named_parameters()) for path in (None, output))
    for name, parameter in start.items():
        if torch.equal(parameter, end[name]) == parameter.requires_grad:
            failures.append(f"{name}: requires_grad is {parameter.requires_grad}")


def check_columns(case):
    """Columns joined with a text between them, as run_classification joins them."""
    path = os.path.join(case.folder, "columns.tsv")
    rows = []
    with open(path, "w") as out:
        out.write("first\tlabel\tthen\n")
        for text, label in case.evaluation:
            words = text.split()
            first, then = " ".join(words[:(len(words) + 1) // 2]), words[-1]
            rows.append((f"{first} kan {then}", label))
            out.write(f"{first}\t{label}\t{then}\n")
    with torch.no_grad():
        expected = case.model().eval()(**case.batch(rows)).loss.item()
    output = case.run("columns", "--do_eval", "--validation_file", path, "--text_column_names", "first,then",
                      "--text_column_delimiter", " kan ")
    expect("loss over joined columns", abs(results_of(output)["eval_loss"] - expected), 1e-5)


def check_optimizers(case):
    """Loss curves with other optimizers and schedules."""
    for name, options, optimizer_of, schedule, shape in (
            ("sgd, polynomial", ["--optim", "sgd", "--optim_args", "momentum=0.9"],
             functools.partial(torch.optim.SGD, momentum=0.9), "polynomial", {"power": 2.0}),
            ("adafactor, restarts", ["--optim", "adafactor"],
             functools.partial(transformers.optimization.Adafactor, scale_parameter=False, relative_step=False),
             "cosine_with_restarts", {"num_cycles": 2})):
        curve = [loss for loss, _ in case.torch_training(20, optimizer_of, schedule, shape)]
        output = case.run_training(name, 20, *options, "--lr_scheduler_type", schedule, "--lr_scheduler_kwargs",
                                   json.dumps(shape))
        expect(name, largest_gap(losses_of(output), curve), 1e-4)


def check_bf16_evaluation(case, exact):
    """After training, weights are rounded for the evaluation but saved exactly."""
    rows = case.batch(case.evaluation)
    with torch.no_grad():
        expected = case.model().to(torch.bfloat16).eval()(**rows).logits.float()
    evaluate = ["--do_eval", "--validation_file", os.path.join(case.folder, "eval.tsv")]
    output = case.run("rounded", *evaluate, "--bf16_full_eval=emulate")
    found = load_file(output + ".dump/logits.safetensors")["logits"]
    scale = exact.abs().max().item()
    expect("logits in bfloat16, of the largest", (found - expected).abs().max().item() / scale, 0.02)
    if (found - exact).abs().max() < 1e-4 * scale:
        failures.append("--bf16_full_eval changed nothing")
    weights = []
    for name, more in (("exact", []), ("with", ["--bf16_full_eval=emulate"])):
        output = case.run_training(name, 5, *evaluate, "--eval_strategy", "steps", "--eval_steps", "5", *more)
        with open(os.path.join(output, "trainer_state.json")) as file:
            during = [entry["eval_loss"] for entry in json.load(file)["log_history"] if "eval_loss" in entry]
        weights.append((load_file(os.path.join(output, "model.safetensors")), during[0], during[-1]))
    (one, first, last), (other, first_rounded, last_rounded) = weights
    if any(not torch.equal(one[name], other[name]) for name in one):
        failures.append("--bf16_full_eval changed the model")
    if first != first_rounded or last == last_rounded or first != last:
        failures.append(f"evaluations {weights[0][1:]} and rounded {weights[1][1:]}")


def model_after(case, steps):
    """Named parameters after the last update: the generator finishes it when asked once more."""
    model = None
    for _, model in case.torch_training(steps):
        pass
    return model.named_parameters()


def largest_gap(found, expected):
    assert len(found) == len(expected), (len(found), len(expected))
    return max(abs(a - b) for a, b in zip(found, expected))


def main():
    torch.set_num_threads(1)
    for kind in ("bert", "distilbert"):
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], kind, folder)
    if failures:
        sys.exit("too far apart: " + "; ".join(failures))


if __name__ == "__main__":
    main()
