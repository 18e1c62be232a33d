"""Every family of encoders beside transformers, on random folders of odd shapes: outputs, loss and
every gradient of one batch for each head, without dropout, in a double reference; the same in bf16,
more loosely; the folder written again; and 100 steps of AdamW.
Usage: families_parity.py MODEL_HERE DTTRAIN [--folders N] [FAMILY...]"""

import argparse
import copy as copy_module
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

import parity
from model_parity import Worst, answer_outputs, check_copy, failures

HEADS = {"single": "SequenceClassification", "multi": "SequenceClassification",
         "regression": "SequenceClassification", "answers": "QuestionAnswering",
         "answers-padded": "QuestionAnswering", "tokens": "TokenClassification",
         "choice": "MultipleChoice", "masked": "MaskedLM", "embeddings": ""}
LABELS = {"single": 3, "multi": 4, "regression": 1, "tokens": 5}
PROBLEMS = {"single": "single_label_classification", "multi": "multi_label_classification",
            "regression": "regression"}
PREFIXES = {"roberta": "roberta.", "xlm-roberta": "roberta.", "camembert": "roberta."}
CHOICES = 3
SEQUENCES = 9


def config_of(family, source, head):
    width = source.choice([6, 8, 9, 10, 13, 16])
    heads = source.choice([1, 2, 3, 4])
    config = dict(
        vocab_size=source.randint(40, 90), hidden_size=width * heads, num_attention_heads=heads,
        num_hidden_layers=source.choice([1, 2, 3]), intermediate_size=source.randint(20, 80),
        max_position_embeddings=source.randint(42, 60), initializer_range=0.15,
        hidden_act=source.choice(["gelu", "gelu_new", "relu"]),
        layer_norm_eps=source.choice([1e-5, 1e-12]), num_labels=LABELS.get(head, 2),
        problem_type=PROBLEMS.get(head), type_vocab_size=source.choice([1, 2]),
        pad_token_id=source.choice([0, 1, 1, 3]),
        classifier_dropout=source.choice([None, 0.3]))
    if family == "mpnet":  # texts that are long enough for all buckets of distances
        del config["type_vocab_size"], config["classifier_dropout"]
        config.update(pad_token_id=1, max_position_embeddings=source.choice([50, 200]))
    if family == "electra":
        config["embedding_size"] = source.choice([config["hidden_size"], 7, 24, 70])
    return transformers.AutoConfig.for_model(family, **config)


def make_model(config, head, folder):
    torch.manual_seed(7)
    model = getattr(transformers, f"AutoModel{'For' if HEADS[head] else ''}{HEADS[head]}").from_config(config)
    with torch.no_grad():  # biases too, so that every gradient is tested
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model.double().eval()


