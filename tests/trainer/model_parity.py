"""The model beside transformers, head by head: outputs, loss and every gradient of one batch, without
dropout; and the model written again. The reference runs in double. Usage: model_parity.py MODEL_HERE"""

import json
import os
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file
from transformers.trainer_pt_utils import LabelSmoother

VOCABULARY, POSITIONS, SEQUENCES, PAD_TO = 61, 40, 9, 37
SIZES = [(36, 3, 53), (32, 4, 75), (26, 2, 41)]  # hidden, heads, intermediate
ACTIVATIONS = ["gelu", "gelu_new", "relu"]


def config_of(kind, size, activation, head):
    hidden, heads, intermediate = size
    kind_of_head = {"smoothed": "single", "weighted": "single", "focal": "single"}.get(head, head.split("-")[0])
    labels = dict(single=3, multi=4, regression=1, tokens=5).get(kind_of_head, 2)
    problem = dict(multi="multi_label_classification", regression="regression",
                   single="single_label_classification")
    common = dict(vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, num_labels=labels,
                  problem_type=problem.get(kind_of_head), initializer_range=0.15)
    if kind == "Bert":
        return transformers.BertConfig(
            hidden_size=hidden, num_hidden_layers=2, num_attention_heads=heads,
            intermediate_size=intermediate, hidden_act=activation, **common)
    return transformers.DistilBertConfig(dim=hidden, n_layers=2, n_heads=heads,
                                         hidden_dim=intermediate, activation=activation, **common)


def make_model(kind, size, activation, head, folder):
    task = ("QuestionAnswering" if head.startswith("answers") else
            "TokenClassification" if head.startswith("tokens") else "SequenceClassification")
    torch.manual_seed(7)
    model = getattr(transformers, f"{kind}For{task}")(config_of(kind, size, activation, head))
    with torch.no_grad():  # biases too, so that every gradient is tested
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model.double().eval()


