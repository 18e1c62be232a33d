"""Token classification by dttrain beside PyTorch, transformers and seqeval: loss curves, figures, and the
tags and scores of pipeline() on the folder that it writes. Usage: tagging_parity.py DTTRAIN"""

import json
import os
import random
import sys
import tempfile
import warnings

import torch
import transformers
from seqeval.metrics import accuracy_score, classification_report

import parity
from parity import LEARNING_RATE, WARMUP, WEIGHT_DECAY, expect, largest_gap, losses_of, results_of

BATCH, LABELS = 7, ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
STARTS = ["ka", "lo", "mi", "ru", "te", "vo"]
ENDS = ["n", "r", "la", "so"]


def sentences(count, seed):
    """Words of one to three tokens; the tags depend on the words. Lengths differ widely."""
    source = random.Random(seed)
    rows = []
    for _ in range(count):
        words, tags, inside = [], [], None
        for _ in range(source.choice([1, 1, 2, 5, 20])):
            word = source.choice(STARTS) + "".join(source.choices(ENDS, k=source.randint(0, 2)))
            kind = {"ka": "PER", "lo": "LOC"}.get(word[:2])
            begins = inside is None or source.random() < 0.1
            if word[:2] == "mi" and inside:
                kind, begins = inside, False
            words.append(word)
            tags.append(f"{'B' if begins or kind != inside else 'I'}-{kind}" if kind else "O")
            inside = kind
        rows.append((words, tags))
    return rows


def write_conll(path, rows):
    with open(path, "w") as out:
        out.write("-DOCSTART- O\n\n")
        for words, tags in rows:
            out.writelines(f"{word} {tag}\n" for word, tag in zip(words, tags))
            out.write("\n")


class TagCase(parity.Case):
    def __init__(self, program, kind, folder):
        self.command, self.kind, self.folder = [program], kind, folder
        self.start = os.path.join(folder, "start")
        self.make_model()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.start)
        self.train, self.evaluation = sentences(40, 1), sentences(33, 2)
        self.train_file, self.eval_file = (os.path.join(folder, name) for name in ("train.conll", "eval.jsonl"))
        write_conll(self.train_file, self.train)
        with open(self.eval_file, "w") as out:
            for words, tags in self.evaluation:
                out.write(json.dumps({"tokens": words, "ner_tags": tags}) + "\n")

    def make_model(self):
        os.makedirs(self.start)
        torch.manual_seed(5)
        config = parity.config_of(self.kind)
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *STARTS, *(f"##{end}" for end in ENDS)]
        config.vocab_size, config.max_position_embeddings = len(tokens), 64
        config.id2label = dict(enumerate(LABELS))
        config.label2id = {name: i for i, name in enumerate(LABELS)}
        self.model_of(config).save_pretrained(self.start)
        with open(os.path.join(self.start, "vocab.txt"), "w") as out:
            out.write("\n".join(tokens) + "\n")
        with open(os.path.join(self.start, "tokenizer_config.json"), "w") as out:
            json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer", "model_max_length": 64}, out)

    def model_of(self, config):
        return (transformers.BertForTokenClassification if self.kind == "bert"
                else transformers.DistilBertForTokenClassification)(config)

    def model(self, folder=None):
        return transformers.AutoModelForTokenClassification.from_pretrained(folder or self.start)

    def batch(self, rows, all_tokens=False):
        """As run_ner's tokenize_and_align_labels."""
        encoded = self.tokenizer([words for words, _ in rows], is_split_into_words=True, padding=True,
                                 return_tensors="pt")
        labels = torch.full_like(encoded["input_ids"], -100)
        for i, (_, tags) in enumerate(rows):
            before = None
            for t, word in enumerate(encoded.word_ids(i)):
                if word is not None and word != before:
                    labels[i, t] = LABELS.index(tags[word])
                elif word is not None and all_tokens:
                    labels[i, t] = LABELS.index(tags[word].replace("B-", "I-"))
                before = word
        inputs = {key: encoded[key] for key in ("input_ids", "attention_mask")}
        return dict(inputs, labels=labels)

    def run_training(self, name, steps, *arguments):
        return self.run(name, "--task_name", "ner", "--do_train", "--train_file", self.train_file,
                        "--per_device_train_batch_size", str(BATCH), "--max_steps", str(steps),
                        "--learning_rate", str(LEARNING_RATE), "--weight_decay", str(WEIGHT_DECAY),
                        "--warmup_steps", str(WARMUP), "--logging_steps", "1", *arguments)

    def curve(self, steps, smoothing=0.0, all_tokens=False):
        """Losses before each update: the mean over the labelled tokens of the whole batch."""
        model = self.model().train()
        optimizer = self.optimizer_of(model)
        scheduler = transformers.get_scheduler("linear", optimizer, WARMUP, steps)
        smoother = transformers.trainer_pt_utils.LabelSmoother(epsilon=smoothing)
        losses = []
        for step in range(steps):
            batch = self.batch(self.rows_of_step(step, BATCH), all_tokens)
            optimizer.zero_grad()
            result = model(**batch)
            loss = smoother(result, batch["labels"]) if smoothing else result.loss
            loss.backward()
            losses.append(loss.item())
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        return losses


