"""Models that make embeddings beside sentence-transformers: outputs, loss and every gradient of one
batch, without dropout, for each loss, shape of examples, cut to dimensions, pooling and head. The
reference runs in double. Usage: embeddings_parity.py EMBEDDINGS_HERE"""

import itertools
import json
import logging
import os
import random
import subprocess
import sys
import tempfile

try:
    import sentence_transformers
except ImportError:
    print("skipped: no sentence_transformers")
    sys.exit(77)
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers.sentence_transformer import losses, modules

VOCABULARY, HIDDEN, EXAMPLES = 61, 24, 7
POOLINGS = ["cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
ACTIVATIONS = dict(identity=torch.nn.Identity(), tanh=torch.nn.Tanh(), relu=torch.nn.ReLU(),
                   gelu=torch.nn.GELU(), sigmoid=torch.nn.Sigmoid())
DISTANCES = dict(cosine=losses.TripletDistanceMetric.COSINE,
                 euclidean=losses.TripletDistanceMetric.EUCLIDEAN,
                 manhattan=losses.TripletDistanceMetric.MANHATTAN)
PLAIN = dict(scale=20.0, symmetric=False, margin=5.0, distance="euclidean")
# Losses and the texts of their examples.
LOSSES = [(dict(PLAIN, kind="ranking"), 2), (dict(PLAIN, kind="ranking"), 4),
          (dict(PLAIN, kind="ranking", scale=5.0, symmetric=True), 2),
          (dict(PLAIN, kind="ranking", symmetric=True), 3), (dict(PLAIN, kind="cosine"), 2),
          (dict(PLAIN, kind="cosent"), 2), (dict(PLAIN, kind="triplet"), 3),
          (dict(PLAIN, kind="triplet", distance="manhattan"), 3),
          (dict(PLAIN, kind="triplet", margin=0.5, distance="cosine"), 3)]
CUTS = [([], []), ([8, 3], []), ([8, 5, 2], [1.0, 0.5, 2.0])]
HEADS = [([], False), ([], True),
         ([dict(outputs=8, bias=True, activation="tanh")], True),
         ([dict(outputs=11, bias=False, activation="gelu"),
           dict(outputs=9, bias=True, activation="identity")], False),
         ([dict(outputs=10, bias=True, activation="relu"),
           dict(outputs=8, bias=True, activation="sigmoid")], False)]


def cases():
    """All losses and cuts with the usual head; all poolings and heads with the usual loss."""
    usual = (POOLINGS[1], HEADS[0])
    for number, (loss, cut) in enumerate(itertools.product(LOSSES, CUTS)):
        yield (*loss, cut, *usual)
        yield (*loss, cut, POOLINGS[number % len(POOLINGS)], HEADS[number % len(HEADS)])
    for number, (pooling, head) in enumerate(itertools.product(POOLINGS, HEADS)):
        yield (*LOSSES[number % len(LOSSES)], CUTS[number % 2], pooling, head)


def make_folder(folder):
    transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=37, max_position_embeddings=32, initializer_range=0.15,
        architectures=["BertModel"]).save_pretrained(folder)
    with open(os.path.join(folder, "vocab.txt"), "w") as out:
        words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(VOCABULARY - 5)]
        out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
    transformers.BertTokenizerFast(os.path.join(folder, "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(7)
    transformers.BertModel(transformers.BertConfig.from_pretrained(folder)).save_pretrained(folder)


def make_model(folder, pooling, head, seed):
    dense, normalize = head
    parts = [modules.Transformer(folder), modules.Pooling(HIDDEN, pooling_mode=pooling)]
    inputs = HIDDEN
    for layer in dense:
        parts.append(modules.Dense(inputs, layer["outputs"], bias=layer["bias"],
                                   activation_function=ACTIVATIONS[layer["activation"]]))
        inputs = layer["outputs"]
    if normalize:
        parts.append(modules.Normalize())
    model = sentence_transformers.SentenceTransformer(modules=parts, device="cpu")
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model.eval()


def names_of(model):
    """The parameters by dttrain's names. The pooler gets no gradient."""
    found, dense = {}, 0
    for module in model:
        if isinstance(module, modules.Dense):
            for name, parameter in module.named_parameters():
                found[f"dense.{dense}.{name}"] = parameter
            dense += 1
    for name, parameter in model[0].named_parameters():
        name = "bert." + name.split("model.", 1)[-1]
        if "pooler" not in name:
            found[name] = parameter
    return found


def make_loss(model, loss, cut):
    if loss["kind"] == "ranking" and loss["symmetric"]:
        # As MultipleNegativesSymmetricRankingLoss, which is deprecated.
        made = losses.MultipleNegativesRankingLoss(
            model, scale=loss["scale"], directions=("query_to_doc", "doc_to_query"),
            partition_mode="per_direction")
    elif loss["kind"] == "ranking":
        made = losses.MultipleNegativesRankingLoss(model, scale=loss["scale"])
    elif loss["kind"] == "cosine":
        made = losses.CosineSimilarityLoss(model)
    elif loss["kind"] == "cosent":
        made = losses.CoSENTLoss(model, scale=loss["scale"])
    else:
        made = losses.TripletLoss(model, DISTANCES[loss["distance"]], loss["margin"])
    dimensions, weights = cut
    return losses.MatryoshkaLoss(model, made, dimensions, weights or None) if dimensions else made


def features_of(texts):
    width = max(map(len, texts))
    ids = torch.tensor([text + [0] * (width - len(text)) for text in texts])
    return dict(input_ids=ids, attention_mask=(ids != 0).long(), token_type_ids=0 * ids)


def reference(model, case):
    # The loss casts targets to float32: choose such that are exact.
    model = model.double()
    targets = torch.tensor(case["targets"], dtype=torch.double)
    columns = [features_of(list(column)) for column in zip(*case["texts"])]
    outputs = torch.stack([model(dict(column))["sentence_embedding"] for column in columns], 1)
    model.zero_grad()
    made = make_loss(model, case["loss"], (case["loss"]["dimensions"], case["loss"]["weights"]))
    loss = made(columns, targets)
    loss.backward()
    return outputs.flatten(0, 1).detach(), loss.item()


def make_case(number, loss, texts, cut, pooling, head):
    source = random.Random(number)
    scored = loss["kind"] in ("cosine", "cosent")
    return dict(
        weights=f"{number}.weights", result=f"{number}.result", pooling=pooling, dense=head[0],
        normalize=head[1], loss=dict(loss, dimensions=cut[0], weights=cut[1]),
        texts=[[[source.randint(1, VOCABULARY - 1) for _ in range(source.randint(3, 20))]
                for _ in range(texts)] for _ in range(EXAMPLES)],
        targets=[source.randrange(5) / 4 for _ in range(EXAMPLES)] if scored else [],
        pad_to=20 if number % 3 == 0 else 0)


def cancels(name, case):
    """Whether a gradient is zero but for rounding. Softmax does not see what is added to all scores
    of a row, and distances do not see what is added to all embeddings; nearly so if a function with
    nearly constant slopes comes in between."""
    if name.endswith("key.bias"):
        return True
    of_distances = case["loss"]["kind"] == "triplet" and case["loss"]["distance"] != "cosine"
    last = (f"dense.{len(case['dense']) - 1}.linear.bias" if case["dense"] else
            "bert.encoder.layer.1.output.LayerNorm.bias")
    return of_distances and name == last


failures, worst = [], {}


def compare(what, value, limit, where):
    if not value <= limit:
        failures.append(f"{where}: {what} is {value:.2e}, at most {limit:.0e}")
    if what not in worst or not value <= worst[what][0]:
        worst[what] = (value, limit, where)


def check(folder, case, model):
    where = json.dumps({key: case[key] for key in ("loss", "pooling", "dense", "normalize")})
    found = load_file(os.path.join(folder, case["result"]))
    outputs, loss = reference(model, case)
    compare("outputs, largest difference", (found.pop("outputs") - outputs).abs().max().item(), 1e-5,
            where)
    compare("loss, relative", abs(found.pop("loss").item() - loss) / abs(loss), 1e-5, where)
    expected = {name: parameter.grad for name, parameter in names_of(model).items()}
    assert set(found) == set(expected), (where, set(found) ^ set(expected))
    largest = max(gradient.norm() for gradient in expected.values())
    assert largest > 1e-3, (where, largest)
    for name, gradient in expected.items():
        distance = (found[name] - gradient).norm()
        unseen = cancels(name, case)
        scale = largest if unseen else gradient.norm()
        compare("zero gradients / the largest" if unseen else "gradients, relative L2",
                (distance / scale).item(), 1e-6 if unseen else 1e-5, f"{where} {name}")


def main():
    torch.set_num_threads(1)
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        make_folder(folder)
        all_cases = [make_case(number, *case) for number, case in enumerate(cases())]
        models = []
        for number, case in enumerate(all_cases):
            models.append(make_model(folder, case["pooling"], (case["dense"], case["normalize"]),
                                     number))
            save_file({name: parameter.detach().clone() for name, parameter in
                       names_of(models[-1]).items()}, os.path.join(folder, case["weights"]))
        with open(os.path.join(folder, "cases.json"), "w") as out:
            json.dump(all_cases, out)
        subprocess.run([sys.argv[1], folder, os.path.join(folder, "cases.json")], check=True)
        for case, model in zip(all_cases, models):
            check(folder, case, model)
    print(f"{len(all_cases)} models and batches")
    for what, (value, limit, where) in worst.items():
        print(f"{what:<32} {value:9.2e}  (limit {limit:.0e})  {where}")
    if failures:
        sys.exit("too far apart:\n" + "\n".join(failures))


main()
