"""ModernBERT beside transformers: random models of odd shapes, with every head: outputs, loss and
every gradient, and the folders that dttrain writes; embeddings; 100 steps of AdamW; a masked language
model. Windows are smaller than the texts. The reference runs in double where rotary positions
allow it.

modernbert_parity.py MODEL_HERE EMBEDDINGS_HERE DTTRAIN [--models N]"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

import model_parity
import parity

HEADS = ["single", "multi", "regression", "answers", "answers-padded", "tokens"]
ACTIVATIONS = ["gelu", "gelu_new", "relu"]
LONG = [330, 12, 301, 150]


def config_of(source, long_texts):
    heads = source.choice([2, 3, 5])
    options = dict(
        hidden_size=heads * source.choice([6, 8, 10]), num_attention_heads=heads,
        num_hidden_layers=source.randint(1, 7), intermediate_size=source.randint(5, 70),
        hidden_activation=source.choice(ACTIVATIONS), classifier_activation=source.choice(ACTIVATIONS),
        local_attention=16 if long_texts else source.randint(1, 30),
        classifier_pooling=source.choice(["cls", "mean"]), norm_eps=10 ** source.uniform(-7, -4),
        vocab_size=model_parity.VOCABULARY, max_position_embeddings=400, pad_token_id=0,
        initializer_range=0.15, global_rope_theta=source.choice([160000.0, 500.0]),
        local_rope_theta=source.choice([10000.0, 77.5]))
    for bias in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"):
        options[bias] = source.random() < 0.3
    if source.random() < 0.7:
        options["global_attn_every_n_layers"] = source.randint(1, 4)
    else:
        options["layer_types"] = [source.choice(["full_attention", "sliding_attention"])
                                  for _ in range(options["num_hidden_layers"])]
    return options


def labels_of(head):
    kind = head.split("-")[0]
    problem = dict(multi="multi_label_classification", regression="regression",
                   single="single_label_classification")
    return dict(num_labels=dict(single=3, multi=4, regression=1, tokens=5).get(kind, 2), problem_type=problem.get(kind))


def shaken(model):
    """Biases and norms too, so that every gradient is tested."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def make_model(options, head, folder):
    task = ("QuestionAnswering" if head.startswith("answers") else
            "TokenClassification" if head.startswith("tokens") else "SequenceClassification")
    torch.manual_seed(7)
    model = getattr(transformers, f"ModernBertFor{task}")(transformers.ModernBertConfig(**options, **labels_of(head)))
    shaken(model).save_pretrained(folder)
    return model.double().eval()


def unseen(name, head):
    """Answers compete among all tokens: what is added to all of them alike has no gradient."""
    return head.startswith("answers") and name in ("classifier.bias", "head.norm.bias")


def compare(found, expected, unseen_of, where, worst):
    assert set(found) == set(expected), (where, set(found) ^ set(expected))
    largest = max(gradient.norm() for gradient in expected.values())
    for name, gradient in expected.items():
        distance = (found[name] - gradient).norm()
        if unseen_of(name) or gradient.norm() < 1e-5 * largest:
            worst.add("zero gradients / the largest", (distance / largest).item(), 1e-6, f"{where} {name}")
        else:
            worst.add("gradients, relative L2", (distance / gradient.norm()).item(), 1e-5, f"{where} {name}")


def check_head(program, name, options, head, lengths, folder, worst):
    where = f"{name} {head}"
    model = make_model(options, head, folder)
    batch = model_parity.make_batch(model, head, lengths)
    path, result = os.path.join(folder, "batch.json"), os.path.join(folder, "result.safetensors")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(batch, out)
    copy = os.path.join(folder, "copy")
    os.mkdir(copy)
    subprocess.run([program, folder, path, result, copy], check=True)
    model_parity.check_copy(model, copy, where)
    found = load_file(result)
    outputs, loss = found.pop("outputs"), found.pop("loss").item()
    # In double, "eager" makes NaN of a token of padding whose window has no key. "answers" has no padding.
    for how in ["sdpa", "eager"] if head == "answers" else ["sdpa"]:
        model.set_attn_implementation(how)
        expected, expected_loss = model_parity.reference(model, batch, head)
        scale = max(1, expected.abs().max().item())
        worst.add("outputs, of the largest", (outputs - expected).abs().max().item() / scale, 1e-5, f"{how} {where}")
        worst.add("loss, relative", abs(loss - expected_loss) / abs(expected_loss), 3e-6, f"{how} {where}")
        gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
        compare(found, gradients, lambda tensor: unseen(tensor, head), f"{how} {where}", worst)


