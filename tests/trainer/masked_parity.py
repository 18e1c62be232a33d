"""Masked language modelling by dttrain beside transformers, from the same folder: the loss of an
evaluation, that of a step, and its gradients are those of the same masked tokens; a training lowers
the perplexity; and the folder loads as a masked language model. Usage: masked_parity.py DTTRAIN"""

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

WORDS = [a + b for a in ("ka", "lo", "mi", "ru", "te", "zu") for b in ("n", "r", "s", "t", "la", "vo")]
LENGTH = 24
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

failures = []


def expect(what, worst, limit):
    print(f"  {what:<52} {worst:9.2e}  (limit {limit:.0e})")
    if not worst <= limit:
        failures.append(what)


def make_model(folder, kind):
    torch.manual_seed(5)
    common = dict(vocab_size=5 + len(WORDS), max_position_embeddings=LENGTH, initializer_range=0.1)
    if kind == "bert":
        model = transformers.BertForMaskedLM(transformers.BertConfig(
            hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=53,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **common))
    elif kind == "modernbert":
        model = transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(
            hidden_size=36, num_hidden_layers=3, num_attention_heads=3, intermediate_size=41, local_attention=8,
            classifier_activation="relu", global_attn_every_n_layers=2, pad_token_id=0, **common))
    else:
        model = transformers.DistilBertForMaskedLM(transformers.DistilBertConfig(
            dim=36, n_layers=2, n_heads=3, hidden_dim=53, dropout=0.0, attention_dropout=0.0, **common))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as out:
        json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, out)
    if kind == "modernbert":  # whose tokenizer transformers reads from nowhere else
        transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)


def write_corpus(path, count, seed):
    """Each word tells the next one, but for the first: there is something to learn."""
    source = random.Random(seed)
    lines = []
    for _ in range(count):
        at = source.randrange(len(WORDS))
        lines.append(" ".join(WORDS[(at + 7 * i) % len(WORDS)] for i in range(source.randint(3, 20))))
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n\n")
    return lines


def run(program, folder, output, *arguments):
    command = [program, "--task", "masked_lm", "--output_dir", output, "--max_seq_length", str(LENGTH),
               "--seed", "3", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    with open(os.path.join(folder, output, "all_results.json"), encoding="utf-8") as file:
        return json.load(file), done.stdout + done.stderr


MASK64 = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK64
    return x ^ (x >> 31)


def mask(ids, number, seed, step, probability=0.15):
    """(what the model sees, labels) of a text: trainer/model/masking.cc once more."""
    of_text = mix((mix((mix(seed) + step) & MASK64) + number) & MASK64)
    bits = [[mix((of_text + (i << 2) + use) & MASK64) >> 32 for use in (1, 2, 3)] for i in range(len(ids))]
    seen, labels = list(ids), [-100] * len(ids)
    for i, (choice, kind, token) in enumerate(bits):
        if ids[i] in (0, 2, 3, 4) or choice >= round(probability * 2**32):
            continue
        labels[i] = ids[i]
        tenth = kind * 10 >> 32
        seen[i] = 4 if tenth < 8 else ids[i] if tenth == 9 else token * (5 + len(WORDS)) >> 32
    return seen, labels


def examples_of(lines):
    """Lines joined and cut into full examples, as run_mlm.py does."""
    ids = [token for line in lines for token in [2, *(5 + WORDS.index(word) for word in line.split()), 3]]
    return [ids[at:at + LENGTH] for at in range(0, len(ids) - LENGTH + 1, LENGTH)]


def torch_loss(model, texts, seed, step):
    """The mean over the masked tokens of these (number, ids)."""
    masked = [mask(ids, number, seed, step) for number, ids in texts]
    return model(input_ids=torch.tensor([seen for seen, _ in masked]),
                 labels=torch.tensor([labels for _, labels in masked])).loss


def test_numbers(kind, program, folder):
    lines = write_corpus(os.path.join(folder, "lines.txt"), 90, 4)
    examples = examples_of(lines)
    model = transformers.AutoModelForMaskedLM.from_pretrained(os.path.join(folder, "start"))
    figures, _ = run(program, folder, "step", "--model_name_or_path", "start", "--do_train", "--train_file",
                     "lines.txt", "--per_device_train_batch_size", "12", "--max_steps", "1", "--learning_rate", "0",
                     "--do_eval", "--validation_file", "lines.txt", "--debug_dump", "dump")
    with torch.no_grad():
        loss = torch_loss(model.eval(), list(enumerate(examples)), 0, 0).item()
    expect(f"{kind}: eval_loss", abs(figures["eval_loss"] - loss), 1e-5)
    order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(3)).tolist()[:12]
    loss = torch_loss(model.train(), [(i, examples[i]) for i in order], 3, 0)
    loss.backward()
    expect(f"{kind}: loss of a step", abs(figures["train_loss"] - loss.item()), 1e-5)
    dumped = load_file(os.path.join(folder, "dump", "gradients.safetensors"))
    named = dict(model.named_parameters())
    least = 1e-2 * torch.stack([p.grad.norm() for p in named.values()]).norm()
    expect(f"{kind}: gradients", max(((dumped[n] - p.grad).norm() / torch.maximum(p.grad.norm(), least)).item()
                                     for n, p in named.items()), 1e-5)


