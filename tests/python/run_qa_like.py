"""A script for extractive question answering as users write them: Hugging Face's Trainer, local files.

Contexts longer than the model takes become windows that share doc_stride tokens; the logits of a
question's windows become the best text, scored by exact match and F1 as SQuAD does. It knows nothing
of dtlaunch, and of dtring only the backend's name on its command line.
"""

import collections
import dataclasses
import hashlib
import json
import os
import re
import string
import sys

import torch
from torch.utils.data import Dataset
from transformers import (AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer, HfArgumentParser,
                          Trainer, TrainingArguments, default_data_collator, set_seed)


@dataclasses.dataclass
class DataArguments:
    config_name: str = dataclasses.field(metadata={"help": "folder: config.json, vocab.txt"})
    train_file: str = dataclasses.field(metadata={"help": "SQuAD's JSON"})
    validation_file: str = dataclasses.field(metadata={"help": "the same"})
    max_seq_length: int = 32
    doc_stride: int = 12
    n_best_size: int = 20
    max_answer_length: int = 8


def read_squad(path):
    with open(path, encoding="utf-8") as file:
        articles = json.load(file)["data"]
    return [dict(question, context=paragraph["context"]) for article in articles
            for paragraph in article["paragraphs"] for question in paragraph["qas"]]


def labels_of(window, answer):
    """First and last token of the answer in this window; both 0, [CLS], where it is not inside."""
    begin, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
    inside = [index for index, part in enumerate(window["sequence_ids"]) if part == 1]
    offsets = window["offsets"]
    if offsets[inside[0]][0] > begin or offsets[inside[-1]][1] < end:
        return 0, 0
    first = max(index for index in inside if offsets[index][0] <= begin)
    last = min(index for index in inside if offsets[index][1] >= end)
    return first, last


class Windows(Dataset):
    """What the model sees: one row for each window of each question."""

    def __init__(self, questions, tokenizer, data):
        self.windows = []
        encoded = tokenizer([row["question"] for row in questions], [row["context"] for row in questions],
                            truncation="only_second", max_length=data.max_seq_length,
                            stride=data.doc_stride, return_overflowing_tokens=True,
                            return_offsets_mapping=True, padding="max_length")
        for index, of in enumerate(encoded["overflow_to_sample_mapping"]):
            window = {"question": questions[of]["id"], "offsets": encoded["offset_mapping"][index],
                      "sequence_ids": encoded.sequence_ids(index)}
            first, last = labels_of(window, questions[of]["answers"][0])
            window["row"] = {"start_positions": first, "end_positions": last,
                             **{name: encoded[name][index] for name in tokenizer.model_input_names}}
            self.windows.append(window)

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, index):
        return self.windows[index]["row"]


def spans_of(window, starts, ends, data):
    """(score, first character, last character) of the best spans of a window."""
    inside = [index for index, part in enumerate(window["sequence_ids"]) if part == 1]
    best = {which: sorted(inside, key=lambda index: -scores[index])[:data.n_best_size]
            for which, scores in (("start", starts), ("end", ends))}
    for first in best["start"]:
        for last in best["end"]:
            if first <= last < first + data.max_answer_length:
                yield (float(starts[first] + ends[last]), window["offsets"][first][0],
                       window["offsets"][last][1])


def answers_of(questions, windows, logits, data):
    """The best text for each question, over all its windows."""
    found = collections.defaultdict(list)
    for window, starts, ends in zip(windows, *logits):
        found[window["question"]] += spans_of(window, starts, ends, data)
    answers = {}
    for row in questions:
        _, first, last = max(found[row["id"]], default=(0, 0, 0))
        answers[row["id"]] = row["context"][first:last]
    return answers


def words_of(text):
    """SQuAD's normal form: no case, no punctuation, no articles."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def f1_of(found, gold):
    found, gold = words_of(found), words_of(gold)
    common = sum((collections.Counter(found) & collections.Counter(gold)).values())
    return 2 * common / (len(found) + len(gold)) if common else 0.0


def scores_of(questions, answers):
    pairs = [(answers[row["id"]], row["answers"][0]["text"]) for row in questions]
    return {"exact": 100 * sum(words_of(a) == words_of(b) for a, b in pairs) / len(pairs),
            "f1": 100 * sum(f1_of(a, b) for a, b in pairs) / len(pairs)}


def main():
    data, arguments = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(arguments.seed)
    tokenizer = AutoTokenizer.from_pretrained(data.config_name)
    model = AutoModelForQuestionAnswering.from_config(AutoConfig.from_pretrained(data.config_name))
    questions = read_squad(data.validation_file)
    training, evaluation = (Windows(rows, tokenizer, data)
                            for rows in (read_squad(data.train_file), questions))
    trainer = Trainer(model=model, args=arguments, train_dataset=training, eval_dataset=evaluation,
                      data_collator=default_data_collator)
    trained = trainer.train()
    predicted = trainer.predict(evaluation)
    answers = answers_of(questions, evaluation.windows, predicted.predictions, data)
    if trainer.is_world_process_zero():
        trainer.save_model()
        with open(os.path.join(arguments.output_dir, "predictions.json"), "w", encoding="utf-8") as out:
            json.dump(answers, out, indent=1)
    bits = hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in model.parameters()))
    print(json.dumps({"rank": arguments.process_index, "world": arguments.world_size,
                      "backend": torch.distributed.get_backend() if arguments.world_size > 1 else "",
                      "loss": trained.training_loss, **scores_of(questions, answers),
                      "windows": len(evaluation), "questions": len(questions),
                      "bits": bits.hexdigest()[:16]}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
