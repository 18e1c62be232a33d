"""dttrain --task embeddings and dttrain encode beside sentence-transformers, on random models and generated texts.
usage: embedding_runs_parity.py DTTRAIN

Folders go both ways with the same embeddings; three steps of each loss have the same losses; and evaluations have
the figures of sentence-transformers' evaluators.
"""
import csv
import json
import logging
import os
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np
import torch
try:
    from sentence_transformers import SentenceTransformer
except ImportError:
    print("skipped: this Python has no sentence_transformers")
    sys.exit(77)
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer import evaluation, losses
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import (BertConfig, BertModel, BertTokenizerFast, DistilBertConfig, DistilBertModel, MPNetConfig,
                          MPNetModel)

logging.disable(logging.WARNING)
DTTRAIN = sys.argv[1]
WORDS = ("the of to in is dog cat house tree river who what where when green blue old new fast slow runs sleeps eats "
         "sees near under query passage : ? .").split()
draw = random.Random(7)


def sentence(most=12):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, most)))


def make_encoder(folder, kind):
    os.makedirs(folder)
    with open(folder + "/vocab.txt", "w") as file:
        specials = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"] if kind == "mpnet" else [
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        file.write("\n".join(specials + WORDS) + "\n")
    names = {"model_input_names": ["input_ids", "attention_mask"]} if kind == "mpnet" else {}
    BertTokenizerFast(folder + "/vocab.txt", model_max_length=64, **names).save_pretrained(folder)
    sizes = {"vocab_size": len(WORDS) + 5, "max_position_embeddings": 64}
    if kind == "bert":
        model = BertModel(BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                     hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **sizes))
    elif kind == "mpnet":
        sizes["max_position_embeddings"] = 66
        model = MPNetModel(MPNetConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                       hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **sizes))
    else:
        model = DistilBertModel(DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64, dropout=0.0,
                                                 attention_dropout=0.0, **sizes))
    with torch.no_grad():  # larger weights than 0.02, so that embeddings differ
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)
    model.save_pretrained(folder)
    return folder


def run(*words):
    done = subprocess.run([DTTRAIN, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"dttrain {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def near(what, ours, theirs, tolerance):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape, f"{what}: {ours.shape} and {theirs.shape}"
    far = float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs)))) if ours.size else 0.0
    assert far <= tolerance, f"{what}: differs by {far:.3g}\n{ours}\n{theirs}"
    print(f"{what}: {far:.2g}")


def encode(folder, texts, work, *more):
    with open(work + "/texts.txt", "w") as file:
        file.writelines(text + "\n" for text in texts)
    run("encode", "--model_name_or_path", folder, "--test_file", work + "/texts.txt", "--output_file",
        work + "/out.npy", *more)
    return np.load(work + "/out.npy")