def test_training(kind, program, folder):
    write_corpus(os.path.join(folder, "train.txt"), 300, 1)
    write_corpus(os.path.join(folder, "eval.txt"), 60, 2)
    before, _ = run(program, folder, "before", "--model_name_or_path", "start", "--do_eval",
                    "--validation_file", "eval.txt")
    after, said = run(program, folder, "after", "--model_name_or_path", "start", "--do_train", "--train_file",
                      "train.txt", "--do_eval", "--validation_file", "eval.txt", "--learning_rate", "3e-3", "--warmup_ratio", "0.1",
                      "--num_train_epochs", "60", "--per_device_train_batch_size", "16")
    print(f"  {kind}: perplexity {before['eval_perplexity']:.1f}, then {after['eval_perplexity']:.1f}, "
          f"accuracy {after['eval_accuracy']:.3f}")
    if not after["eval_perplexity"] < 0.5 * len(WORDS):  # of words alike, it would be their number
        failures.append(f"{kind}: perplexity")
    expect(f"{kind}: perplexity is exp(loss)", abs(after["eval_perplexity"] / math.exp(after["eval_loss"]) - 1), 1e-9)
    if "newly initialised" in said or "not used" in said:
        failures.append(f"{kind}: a whole folder, but {said}")


def test_folder(kind, folder):
    """The saved folder, in transformers: nothing is missing, and the output layer is tied."""
    model, info = (transformers.AutoModelForMaskedLM.from_pretrained(
        os.path.join(folder, "after"), output_loading_info=True))
    for key in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info[key]:
            failures.append(f"{kind}: {key} {info[key]}")
    tied = model.get_output_embeddings().weight.data_ptr() == model.get_input_embeddings().weight.data_ptr()
    if not tied:
        failures.append(f"{kind}: the output layer is not tied")
    fill = transformers.pipeline("fill-mask", model=os.path.join(folder, "after"))
    best = fill(f"{WORDS[0]} {WORDS[7]} [MASK] {WORDS[21]}")[0]["token_str"]
    print(f"  {kind}: after {WORDS[0]} {WORDS[7]} comes {best}; it should be {WORDS[14]}")


def main():
    program = os.path.abspath(sys.argv[1])
    for kind in ("bert", "distilbert", "modernbert"):
        with tempfile.TemporaryDirectory() as folder:
            make_model(os.path.join(folder, "start"), kind)
            test_numbers(kind, program, folder)
            test_training(kind, program, folder)
            test_folder(kind, folder)
    if failures:
        sys.exit("FAILED: " + ", ".join(failures))


if __name__ == "__main__":
    main()
