"""A classification script as users write them: Hugging Face's Trainer, its own arguments, local files.

It knows nothing of dtlaunch, and of dtring only the backend's name on its command line.
"""

import dataclasses
import hashlib
import importlib.util
import json
import os
import sys

import numpy

# As in Hugging Face's scripts: datasets and transformers check for torch before anything imports it,
# and transformers.training_args may import it first.
if importlib.util.find_spec("torch") is None:
    sys.exit("no torch")
from transformers import TrainingArguments  # noqa: E402
from transformers import (AutoConfig, AutoModelForSequenceClassification, AutoTokenizer,  # noqa: E402
                          HfArgumentParser, Trainer, set_seed)
import torch  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402


@dataclasses.dataclass
class DataArguments:
    train_file: str = dataclasses.field(metadata={"help": "JSON lines: sentence, label"})
    validation_file: str = dataclasses.field(metadata={"help": "the same"})
    config_name: str = dataclasses.field(metadata={"help": "folder: config.json, vocab.txt"})
    max_seq_length: int = 32


class Sentences(Dataset):
    def __init__(self, path, tokenizer, length):
        with open(path, encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        self.rows = [dict(tokenizer(row["sentence"], truncation=True, max_length=length,
                                    padding="max_length"), labels=row["label"]) for row in rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {name: torch.tensor(value) for name, value in self.rows[index].items()}


def accuracy(predictions):
    return {"accuracy": float((predictions.predictions.argmax(-1) == predictions.label_ids).mean())}


def main():
    data, arguments = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(arguments.seed)
    tokenizer = AutoTokenizer.from_pretrained(data.config_name)
    config = AutoConfig.from_pretrained(data.config_name, num_labels=2)
    model = AutoModelForSequenceClassification.from_config(config)
    trainer = Trainer(model=model, args=arguments, compute_metrics=accuracy,
                      train_dataset=Sentences(data.train_file, tokenizer, data.max_seq_length),
                      eval_dataset=Sentences(data.validation_file, tokenizer, data.max_seq_length))
    trained = trainer.train()
    predicted = trainer.predict(trainer.eval_dataset)
    bits = hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in model.parameters()))
    if trainer.is_world_process_zero():
        trainer.save_model()
        with open(os.path.join(arguments.output_dir, "predictions.json"), "w", encoding="utf-8") as out:
            json.dump(predicted.predictions.argmax(-1).tolist(), out)
    print(json.dumps({"rank": arguments.process_index, "world": arguments.world_size,
                      "backend": torch.distributed.get_backend() if arguments.world_size > 1 else "",
                      "loss": trained.training_loss, "accuracy": predicted.metrics["test_accuracy"],
                      "bits": bits.hexdigest()[:16], "threads": torch.get_num_threads(),
                      "numpy": numpy.__version__}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