def check_embeddings(program, name, options, folder, worst):
    torch.manual_seed(8)
    model = shaken(transformers.ModernBertModel(transformers.ModernBertConfig(**options))).double().eval()
    model.config.save_pretrained(folder)
    save_file({f"model.{n}": p.float().contiguous() for n, p in model.named_parameters()}, os.path.join(folder, "w"))
    source = random.Random(4)
    texts = [[[source.randint(1, 60) for _ in range(source.randint(2, 50))] for _ in range(2)] for _ in range(3)]
    case = dict(weights="w", dense=[], normalize=False, texts=texts, targets=[0.2, 0.9, 0.4], pad_to=0,
                loss=dict(kind="cosine", scale=1, symmetric=False, margin=1, distance="cosine", dimensions=[], weights=[]))
    cases = [dict(case, pooling=pooling, result=pooling) for pooling in ("cls", "mean")]
    with open(os.path.join(folder, "cases"), "w", encoding="utf-8") as out:
        json.dump(cases, out)
    subprocess.run([program, folder, os.path.join(folder, "cases")], check=True)
    for pooling in ("cls", "mean"):
        model.zero_grad()
        rows = [model(torch.tensor([text])).last_hidden_state[0] for example in texts for text in example]
        rows = torch.stack([row[0] if pooling == "cls" else row.mean(0) for row in rows])
        cosines = torch.nn.functional.cosine_similarity(rows[0::2], rows[1::2])
        torch.nn.functional.mse_loss(cosines, torch.tensor(case["targets"], dtype=torch.double)).backward()
        found = load_file(os.path.join(folder, pooling))
        scale = max(1, rows.abs().max().item())
        worst.add("embeddings, of the largest", (found.pop("outputs") - rows).abs().max().item() / scale, 1e-5, f"{name} {pooling}")
        found.pop("loss")
        expected = {f"model.{n}": p.grad for n, p in model.named_parameters()}
        compare(found, expected, lambda _: False, f"{name} {pooling}", worst)


class ModernCase(parity.Case):
    """Of parity.py: a model's folder with WordPiece, and its texts."""

    def make_model(self):
        os.makedirs(self.start)
        torch.manual_seed(5)
        labels = {i: f"class{i}" for i in range(parity.CLASSES)}
        shaken(transformers.ModernBertForSequenceClassification(transformers.ModernBertConfig(
            hidden_size=36, num_hidden_layers=4, num_attention_heads=3, intermediate_size=53, local_attention=8,
            vocab_size=5 + len(parity.WORDS), max_position_embeddings=40, id2label=labels, pad_token_id=0,
            label2id={name: i for i, name in labels.items()}, classifier_pooling="mean"))).save_pretrained(self.start)
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + parity.WORDS
        with open(os.path.join(self.start, "vocab.txt"), "w", encoding="utf-8") as out:
            out.write("\n".join(words) + "\n")
        transformers.BertTokenizerFast(os.path.join(self.start, "vocab.txt")).save_pretrained(self.start)
        path = os.path.join(self.start, "tokenizer_config.json")
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"  # as in ModernBERT's folders
        with open(path, "w", encoding="utf-8") as out:
            json.dump(settings, out)

    def model(self, folder=None):
        return transformers.ModernBertForSequenceClassification.from_pretrained(folder or self.start)


def check_training(program, folder, worst):
    case = ModernCase(program, "modernbert", folder)
    runs = list(case.torch_training(100))
    curve = [loss for loss, _ in runs]
    assert curve[-1] < 0.7 * curve[0], "nothing was learnt"
    output = case.run_training("hundred", 100)
    worst.add("loss curve of 100 steps", parity.largest_gap(parity.losses_of(output), curve), 1e-5, "AdamW")
    expected = dict(runs[-1][1].named_parameters())
    model, report = transformers.ModernBertForSequenceClassification.from_pretrained(output, output_loading_info=True)
    assert not any(report.values()), report
    gap = max((p - expected[n]).abs().max().item() for n, p in model.named_parameters())
    worst.add("parameters after 100 steps", gap, 1e-5, "AdamW")
    # transformers' logits of the saved folder are dttrain's.
    evaluated = case.run("again", "--model_name_or_path", output, "--do_eval", "--validation_file",
                         os.path.join(folder, "eval.tsv"))
    found = load_file(evaluated + ".dump/logits.safetensors")["logits"]
    with torch.no_grad():
        logits = model.eval()(**case.batch(case.evaluation)).logits
    worst.add("logits of the saved folder", (found - logits).abs().max().item(), 1e-5, "AdamW")
    classify = transformers.pipeline("text-classification", model=output)
    names = [answer["label"] for answer in classify([text for text, _ in case.evaluation])]
    assert names == [f"class{i}" for i in logits.argmax(-1).tolist()], names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=3)
    parser.add_argument("--models", type=int, default=10)
    a = parser.parse_args()
    model_here, embeddings_here, dttrain = map(os.path.abspath, a.programs)
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    worst = model_parity.Worst()
    for number in range(a.models):
        source = random.Random(number)
        long_texts = number % 5 == 4
        options = config_of(source, long_texts)
        heads = HEADS if not long_texts else ["answers", source.choice(HEADS)]
        for head in heads:
            with tempfile.TemporaryDirectory() as folder:
                check_head(model_here, f"model {number}", options, head, LONG if long_texts else None, folder, worst)
        with tempfile.TemporaryDirectory() as folder:
            check_embeddings(embeddings_here, f"model {number}", options, folder, worst)
    with tempfile.TemporaryDirectory() as folder:
        check_training(dttrain, folder, worst)
    worst.show()
    if model_parity.failures:
        sys.exit("too far apart:\n" + "\n".join(model_parity.failures))


if __name__ == "__main__":
    main()