def expected_figures(case, folder):
    """As run_ner's compute_metrics with the metric of `evaluate`."""
    batch = case.batch(case.evaluation)
    with torch.no_grad():
        result = case.model(folder).eval()(**batch)
    kept = batch["labels"] != -100
    truth = [[LABELS[x] for x in row[keep]] for row, keep in zip(batch["labels"], kept)]
    said = [[LABELS[x] for x in row[keep]] for row, keep in zip(result.logits.argmax(-1), kept)]
    report = classification_report(truth, said, output_dict=True, zero_division=0)
    figures = {"eval_loss": result.loss.item(), "eval_accuracy": accuracy_score(truth, said)}
    for kind, prefix in (("micro avg", ""), ("PER", "PER_"), ("LOC", "LOC_")):
        row = report.get(kind, {"precision": 0, "recall": 0, "f1-score": 0})
        figures.update({f"eval_{prefix}precision": row["precision"], f"eval_{prefix}recall": row["recall"],
                        f"eval_{prefix}f1": row["f1-score"]})
    return figures, said


def check_pipeline(case, folder, output):
    """The first token of a word decides, in both."""
    tagger = transformers.pipeline("token-classification", folder, ignore_labels=[])
    with open(os.path.join(output, "predictions.jsonl")) as file:
        predicted = [json.loads(line) for line in file]
    worst, words = 0.0, 0
    for (sentence, _), mine in zip(case.evaluation, predicted, strict=True):
        assert mine["words"] == sentence, (mine, sentence)
        firsts = [token for token in tagger(" ".join(sentence)) if not token["word"].startswith("##")]
        assert [token["entity"] for token in firsts] == mine["tags"], (firsts, mine)
        worst = max([worst, *(abs(t["score"] - s) for t, s in zip(firsts, mine["scores"], strict=True))])
        words += len(sentence)
        # Entities cover their words, and nothing else is in one.
        inside = [tag != "O" for tag in mine["tags"]]
        covered = [False] * len(sentence)
        for entity in mine["entities"]:
            for i in range(entity["begin"], entity["end"]):
                covered[i] = True
                assert mine["tags"][i][2:] == entity["type"], mine
        assert inside == covered, mine
    expect(f"scores of {words} words in pipeline()", worst, 1e-5)


def check(program, kind, folder):
    print(kind)
    case = TagCase(program, kind, folder)
    steps = 30
    plain = case.curve(steps)
    assert plain[-1] < 0.5 * plain[0], "nothing was learnt"
    output = case.run_training("plain", steps, "--do_eval", "--validation_file", case.eval_file,
                               "--return_entity_level_metrics", "--do_predict", "--test_file", case.eval_file)
    expect("loss curve", largest_gap(losses_of(output), plain), 2e-5)
    split = case.run_training("split", steps, "--gradient_accumulation_steps", "3", "--global_batch_size", str(BATCH))
    expect("loss curve of micro-batches", largest_gap(losses_of(split), plain), 2e-5)
    more = ["--label_smoothing_factor", "0.2", "--label_all_tokens"]
    expect("loss curve, smoothed labels of all tokens",
           largest_gap(losses_of(case.run_training("smooth", 10, *more)), case.curve(10, 0.2, True)), 2e-5)
    figures, said = expected_figures(case, output)
    found = results_of(output)
    expect("figures of the evaluation", max(abs(found[name] - value) for name, value in figures.items()), 1e-5)
    assert figures["eval_f1"] > 0.3, figures
    with open(os.path.join(output, "predictions.txt")) as file:
        assert [line.split() for line in file] == said
    check_pipeline(case, output, output)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for kind in ("bert", "distilbert"):
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], kind, folder)
    if parity.failures:
        sys.exit("too far apart: " + "; ".join(parity.failures))


main()
