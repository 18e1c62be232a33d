"""DeBERTa-v2 beside transformers, from random folders of many shapes: outputs, loss and every gradient
of one batch for each head, the folder written again, the rows of distances, and AdamW steps of a whole
run. The reference runs in double. Usage: deberta_parity.py MODEL_HERE DTTRAIN [--all]"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

import model_parity
import parity

V3 = dict(relative_attention=True, share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False,
          pos_att_type="p2c|c2p")
# Hidden size, heads, intermediate size, activation; and what differs from V3.
SHAPES = [
    ((36, 3, 53, "gelu"), dict(position_buckets=8)),
    ((32, 4, 75, "gelu_new"), dict(position_buckets=64, pos_att_type="c2p|p2c", type_vocab_size=2)),
    ((26, 2, 41, "relu"), dict(position_buckets=7, pos_att_type=["c2p"], pooler_hidden_act="tanh")),
    ((20, 5, 33, "gelu"), dict(position_buckets=16, pos_att_type="p2c", max_relative_positions=64)),
    ((24, 1, 40, "gelu"), dict(share_att_key=False, position_buckets=12, norm_rel_ebd="none")),
    ((24, 2, 40, "gelu"), dict(share_att_key=False, pos_att_type="p2c", max_relative_positions=9)),
    ((36, 2, 29, "gelu"), dict(share_att_key=False, pos_att_type="c2p", position_biased_input=True)),
    ((28, 4, 31, "relu"), dict(max_relative_positions=20, type_vocab_size=3, pooler_hidden_act="relu")),
    ((30, 3, 37, "gelu"), dict(relative_attention=False, position_biased_input=True, cls_dropout=0.3)),
    ((22, 1, 45, "gelu"), dict(pos_att_type=None, position_buckets=10, position_biased_input=True)),
]
HEADS = ["single", "multi", "regression", "answers", "tokens", "masked", "masked-new", "embeddings"]
LABELS = dict(single=3, multi=4, regression=1, tokens=5)
PROBLEMS = dict(multi="multi_label_classification", regression="regression", single="single_label_classification")
CLASSES = {"single": "ForSequenceClassification", "multi": "ForSequenceClassification",
           "regression": "ForSequenceClassification", "answers": "ForQuestionAnswering",
           "tokens": "ForTokenClassification", "masked": "ForMaskedLM", "embeddings": "Model"}


def make_model(shape, head, folder, layers=2, **more):
    (hidden, heads, intermediate, activation), traits = shape
    kind = head.split("-")[0]
    config = transformers.DebertaV2Config(**{**dict(
        vocab_size=model_parity.VOCABULARY, max_position_embeddings=model_parity.POSITIONS, hidden_size=hidden,
        num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=intermediate, hidden_act=activation,
        num_labels=LABELS.get(kind, 2), problem_type=PROBLEMS.get(kind), initializer_range=0.15,
        legacy=head != "masked-new"), **V3, **traits, **more})
    torch.manual_seed(7)
    model = getattr(transformers, "DebertaV2" + CLASSES[kind])(config)
    with torch.no_grad():  # biases too, so that every gradient is tested
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model.double().eval()


def make_batch(model, head):
    """model_parity's; or ids of which some are masked, or texts with slopes of their embeddings."""
    kind = head.split("-")[0]
    if kind not in ("masked", "embeddings"):
        return model_parity.make_batch(model, head)
    batch = model_parity.make_batch(model, "tokens")
    del batch["token_labels"]
    source = random.Random(4)
    batch["task"] = kind
    if kind == "masked":  # the second text has none
        starts = list(itertools.accumulate(map(len, batch["ids"]), initial=0))
        batch["masked"] = [(row, source.randrange(model_parity.VOCABULARY)) for row in range(starts[-1])
                           if source.random() < 0.2 and not starts[1] <= row < starts[2]]
    else:
        batch["slopes"] = [[source.gauss(0, 1) for _ in range(model.config.hidden_size)] for _ in batch["ids"]]
    return batch


