"""PyTorch's side of bench/train.py, inside the measured Python: steps of training, or a start.

With transformers its models are trained; without (Debian's python3-torch), the same encoder made of
torch.nn.TransformerEncoderLayer.
"""
import argparse
import json
import math
import resource
import time

CLASSES = 8
DISTILBERT_LAYERS = 6


def parts_of(torch, layers, vocabulary, hidden=768, heads=12):
    layer = torch.nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, 0.1, "gelu",
                                             batch_first=True)
    nn = torch.nn
    return nn.ModuleDict({
        "word": nn.Embedding(vocabulary, hidden, padding_idx=0), "place": nn.Embedding(512, hidden),
        "norm": nn.LayerNorm(hidden), "encoder": nn.TransformerEncoder(layer, layers),
        "pool": nn.Linear(hidden, hidden), "out": nn.Linear(hidden, CLASSES)})


def plain_model(torch, layers, vocabulary):
    """(module, function of ids and labels that gives the loss)."""
    parts = parts_of(torch, layers, vocabulary).train()
    functional = torch.nn.functional

    def loss_of(ids, labels):
        x = parts["word"](ids) + parts["place"](torch.arange(ids.shape[1]))
        x = functional.dropout(parts["norm"](x), 0.1)
        x = parts["encoder"](x, src_key_padding_mask=ids == 0)
        pooled = functional.dropout(torch.tanh(parts["pool"](x[:, 0])), 0.1)
        return functional.cross_entropy(parts["out"](pooled), labels)

    return parts, loss_of


def config_of(transformers, a, **more):
    """Of base size, for texts of up to 512 tokens."""
    if a.type == "distilbert":
        return transformers.DistilBertConfig(n_layers=a.layers, **more)
    if a.type == "electra":
        more["embedding_size"] = 768
    if a.type == "deberta-v2":  # as DeBERTa-v3
        more.update(relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
                    pos_att_type="p2c|c2p", position_biased_input=False)
    if a.type == "modernbert":
        return transformers.ModernBertConfig(
            num_hidden_layers=a.layers, hidden_size=a.hidden, pad_token_id=0, num_attention_heads=a.hidden // 64,
            intermediate_size=a.hidden * 3 // 2, vocab_size=a.vocabulary, **more)
    config = transformers.AutoConfig.for_model(
        a.type, hidden_size=768, num_hidden_layers=a.layers, num_attention_heads=12,
        intermediate_size=3072, vocab_size=a.vocabulary, **more)
    if config.pad_token_id == 1:  # positions begin at 2
        config.max_position_embeddings = 514
    return config


def model_of(torch, a):
    try:
        import transformers
    except ImportError:
        assert a.labels == "texts", "only one label for each text works without transformers"
        return plain_model(torch, a.layers, a.vocabulary)
    what = {"tokens": "TokenClassification", "masked": "MaskedLM"}.get(
        a.labels, "SequenceClassification")
    problem = {"multi_label": "multi_label_classification"}.get(a.labels)
    config = config_of(transformers, a, num_labels=CLASSES, problem_type=problem)
    if a.type == "modernbert":
        # "eager" names how torch runs; attention is transformers' default, or its plainest.
        config._attn_implementation = a.attention
    module = getattr(transformers, f"AutoModelFor{what}").from_config(config).train()
    model = torch.compile(module) if a.how == "compiled" else module

    def loss_of(ids, labels):
        is_token = ids != 0
        return model(input_ids=ids.masked_fill(~is_token, config.pad_token_id),
                     attention_mask=is_token.long(), labels=labels).loss

    return module, loss_of


def batches_of(torch, a):
    """The batches of dttrain's first epoch: torch.randperm with its default seed, 42."""
    with open(a.examples, encoding="ascii") as file:
        rows = [[int(word) for word in line.split()] for line in file]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(42)).tolist()
    for step in range(a.steps):
        yield [rows[i] for i in order[step * a.batch:(step + 1) * a.batch]]