def write_rows(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def train(folder, out, path, *more):
    run("--task", "embeddings", "--model_name_or_path", folder, "--train_file", path, "--do_train", "--output_dir", out,
        "--global_batch_size", 8, "--max_steps", 3, "--logging_steps", 1, "--learning_rate", 1e-3,
        "--lr_scheduler_type", "constant", "--save_strategy", "no", *more)
    return [json.loads(line) for line in open(out + "/metrics.jsonl")]


# ---- folders


def check_folders(work, texts):
    for number, (kind, mode, dense, normalize) in enumerate([
            ("bert", "mean", [], False), ("bert", "cls", [(16, torch.nn.Tanh())], True),
            ("distilbert", "max", [(24, torch.nn.Identity()), (16, torch.nn.GELU())], False),
            ("bert", "weightedmean", [(40, torch.nn.ReLU())], True), ("distilbert", "mean_sqrt_len_tokens", [], True),
            ("bert", "lasttoken", [(8, torch.nn.Sigmoid())], False), ("mpnet", "mean", [], True)]):
        base = make_encoder(f"{work}/base{number}", kind)
        modules = [Transformer(base, max_seq_length=10), Pooling(32, mode)]
        width = 32
        for out, activation in dense:
            modules.append(Dense(width, out, activation_function=activation, bias=out != 24))
            width = out
        modules += [Normalize()] if normalize else []
        model = SentenceTransformer(modules=modules, prompts={"query": "query : ", "document": ""})
        model.save(f"{work}/st{number}", create_model_card=False)
        own = encode(f"{work}/st{number}", texts, work)
        near(f"{kind} {mode}", own, model.encode(texts, batch_size=8), 1e-5)
        asked = encode(f"{work}/st{number}", texts, work, "--prompt_name", "query", "--truncate_dim", 8,
                       "--normalize_embeddings")
        near("  with a prompt, cut, normalised", asked,
             model.encode(texts, prompt_name="query", truncate_dim=8, normalize_embeddings=True), 1e-5)
        if number == 0:
            rounded = encode(f"{work}/st{number}", texts, work, "--bf16", "emulate")
            assert not np.array_equal(rounded, own), "--bf16 emulate changes nothing"
            near("  in bfloat16", rounded, own, 0.05)
        # Written by dttrain after a step that changes nothing; read by both.
        pairs = write_rows(work + "/pairs.csv", ["query", "passage"], [[a, b] for a, b in zip(texts, texts[1:])])
        run("--task", "embeddings", "--model_name_or_path", f"{work}/st{number}", "--train_file", pairs, "--do_train",
            "--output_dir", f"{work}/own{number}", "--max_steps", 1, "--learning_rate", 0, "--save_steps", 1)
        for folder in (f"{work}/own{number}", f"{work}/own{number}/checkpoint-1"):
            again = SentenceTransformer(folder)
            assert again.max_seq_length == 10, again.max_seq_length
            assert again.prompts["query"] == "query : ", again.prompts
            near("  written", again.encode(texts, batch_size=8), own, 1e-5)
            near("  read back", encode(folder, texts, work), own, 1e-6)
        if kind == "bert":
            theirs = model[0].model.pooler.dense.weight
            assert torch.equal(again[0].model.pooler.dense.weight, theirs), "the pooler is another one"
    base = make_encoder(work + "/plain", "bert")
    near("an encoder alone", encode(base, texts, work), SentenceTransformer(base).encode(texts), 1e-5)


# ---- losses


def torch_losses(folder, make_loss, columns, rows, labels, order, learning_rate=1e-3):
    """The losses of three steps of AdamW with clipping, as both trainers have them."""
    model = SentenceTransformer(folder)
    model.train()
    loss_of = make_loss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, eps=1e-8, weight_decay=0)
    found = []
    for step in range(3):
        chosen = order[step * 8:step * 8 + 8]
        features = [model.preprocess([rows[i][column] for i in chosen]) for column in range(len(columns))]
        target = torch.tensor([labels[i] for i in chosen]) if labels else None
        loss = loss_of(features, target)
        found.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return found


def check_losses(work):
    base = make_encoder(work + "/for-losses", "bert")
    SentenceTransformer(modules=[Transformer(base), Pooling(32, "mean"), Dense(32, 16)]).save(
        work + "/model", create_model_card=False)
    pairs = [[sentence(), sentence()] for _ in range(8)]
    triplets = [[sentence(), sentence(), sentence()] for _ in range(8)]
    scores = [round(draw.random(), 3) for _ in range(8)]
    folder = work + "/model"
    ranking = losses.MultipleNegativesRankingLoss
    cases = [
        ("pairs", pairs, None, ranking, []),
        ("triplets", triplets, None, lambda model: ranking(model, scale=10.0), ["--loss_scale", 10]),
        ("both directions", pairs, None, losses.MultipleNegativesSymmetricRankingLoss, ["--symmetric_loss"]),
        ("scored", pairs, scores, losses.CoSENTLoss, []),
        ("cosine", pairs, scores, losses.CosineSimilarityLoss, ["--loss", "cosine_similarity"]),
        ("triplet", triplets, None, losses.TripletLoss, ["--loss", "triplet"]),
        ("matryoshka", pairs, None, lambda model: losses.MatryoshkaLoss(model, ranking(model), [16, 8], [1, 0.5]),
         ["--matryoshka_dims", "16,8", "--matryoshka_weights", "1,0.5"]),
    ]
    for number, (name, rows, labels, make_loss, options) in enumerate(cases):
        columns = ["anchor", "positive", "negative"][:len(rows[0])]
        path = write_rows(f"{work}/train{number}.csv", columns + (["score"] if labels else []),
                          [row + ([labels[i]] if labels else []) for i, row in enumerate(rows)])
        log = train(folder, f"{work}/out{number}", path, *options)
        ours = [line["loss"] for line in log if "loss" in line and "step" in line][:3]
        # Every step has all eight examples, so their order does not matter.
        near("loss of " + name, ours, torch_losses(folder, make_loss, columns, rows, labels, list(range(8)) * 3), 2e-5)