def reference(model, batch, head):
    kind = head.split("-")[0]
    if kind not in ("masked", "embeddings"):
        return model_parity.reference(model, batch, head)
    model.zero_grad()
    inputs = model_parity.inputs_of(model, {**batch, "targets": [[0]] * len(batch["ids"])}, range(len(batch["ids"])))
    del inputs["labels"]
    result = model(**inputs)
    mask = inputs["attention_mask"]
    if kind == "embeddings":
        outputs = (result.last_hidden_state * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        loss = (outputs * torch.tensor(batch["slopes"], dtype=torch.float).double()).sum()
        loss.backward()
        return outputs.detach(), loss.item()
    rows, originals = zip(*batch["masked"])
    outputs = result.logits[mask == 1][list(rows)]
    loss = torch.nn.functional.cross_entropy(outputs, torch.tensor(originals))
    loss.backward()
    return outputs.detach(), loss.item()


def unseen_in(config):
    """Tells which gradients are zero but for rounding. Biases of keys, of tokens or distances, add the same to a
    row of scores, unless positions ask them. Nothing uses the table without terms."""
    terms = (config.pos_att_type or []) if config.relative_attention else []

    def unseen(name, head):
        if name.endswith("key_proj.bias"):
            return not name.endswith(".key_proj.bias") or "p2c" not in terms
        if "encoder.rel_embeddings" in name or "encoder.LayerNorm" in name:
            return not terms or (name.endswith("bias") and "p2c" not in terms)
        return head == "answers" and name.endswith(("qa_outputs.bias", "1.output.LayerNorm.bias"))
    return unseen


def check_shape(program, number, head, worst):
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(SHAPES[number], head, folder)
        model_parity.check_model(program, model, make_batch(model, head), head, folder, worst,
                                 f"{SHAPES[number]} {head}", (reference, unseen_in(model.config)))


def check_distances(program, longest, buckets, largest):
    with tempfile.TemporaryDirectory() as folder:
        transformers.DebertaV2Config(**{**V3, "position_buckets": buckets, "max_relative_positions": largest}
                                     ).save_pretrained(folder)
        path, result = os.path.join(folder, "batch.json"), os.path.join(folder, "result.safetensors")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"task": "tokens", "ids": [], "types": [], "distances": longest}, out)
        subprocess.run([program, folder, path, result, folder], check=True)
        found = load_file(result)["outputs"].long()
    distances = torch.arange(1 - longest, longest)
    rows = make_log_bucket_position(distances, buckets, largest) if buckets > 0 else distances
    span = buckets if buckets > 0 else largest
    expected = torch.clamp(rows.long() + span, 0, 2 * span - 1)
    if not torch.equal(found, expected):
        wrong = distances[found != expected].tolist()
        model_parity.failures.append(f"rows of {buckets} buckets up to {largest}: other at {wrong[:5]}, {len(wrong)} in all")


def check_training(program, steps):
    """A curve of losses, and the parameters after it, of `dttrain` beside torch's AdamW."""
    print("deberta-v2")
    with tempfile.TemporaryDirectory() as folder:
        case = parity.Case(program, "deberta-v2", folder)
        curve, model = [], None
        for loss, model in case.torch_training(steps):
            curve.append(loss)
        assert curve[-1] < 0.9 * curve[0], "nothing was learnt"
        output = case.run_training("steps", steps)
        parity.expect(f"loss curve of {steps} steps", parity.largest_gap(parity.losses_of(output), curve), 1e-5)
        found = dict(case.model(output).named_parameters())
        parity.expect(f"parameters after {steps} steps, of the largest", max(
            ((found[name] - p).abs().max() / p.abs().max()).item() for name, p in model.named_parameters()
            if not name.endswith("key_proj.bias")), 1e-5)


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    program, dttrain, everything = sys.argv[1], sys.argv[2], "--all" in sys.argv
    worst, cases = model_parity.Worst(), 0
    for number in range(len(SHAPES)):
        for at, head in enumerate(HEADS):
            if everything or number == 0 or (number + at) % 5 == 0:
                check_shape(program, number, head, worst)
                cases += 1
    sizes = [(256, 512), (32, 512), (-1, 100), (7, 40), (64, 128), (6, 13), (48, 193), (512, 1024)]
    if everything:
        sizes += [(buckets, largest) for buckets in range(2, 80, 3) for largest in range(buckets // 2 + 2, 600, 37)]
    for buckets, largest in sizes:
        check_distances(program, 513, buckets, largest)
    print(f"{cases} models and batches, {len(sizes)} tables of distances")
    worst.show()
    if dttrain != "-":
        check_training(dttrain, 100 if everything else 30)
    if model_parity.failures or parity.failures:
        sys.exit("too far apart:\n" + "\n".join(model_parity.failures + parity.failures))


if __name__ == "__main__":
    main()