def make_batch(model, head, source):
    """Padding tokens may stand inside a text, as any other token."""
    config = model.config
    pad_to = min(150 if config.model_type == "mpnet" else 37, config.max_position_embeddings - config.pad_token_id - 1)
    lengths = [source.randint(3, pad_to - 1) for _ in range(SEQUENCES - 1)] + [pad_to]
    types = getattr(config, "type_vocab_size", 0) > 1
    batch = dict(
        task={"single": "classification", "multi": "classification", "regression": "classification"}.get(
            head, head.split("-")[0]),
        ids=[[source.randrange(config.vocab_size) for _ in range(n)] for n in lengths],
        types=[[int(types and i > n // 2) for i in range(n)] for n in lengths], threads=2)
    for row in batch["ids"]:
        row[0] = (config.pad_token_id + 1) % config.vocab_size
    outputs = config.num_labels
    if head == "single":
        batch["labels"] = [source.randrange(outputs) for _ in lengths]
    elif head == "choice":
        batch["texts"] = CHOICES
        batch["labels"] = [source.randrange(CHOICES) for _ in range(SEQUENCES // CHOICES)]
    elif head in ("multi", "regression"):
        batch["targets"] = [[source.randint(-8, 8) / 4 if head == "regression" else source.randrange(2)
                             for _ in range(outputs)] for _ in lengths]
    elif head == "tokens":
        batch["token_labels"] = [[source.randrange(outputs) if source.random() < 0.4 else -1 for _ in range(n)]
                                 for n in lengths]
    elif head == "masked":
        rows = sorted(source.sample(range(sum(lengths)), 21))
        batch["masked"] = [[row, source.randrange(config.vocab_size)] for row in rows]
    elif head == "embeddings":
        batch["slopes"] = [[source.randint(-8, 8) / 8 for _ in range(config.hidden_size)] for _ in lengths]
    else:
        batch["answers"] = [sorted((source.randrange(n), source.randrange(n))) for n in lengths]
    if head == "answers-padded":
        batch["pad_to"] = pad_to
    return batch


def inputs_of(model, batch, chosen):
    """The chosen sequences, padded to the longest."""
    width = max(len(batch["ids"][i]) for i in chosen)

    def fill(rows, filler):
        return torch.tensor([rows[i] + [filler] * (width - len(rows[i])) for i in chosen])

    inputs = dict(input_ids=fill(batch["ids"], model.config.pad_token_id),
                  attention_mask=fill([[1] * len(row) for row in batch["ids"]], 0))
    if getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = fill(batch["types"], 0)
    if "token_labels" in batch:
        labels = fill(batch["token_labels"], -1)
        inputs["labels"] = torch.where(labels < 0, -100, labels)
    elif "labels" in batch:
        inputs["labels"] = torch.tensor(batch["labels"])
    elif "targets" in batch:
        inputs["labels"] = torch.tensor(batch["targets"], dtype=torch.double)
    elif "answers" in batch:
        inputs["start_positions"] = torch.tensor([batch["answers"][i][0] for i in chosen])
        inputs["end_positions"] = torch.tensor([batch["answers"][i][1] for i in chosen])
    if "texts" in batch:
        for name in set(inputs) - {"labels"}:
            inputs[name] = inputs[name].unflatten(0, (-1, CHOICES))
    return inputs


def reference(model, batch, head):
    """Outputs, mean loss; gradients are left in the model."""
    model.zero_grad()
    everything = range(SEQUENCES)
    if head == "answers":  # one by one, without padding
        results = [model(**inputs_of(model, batch, [i])) for i in everything]
        outputs, loss = torch.cat([answer_outputs(r) for r in results]), sum(r.loss for r in results) / SEQUENCES
    else:
        inputs = inputs_of(model, batch, everything)
        mask = inputs["attention_mask"] == 1
        result = model(**inputs)
        loss = result.loss if hasattr(result, "loss") else None
        if head == "answers-padded":
            outputs = answer_outputs(result)
        elif head == "tokens":
            outputs = result.logits[mask]
        elif head == "choice":
            outputs = result.logits.reshape(-1, 1)
        elif head == "masked":
            rows, originals = torch.tensor(batch["masked"]).T
            outputs = result.logits[mask][rows]
            loss = torch.nn.functional.cross_entropy(outputs, originals)
        elif head == "embeddings":
            rows = result.last_hidden_state * mask[..., None]
            outputs = rows.sum(1) / mask.sum(1, keepdim=True)
            loss = (outputs * torch.tensor(batch["slopes"], dtype=torch.double)).sum()
        else:
            outputs = result.logits
    loss.backward()
    return outputs.detach(), loss.item()


def unseen(name, head, layers):
    """Softmax does not see what is added to all numbers alike: such a gradient is zero but for
    rounding. Keys add their bias to a row of scores; answers compete among all tokens, choices among
    each other."""
    if name.endswith(("key.bias", "attn.k.bias")):
        return True
    if head.startswith("answers"):
        return name.endswith(("qa_outputs.bias", f"layer.{layers - 1}.output.LayerNorm.bias"))
    return head == "choice" and name == "classifier.bias"


def run(program, folder, batch, copy):
    path, result = os.path.join(folder, "batch.json"), os.path.join(folder, "result.safetensors")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(batch, out)
    os.makedirs(copy)
    subprocess.run([program, folder, path, result, copy], check=True)
    return load_file(result)


def float_errors(model, batch, head, expected):
    """Relative errors of torch's own gradients in float32, by name."""
    single = copy_module.deepcopy(model).float()
    reference(single, batch, head)
    names = dict(single.named_parameters(remove_duplicate=False))
    return {name: ((names[own].grad - gradient).norm() / gradient.norm()).item()
            for name, (own, gradient) in expected.items() if not unseen(own, head, model.config.num_hidden_layers)}


def check_gradients(model, batch, head, found, expected, where, worst):
    largest = max(gradient.norm() for _, gradient in expected.values())
    of_torch = None
    for name, (_, gradient) in expected.items():
        distance = (found[name] - gradient).norm()
        zero = unseen(name, head, model.config.num_hidden_layers)
        assert (gradient.norm() < 1e-10 * largest) == zero, (where, name, gradient.norm() / largest)
        if zero:
            worst.add("zero gradients / the largest", (distance / largest.clamp(min=0.1)).item(), 1e-6,
                      f"{where} {name}")
            continue
        error = (distance / gradient.norm()).item()
        if error <= 1e-5:
            worst.add("gradients, relative L2", error, 1e-5, f"{where} {name}")
            continue
        # A difference of larger numbers has their rounding, in torch as well.
        of_torch = of_torch or float_errors(model, batch, head, expected)
        worst.add("gradients beside torch's in float32", error / max(of_torch.values()), 3, f"{where} {name}")


def check(program, family, number, head, folder, worst):
    source = random.Random(f"{family} {number} {head}")
    config = config_of(family, source, head)
    where = f"{family} {number} {head}"
    model = make_model(config, head, folder)
    batch = make_batch(model, head, source)
    copy = os.path.join(folder, "copy")
    found = run(program, folder, batch, copy)
    check_copy(model, copy, where)
    outputs, loss = reference(model, batch, head)
    scale = max(1.0, outputs.abs().max().item())
    worst.add("outputs, of the largest", (found.pop("outputs") - outputs).abs().max().item() / scale, 1e-5, where)
    worst.add("loss, relative", abs(found.pop("loss").item() - loss) / max(abs(loss), 0.1), 1e-5, where)
    prefix = PREFIXES.get(family, family + ".") if head == "embeddings" else ""
    # A parameter with two names is tied; one of them is dttrain's.
    names = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if p.grad is not None and (p not in names or prefix + name in found):
            names[p] = name
    expected = {prefix + name: (name, p.grad) for p, name in names.items()}
    assert set(found) == set(expected), (where, set(found) ^ set(expected))
    check_gradients(model, batch, head, found, expected, where, worst)
    if head != "answers-padded":
        rounded = run(program, folder, dict(batch, bf16=True), copy + "-bf16")["outputs"]
        error = ((rounded - outputs).norm() / outputs.norm()).item()
        worst.add("outputs in bf16, relative L2", error, 0.03, where)
        assert error > 1e-6, (where, "bf16 changed nothing")


def check_training(program, family, folder):
    parity.LEARNING_RATE = 5e-4  # with 2e-3, losses rise now and then, and with them rounding
    case = parity.Case(program, family, folder)
    curve = [loss for loss, _ in case.torch_training(100)]
    assert curve[-1] < 0.7 * curve[0], f"{family}: nothing was learnt"
    found = parity.losses_of(case.run_training("hundred", 100))
    parity.expect(f"{family}: losses of 100 steps, relative", parity.largest_gap(found, curve) / curve[0], 3e-6)
    ten = parity.without_noise(dict(parity.model_after(case, 10)))
    output = case.run_training("ten", 10)
    found = dict(case.model(output).named_parameters())
    parity.expect(f"{family}: parameters after 10 steps",
                  max((found[n] - p).abs().max().item() for n, p in ten.items()), 5e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model_here")
    parser.add_argument("dttrain")
    parser.add_argument("--folders", type=int, default=1)
    parser.add_argument("families", nargs="*", default=sorted(parity.FAMILIES))
    a = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    worst, cases = Worst(), 0
    for family in a.families:
        for number in range(a.folders):
            for head in HEADS:
                with tempfile.TemporaryDirectory() as folder:
                    check(a.model_here, family, number, head, folder, worst)
                    cases += 1
        with tempfile.TemporaryDirectory() as folder:
            check_training(a.dttrain, family, folder)
    print(f"{cases} models and batches")
    worst.show()
    if failures or parity.failures:
        sys.exit("too far apart:\n" + "\n".join(failures + parity.failures))


if __name__ == "__main__":
    main()