def token_labels(torch, rows, width):
    """As train_steps makes them of ids; none for the first and the last token, nor for padding."""
    return torch.tensor([[-100, *(i % CLASSES for i in row[2:-1]), *[-100] * (width - len(row) + 2)]
                         for row in rows])


def masked(torch, ids):
    """(ids, labels) as DataCollatorForLanguageModeling makes them: 15 % of the tokens, of which 80 %
    become [MASK] and 10 % any token."""
    plain = (ids != 0) & (ids != 101) & (ids != 102)
    chosen = (torch.rand(ids.shape) < 0.15) & plain
    labels = torch.where(chosen, ids, -100)
    fate = torch.rand(ids.shape)
    ids = torch.where(chosen & (fate < 0.8), 103, ids)
    return torch.where(chosen & (fate >= 0.9), torch.randint(1000, 30522, ids.shape), ids), labels


def targets(torch, a, rows, ids):
    """(what the model sees, what it has to learn), as train_steps."""
    if a.labels == "tokens":
        return ids, token_labels(torch, rows, ids.shape[1])
    if a.labels == "masked":
        return masked(torch, ids)
    if a.labels == "multi_label":
        return ids, torch.tensor([[float(37 * (row[0] + 1) >> i & 1) for i in range(CLASSES)]
                                  for row in rows])
    return ids, torch.tensor([row[0] for row in rows])


def train(a):
    import torch
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    module, loss_of = model_of(torch, a)
    optimizer = torch.optim.AdamW(module.parameters(), lr=2e-5, weight_decay=0.01)
    steps = []
    for rows in batches_of(torch, a):
        width = a.width or max(len(row) - 1 for row in rows)
        start = time.perf_counter()
        ids = torch.tensor([row[1:] + [0] * (width - len(row) + 1) for row in rows])
        ids, labels = targets(torch, a, rows, ids)
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=a.precision == "bf16"):
            loss = loss_of(ids, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        value = loss.item()
        # What there is to learn is random.
        guess = {"multi_label": 0.69, "masked": math.log(a.vocabulary)}.get(a.labels, math.log(CLASSES))
        assert abs(value - guess) < (3 if a.type == "modernbert" else 1.5), value
        steps.append({"tokens": sum(len(row) - 1 for row in rows), "loss": value,
                      "seconds": time.perf_counter() - start})
    print(json.dumps({"steps": steps,
                      "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def start(a):
    """What a script does until its first step is over; says when that begins and ends."""
    import csv
    import torch
    import transformers
    torch.set_num_threads(a.threads)
    tokenizer = transformers.BertTokenizerFast.from_pretrained(a.model)
    model = transformers.BertForSequenceClassification.from_pretrained(a.model).train()
    with open(a.examples, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    labels = {name: i for i, name in enumerate(sorted({row["label"] for row in rows}))}
    encoded = tokenizer([row["sentence"] for row in rows], truncation=True, max_length=128)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(42)).tolist()
    chosen = order[:a.batch]
    batch = tokenizer.pad({"input_ids": [encoded["input_ids"][i] for i in chosen],
                           "attention_mask": [encoded["attention_mask"][i] for i in chosen]},
                          return_tensors="pt")
    target = torch.tensor([labels[rows[i]["label"]] for i in chosen])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
    print("begins", flush=True)
    model(**batch, labels=target).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print("ends", flush=True)


def make_folder(a):
    """A BERT-base of random weights, with a head for two labels."""
    import torch
    import transformers
    torch.manual_seed(1)
    config = transformers.BertConfig(num_labels=2)
    transformers.BertForSequenceClassification(config).save_pretrained(a.model)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["train", "start", "folder"])
    for name in ("how", "precision", "type", "examples", "model", "labels", "attention"):
        parser.add_argument(f"--{name}")
    for name in ("layers", "batch", "steps", "threads", "width", "vocabulary", "hidden"):
        parser.add_argument(f"--{name}", type=int)
    a = parser.parse_args()
    {"train": train, "start": start, "folder": make_folder}[a.task](a)


if __name__ == "__main__":
    main()