def make_batch(model, head, lengths=None):
    source = random.Random(3)
    lengths = lengths or [source.randint(3, 33) for _ in range(SEQUENCES - 1)] + [PAD_TO]
    batch = dict(
        task=next((task for task in ("answers", "tokens") if head.startswith(task)), "classification"),
        ids=[[source.randint(1, VOCABULARY - 1) for _ in range(n)] for n in lengths],
        types=[[int(i > n // 2) for i in range(n)] for n in lengths],
        threads=2)
    outputs = model.config.num_labels
    if head in ("single", "smoothed", "weighted", "focal"):
        batch["labels"] = [source.randrange(outputs) for _ in lengths]
    elif head.startswith("multi"):
        batch["targets"] = [[source.randrange(2) for _ in range(outputs)] for _ in lengths]
    elif head == "regression":
        batch["targets"] = [[source.randint(-8, 8) / 4] for _ in lengths]
    elif head.startswith("tokens"):  # some sequences have no label at all
        batch["token_labels"] = [[source.randrange(outputs) if i % 4 and source.random() < 0.4 else -1
                                  for _ in range(n)] for i, n in enumerate(lengths)]
    else:
        batch["answers"] = [sorted((source.randrange(n), source.randrange(n))) for n in lengths]
    if head.endswith("smoothed") or head == "weighted":
        batch["label_smoothing"] = 0.1
    if head in ("weighted", "multi-weighted"):
        batch["label_weights"] = [source.uniform(0.2, 5) for _ in range(outputs)]
    if head.endswith("focal"):
        batch["focal_gamma"] = 2.0
    if head == "answers-padded":
        batch["pad_to"] = max(lengths)
    return batch


def inputs_of(model, batch, chosen):
    """The chosen sequences, padded to the longest."""
    width = max(len(batch["ids"][i]) for i in chosen)

    def fill(rows, filler=0):
        return torch.tensor([rows[i] + [filler] * (width - len(rows[i])) for i in chosen])

    ids = fill(batch["ids"])
    inputs = dict(input_ids=ids, attention_mask=(ids != 0).long())
    if getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = fill(batch["types"])
    if "labels" in batch:
        inputs["labels"] = torch.tensor([batch["labels"][i] for i in chosen])
    elif "token_labels" in batch:
        labels = fill(batch["token_labels"], -1)
        inputs["labels"] = torch.where(labels < 0, -100, labels)
    elif "targets" in batch:
        inputs["labels"] = torch.tensor([batch["targets"][i] for i in chosen], dtype=torch.double)
    else:
        inputs["start_positions"] = torch.tensor([batch["answers"][i][0] for i in chosen])
        inputs["end_positions"] = torch.tensor([batch["answers"][i][1] for i in chosen])
    return inputs


def answer_outputs(result):
    return torch.stack([result.start_logits, result.end_logits], dim=-1).flatten(0, 1)


def other_loss(batch, logits, labels):
    """torch's weighted losses; Lin et al.'s focal loss from torch's logarithms."""
    functional, gamma = torch.nn.functional, batch.get("focal_gamma", 0)
    weights = torch.tensor(batch["label_weights"], dtype=torch.double) if "label_weights" in batch else None
    if "labels" in batch:
        if not gamma:
            return torch.nn.CrossEntropyLoss(weight=weights, label_smoothing=0.1)(logits, labels)
        log = functional.log_softmax(logits, -1).gather(1, labels[:, None])[:, 0]
        return (-(1 - log.exp()) ** gamma * log).mean()
    if not gamma:
        return torch.nn.BCEWithLogitsLoss(pos_weight=weights)(logits, labels)
    on, off = functional.logsigmoid(logits), functional.logsigmoid(-logits)
    return (-labels * off.exp() ** gamma * on - (1 - labels) * on.exp() ** gamma * off).mean()


def reference(model, batch, head):
    """Outputs, mean loss; gradients are left in the model."""
    model.zero_grad()
    everything = range(len(batch["ids"]))
    if head.startswith("tokens"):
        inputs = inputs_of(model, batch, everything)
        result = model(**inputs)
        loss = LabelSmoother(epsilon=0.1)(result, inputs["labels"]) if head == "tokens-smoothed" else result.loss
        loss.backward()
        return result.logits[inputs["attention_mask"] == 1].detach(), loss.item()
    if head == "answers":  # one by one, without padding
        results = [model(**inputs_of(model, batch, [i])) for i in everything]
        outputs = torch.cat([answer_outputs(result) for result in results])
        loss = sum(result.loss for result in results) / len(results)
    else:
        inputs = inputs_of(model, batch, everything)
        result = model(**inputs)
        outputs = answer_outputs(result) if head == "answers-padded" else result.logits
        loss = result.loss
        if head == "smoothed":
            loss = LabelSmoother(epsilon=0.1)(result, inputs["labels"])
        elif "label_weights" in batch or "focal_gamma" in batch:
            loss = other_loss(batch, outputs, inputs["labels"])
    loss.backward()
    return outputs.detach(), loss.item()


def unseen(name, head):
    """Softmax does not see what is added to all numbers alike: such a gradient is zero but for
    rounding. Keys add their bias to a row of scores; answers compete among all tokens."""
    if name.endswith(("key.bias", "k_lin.bias")):
        return True
    return head.startswith("answers") and name.endswith(
        ("qa_outputs.bias", "1.output.LayerNorm.bias", "1.output_layer_norm.bias"))


failures = []


class Worst:
    """The largest deviation of each kind, and where it was."""

    def __init__(self):
        self.seen = {}

    def add(self, what, value, limit, where):
        if not value <= limit:
            failures.append(f"{where}: {what} is {value:.2e}, at most {limit:.0e}")
        if what not in self.seen or not value <= self.seen[what][0]:
            self.seen[what] = (value, limit, where)

    def show(self):
        for what, (value, limit, where) in self.seen.items():
            print(f"{what:<32} {value:9.2e}  (limit {limit:.0e})  {where}")


def same(found, expected):
    """Lists of words are sets: DeBERTa's kinds of attention."""
    return set(found) == set(expected) if isinstance(expected, list) else found == expected


def check_copy(model, folder, where):
    again, report = type(model).from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), (where, report)
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor.float()), (where, name)
    architectures = transformers.AutoConfig.from_pretrained(folder).architectures
    assert architectures == [type(model).__name__], (where, architectures)
    for key, value in model.config.to_dict().items():
        if key not in ("_name_or_path", "architectures", "transformers_version", "dtype"):
            assert same(getattr(again.config, key), value), (where, key, value)


def check(program, kind, size, activation, head, folder, worst):
    where = f"{kind} {size} {activation} {head}"
    model = make_model(kind, size, activation, head, folder)
    check_model(program, model, make_batch(model, head), head, folder, worst, where)


def check_model(program, model, batch, head, folder, worst, where, rules=(reference, unseen)):
    """`folder` holds the model. The second rule tells which gradients are zero but for rounding."""
    path, result = os.path.join(folder, "batch.json"), os.path.join(folder, "result.safetensors")
    with open(path, "w") as out:
        json.dump(batch, out)
    copy = os.path.join(folder, "copy")
    os.mkdir(copy)
    subprocess.run([program, folder, path, result, copy], check=True)
    check_copy(model, copy, where)
    found = load_file(result)
    outputs, loss = rules[0](model, batch, head)
    difference = (found.pop("outputs") - outputs).abs().max().item()
    worst.add("outputs, largest difference", difference, 1e-5, where)
    worst.add("loss, relative", abs(found.pop("loss").item() - loss) / abs(loss), 1e-6, where)
    prefix = model.base_model_prefix + "."  # which tensors of a model without a head lack
    bare = not any(name.startswith(prefix) for name, _ in model.named_parameters())
    expected = {(prefix if bare else "") + name: torch.zeros_like(p) if p.grad is None else p.grad
                for name, p in model.named_parameters()}
    assert set(found) == set(expected), (where, set(found) ^ set(expected))
    largest = max(gradient.norm() for gradient in expected.values())
    for name, gradient in expected.items():
        assert (gradient.norm() < 1e-12 * largest) == rules[1](name, head), (where, name)
        distance = (found[name] - gradient).norm()
        if rules[1](name, head):
            worst.add("zero gradients / the largest", (distance / largest).item(), 1e-6,
                      f"{where} {name}")
        else:
            worst.add("gradients, relative L2", (distance / gradient.norm()).item(), 1e-5,
                      f"{where} {name}")


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    worst, cases = Worst(), 0
    for kind in ("Bert", "DistilBert"):
        for number, size in enumerate(SIZES):
            heads = ["single", "smoothed", "multi", "regression", "answers", "answers-padded",
                     "tokens", "tokens-smoothed"]
            if number == 0:
                heads += ["weighted", "focal", "multi-weighted", "multi-focal"]
            for head in heads:
                with tempfile.TemporaryDirectory() as folder:
                    check(sys.argv[1], kind, size, ACTIVATIONS[number], head, folder, worst)
                    cases += 1
    print(f"{cases} models and batches")
    worst.show()
    if failures:
        sys.exit("too far apart:\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