# ---- evaluations


def figures(folder, work, path, *more):
    run("--task", "embeddings", "--model_name_or_path", folder, "--validation_file", path, "--do_eval", "--output_dir",
        work + "/eval", "--overwrite_output_dir", *more)
    return json.load(open(work + "/eval/eval_results.json"))


def compare(what, ours, theirs):
    for name, value in theirs.items():
        near(f"{what} {name}", ours["eval_" + name], value, 2e-5)


def check_evaluations(work):
    folder = work + "/model"
    model = SentenceTransformer(folder)
    rows = [[sentence(), sentence(), round(5 * draw.random(), 2)] for _ in range(60)]
    path = write_rows(work + "/scored.csv", ["sentence1", "sentence2", "score"], rows)
    ours = figures(folder, work, path, "--matryoshka_dims", "8,4")
    compare("scored", ours, evaluation.EmbeddingSimilarityEvaluator(*map(list, zip(*rows)))(model))
    for dims in (8, 4):
        cut = evaluation.EmbeddingSimilarityEvaluator(*map(list, zip(*rows)), truncate_dim=dims)(model)
        compare(f"scored, {dims}", ours, {f"dim_{dims}_spearman_cosine": cut["spearman_cosine"]})
    rows = [[sentence(), sentence(), sentence()] for _ in range(60)]
    path = write_rows(work + "/triplets.csv", ["anchor", "positive", "negative"], rows)
    ours = figures(folder, work, path, "--matryoshka_dims", "8")
    compare("triplets", ours, evaluation.TripletEvaluator(*map(list, zip(*rows)))(model))
    cut = evaluation.TripletEvaluator(*map(list, zip(*rows)), truncate_dim=8)(model)
    compare("triplets, 8", ours, {"dim_8_cosine_accuracy": cut["cosine_accuracy"]})
    # Pairs: the positives of all are the corpus.
    passages = list(dict.fromkeys(sentence(20) for _ in range(150)))
    queries = list(dict.fromkeys(sentence() for _ in range(40)))
    positives = {query: sorted(draw.sample(range(len(passages)), draw.randint(1, 3))) for query in queries}
    rows = [[query, passages[i]] for query in queries for i in positives[query]]
    used = list(dict.fromkeys(row[1] for row in rows))

    def retrieval(corpus, **how):
        number = {text: f"{i:04}" for i, text in enumerate(corpus)}
        return evaluation.InformationRetrievalEvaluator(
            {str(i): query for i, query in enumerate(queries)}, {number[text]: text for text in corpus},
            {str(i): {number[passages[p]] for p in positives[query]} for i, query in enumerate(queries)}, **how)(model)

    path = write_rows(work + "/pairs.csv", ["query", "answer"], rows)
    ours = figures(folder, work, path, "--matryoshka_dims", "8")
    compare("pairs", ours, retrieval(used))
    cut = retrieval(used, truncate_dim=8)
    compare("pairs, 8", ours, {"dim_8_cosine_ndcg@10": cut["cosine_ndcg@10"]})
    corpus = write_rows(work + "/corpus.csv", ["id", "text"], [[f"{i:04}", text] for i, text in enumerate(passages)])
    compare("corpus, by text", figures(folder, work, path, "--corpus_file", corpus), retrieval(passages))
    with open(work + "/queries.jsonl", "w") as file:
        for query in queries:
            file.write(json.dumps({"query": query, "corpus_id": [f"{i:04}" for i in positives[query]]}) + "\n")
    compare("corpus, by id", figures(folder, work, work + "/queries.jsonl", "--corpus_file", corpus), retrieval(passages))


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        check_folders(work, [sentence() for _ in range(20)] + ["", "the dog"])
        check_losses(work)
        check_evaluations(work)


main()
