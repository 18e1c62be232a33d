"""Train a text classifier with Hugging Face's Trainer: bug report, feature request or question?

An ordinary script: nothing in it is particular to dtlaunch. --help prints all options of Trainer.
"""

import csv
import dataclasses

from transformers import (AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding,
                          HfArgumentParser, Trainer, TrainingArguments, set_seed)


@dataclasses.dataclass
class ModelArguments:
    model_name_or_path: str = dataclasses.field(default="model", metadata={"help": "folder or name in the hub"})


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    model_arguments, arguments = parser.parse_args_into_dataclasses()
    set_seed(arguments.seed)
    name = model_arguments.model_name_or_path
    tokenizer = AutoTokenizer.from_pretrained(name)
    train, validation = read_rows("train.csv"), read_rows("validation.csv")
    labels = sorted({row["label"] for row in train})
    config = AutoConfig.from_pretrained(name, num_labels=len(labels), id2label=dict(enumerate(labels)),
                                        label2id={label: index for index, label in enumerate(labels)})
    model = AutoModelForSequenceClassification.from_pretrained(name, config=config)

    def examples(rows):
        return [dict(tokenizer(row["text"], truncation=True, max_length=64), labels=labels.index(row["label"]))
                for row in rows]

    trainer = Trainer(model=model, args=arguments, compute_metrics=accuracy, processing_class=tokenizer,
                      data_collator=DataCollatorWithPadding(tokenizer),
                      train_dataset=examples(train), eval_dataset=examples(validation))
    trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)
    trainer.save_model()
    metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        backend = f"{arguments.world_size} ranks over {arguments.ddp_backend}"
        print(f"{backend}: accuracy {metrics['eval_accuracy']:.2f} of {len(validation)} titles", flush=True)
        trainer.save_metrics("eval", metrics)


if __name__ == "__main__":
    main()
