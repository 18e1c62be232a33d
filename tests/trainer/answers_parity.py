"""Question answering by dttrain beside PyTorch, transformers and tokenizers, from the same model
folder and the same SQuAD file: windows and their order, the padded loss over 100 steps, a folder
that from_pretrained loads with the same logits, and answers that follow from these logits.
Usage: answers_parity.py DTTRAIN"""

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

SEED, BATCH, LENGTH, STRIDE, STEPS = 13, 6, 40, 10, 100
LEARNING_RATE = 2e-3
WORDS = [a + b for a in ("ka", "lo", "mi", "ru", "te", "zu") for b in ("n", "r", "s", "t", "la", "vo")]

failures = []


def expect(what, worst, limit):
    print(f"  {what:<40} {worst:9.2e}  (limit {limit:.0e})")
    if not worst <= limit:
        failures.append(what)


def write_squad(path, count, seed):
    """The answer is the word after the one that the question names; some contexts lack it."""
    source = random.Random(seed)
    paragraphs = []
    for number in range(count):
        words = [source.choice(WORDS) for _ in range(source.randint(4, 55))]
        key = words[source.randrange(len(words) - 1)]
        at = words.index(key)  # the first occurrence, which is never the last word
        context = " ".join(words)
        answer = {"text": words[at + 1], "answer_start": len(" ".join(words[:at + 1])) + 1}
        possible = source.random() < 0.8
        paragraphs.append({"context": context, "qas": [{
            "id": f"q{number}", "question": f" {key}",
            "answers": [answer] if possible else [], "is_impossible": not possible}]})
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}, out)
    return [dict(context=p["context"], **p["qas"][0]) for p in paragraphs]


class Case:
    def __init__(self, program, kind, folder):
        self.program, self.kind, self.folder = program, kind, folder
        self.start = os.path.join(folder, "start")
        os.makedirs(self.start)
        torch.manual_seed(5)
        common = dict(vocab_size=5 + len(WORDS), max_position_embeddings=LENGTH,
                      initializer_range=0.15)
        if kind == "bert":
            self.model_class = transformers.BertForQuestionAnswering
            model = self.model_class(transformers.BertConfig(
                hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=53,
                hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **common))
        else:
            self.model_class = transformers.DistilBertForQuestionAnswering
            model = self.model_class(transformers.DistilBertConfig(
                dim=32, n_layers=2, n_heads=4, hidden_dim=75, dropout=0.0, attention_dropout=0.0,
                qa_dropout=0.0, **common))
        model.save_pretrained(self.start)
        vocabulary = os.path.join(self.start, "vocab.txt")
        with open(vocabulary, "w", encoding="utf-8") as out:
            out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS) + "\n")
        with open(os.path.join(self.start, "tokenizer_config.json"), "w", encoding="utf-8") as out:
            json.dump({"do_lower_case": True}, out)
        self.tokenizer = transformers.BertTokenizerFast(vocabulary, do_lower_case=True)
        self.train_file = os.path.join(folder, "train.json")
        self.dev_file = os.path.join(folder, "dev.json")
        self.train = write_squad(self.train_file, 70, 1)
        self.dev = write_squad(self.dev_file, 40, 2)

    def encode(self, examples):
        return self.tokenizer([e["question"].lstrip() for e in examples],
                              [e["context"] for e in examples], truncation="only_second",
                              max_length=LENGTH, stride=STRIDE, return_overflowing_tokens=True,
                              return_offsets_mapping=True, padding="max_length")

    def features(self):
        """(ids, types, mask, start, end) of every training window, as run_qa makes them."""
        encoded = self.encode(self.train)
        rows = []
        for i, ids in enumerate(encoded["input_ids"]):
            example = self.train[encoded["overflow_to_sample_mapping"][i]]
            sequence, offsets = encoded.sequence_ids(i), encoded["offset_mapping"][i]
            begin, end = 0, 0
            if example["answers"]:
                answer = example["answers"][0]
                from_, to = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                own = [t for t, s in enumerate(sequence) if s == 1]
                if offsets[own[0]][0] <= from_ and offsets[own[-1]][1] >= to:
                    begin = max(t for t in own if offsets[t][0] <= from_)
                    end = min(t for t in own if offsets[t][1] >= to)
            rows.append((ids, encoded["token_type_ids"][i], encoded["attention_mask"][i], begin, end))
        return rows

    def inputs(self, rows):
        ids, types, mask = (torch.tensor([row[k] for row in rows]) for k in range(3))
        extra = {"token_type_ids": types} if self.kind == "bert" else {}
        return dict(input_ids=ids, attention_mask=mask, **extra)

    def torch_losses(self, rows):
        model = self.model_class.from_pretrained(self.start).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
        per_epoch = math.ceil(len(rows) / BATCH)
        for step in range(STEPS):
            epoch, at = divmod(step, per_epoch)
            order = torch.randperm(len(rows),
                                   generator=torch.Generator().manual_seed(SEED + epoch)).tolist()
            chosen = [rows[i] for i in order[at * BATCH:(at + 1) * BATCH]]
            optimizer.zero_grad()
            loss = model(**self.inputs(chosen), start_positions=torch.tensor([r[3] for r in chosen]),
                         end_positions=torch.tensor([r[4] for r in chosen])).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for group in optimizer.param_groups:
                group["lr"] = LEARNING_RATE * (STEPS - step) / STEPS
            optimizer.step()
            yield loss.item()

    def run(self, name, *arguments):
        output = os.path.join(self.folder, name)
        command = [self.program, "--model_name_or_path", self.start, "--output_dir", output,
                   "--seed", str(SEED), "--max_seq_length", str(LENGTH), "--doc_stride",
                   str(STRIDE), "--version_2_with_negative", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
        return output


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def answers_of(case, folder):
    """run_qa's answers with this folder's model, {id: text}, and the logits."""
    model = case.model_class.from_pretrained(folder).eval()
    encoded = case.encode(case.dev)
    rows = list(zip(encoded["input_ids"], encoded["token_type_ids"], encoded["attention_mask"]))
    with torch.no_grad():
        out = model(**case.inputs(rows))
    best = {}
    for i in range(len(rows)):
        example = case.dev[encoded["overflow_to_sample_mapping"][i]]
        start, end = out.start_logits[i].tolist(), out.end_logits[i].tolist()
        sequence, offsets = encoded.sequence_ids(i), encoded["offset_mapping"][i]
        null, candidates = best.setdefault(example["id"], [math.inf, []])
        best[example["id"]][0] = min(null, start[0] + end[0])
        top = [sorted(range(LENGTH), key=lambda t, x=x: -x[t])[:20] for x in (start, end)]
        for s in top[0]:
            for e in top[1]:
                if sequence[s] == 1 and sequence[e] == 1 and s <= e < s + 30:
                    candidates.append((start[s] + end[e],
                                       example["context"][offsets[s][0]:offsets[e][1]]))
    answers = {}
    for name, (null, candidates) in best.items():
        score, text = max(candidates)
        answers[name] = "" if null > score else text
    return answers, out


def check(program, kind, folder):
    print(kind)
    case = Case(program, kind, folder)
    rows = case.features()
    expected = list(case.torch_losses(rows))
    assert expected[-1] < 0.8 * expected[0], "nothing was learnt"
    output = case.run("run", "--do_train", "--train_file", case.train_file, "--do_eval",
                      "--validation_file", case.dev_file, "--pad_to_max_length",
                      "--per_device_train_batch_size", str(BATCH), "--max_steps", str(STEPS),
                      "--learning_rate", str(LEARNING_RATE), "--logging_steps", "1")
    log = read(output, "trainer_state.json")["log_history"]
    found = [entry["loss"] for entry in log if "loss" in entry]
    assert len(found) == STEPS, len(found)
    expect("first loss", abs(found[0] - expected[0]), 1e-6)
    expect(f"losses of {STEPS} steps", max(abs(a - b) for a, b in zip(found, expected)), 1e-4)

    answers, _ = answers_of(case, output)  # from_pretrained can load it
    given = read(output, "eval_predictions.json")
    assert set(given) == set(answers)
    expect("answers that differ", sum(given[k] != answers[k] for k in answers), 0)
    results = read(output, "eval_results.json")
    exact = sum(given[e["id"]] == (e["answers"][0]["text"] if e["answers"] else "")
                for e in case.dev) * 100 / len(case.dev)
    expect("eval_exact", abs(results["eval_exact"] - exact), 1e-9)
    assert "eval_loss" not in results and results["eval_total"] == len(case.dev), results
    assert len(read(output, "eval_nbest_predictions.json")) == len(case.dev)
    assert len(read(output, "eval_null_odds.json")) == len(case.dev)
    assert set(load_file(os.path.join(output, "model.safetensors"))) == {
        name for name, _ in case.model_class.from_pretrained(case.start).named_parameters()}


def main():
    torch.set_num_threads(1)
    for kind in ("bert", "distilbert"):
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], kind, folder)
    if failures:
        sys.exit("too far apart: " + "; ".join(failures))


main()
