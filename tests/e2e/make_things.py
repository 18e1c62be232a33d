"""Files that examples speak of, small and made anew. usage: make_things.py FOLDER MAKE_SENTENCES

train.tsv, validation.tsv, dev.tsv and test.tsv, the first two as .csv, too; the same as .conll with a
name in front; MRPC as GLUE has it; SQuAD's train-v1.1.json and
dev-v1.1.json; train.py, worker.py and parameter_server, which check what ranks are promised; hello, which speaks PMI as MPI programs do.
"""
import csv
import io
import json
import os
import subprocess
import sys

FOLDER, MAKE_SENTENCES = sys.argv[1:]

# With torch, as in the documents: init_process_group("gloo"). Without, ranks meet in the same way, at
# MASTER_ADDR:MASTER_PORT.
TRAIN = '''"""usage: train.py [--epochs N]"""
import os, socket, sys

assert sys.argv[1:] in ([], ["--epochs", "3"]), sys.argv
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def meet_with_torch():
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    ranks = torch.tensor([float(rank)])
    dist.all_reduce(ranks)
    dist.destroy_process_group()
    return int(ranks.item())


def meet_with_sockets():
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank == 0:
        server = socket.create_server(("", address[1]))
        server.settimeout(20)
        met = 0
        for _ in range(world - 1):
            met += int(server.accept()[0].makefile().readline())
        return met
    for attempt in range(200):
        try:
            with socket.create_connection(address, 5) as peer:
                peer.sendall(b"%d\\n" % rank)
                return sum(range(world))
        except ConnectionRefusedError:
            import time
            time.sleep(0.1)
    sys.exit("rank 0 never listened")


try:
    import torch
    met = meet_with_torch()
except ImportError:
    met = meet_with_sockets()
assert met == sum(range(world)), (met, world)
print(f"rank {rank} of {world} met the others, with {os.environ['OMP_NUM_THREADS']} threads")
'''
PARAMETER_SERVER = '''#!/bin/sh
[ "$RANK" = 0 ] && [ "$WORLD_SIZE" = 8 ] && [ -z "${ROLE-}" ] && echo "rank 0 serves"
'''
WORKER = '''import os
assert os.environ["ROLE"] == "worker" and int(os.environ["RANK"]) in range(1, 8), dict(os.environ)
print("rank", os.environ["RANK"], "works")
'''


def write(name, text, mode=0o644):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def sentences(count, seed):
    return subprocess.run([MAKE_SENTENCES, str(count), str(seed)], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def pairs(count, seed):
    """Two sentences of the same label say the same, for what this is worth."""
    rows = [line.split("\t") for line in sentences(2 * count, seed).splitlines()[1:]]
    text = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    for number, (first, second) in enumerate(zip(rows[::2], rows[1::2])):
        text += f"{int(first[0] == second[0])}\t{2 * number}\t{2 * number + 1}\t{first[1]}\t{second[1]}\n"
    return text


def squad(count, seed):
    """What works today? The answer stands in the text."""
    paragraphs = []
    for number, line in enumerate(sentences(count, seed).splitlines()[1:]):
        context = line.split("\t")[1]
        answer = context.split()[1]
        paragraphs.append({"context": context, "qas": [{
            "id": f"{seed}-{number}", "question": "what is it about ?",
            "answers": [{"text": answer, "answer_start": context.index(answer)}]}]})
    return json.dumps({"version": "1.1", "data": [{"title": "things", "paragraphs": paragraphs}]})


def conll(count, seed):
    """A name begins each sentence."""
    text = ""
    for number, line in enumerate(sentences(count, seed).splitlines()[1:]):
        kind = ("PER", "LOC")[number % 2]
        names = ("Ada", "Emil", "Ida") if kind == "PER" else ("Bonn", "Oslo", "Rome")
        words = "".join(f"{word} O\n" for word in line.split("\t")[1].split())
        text += f"{names[number // 2 % 3]} B-{kind}\n{words}\n"
    return text


def as_csv(text):
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(csv.reader(io.StringIO(text), delimiter="\t"))
    return lines.getvalue()


for number, (name, count) in enumerate((("train", 200), ("validation", 60), ("dev", 60), ("test", 60))):
    write(f"{name}.tsv", sentences(count, number))
    write(f"{name}.conll", conll(count, number))
    if name in ("train", "validation"):
        write(f"{name}.csv", as_csv(sentences(count, number).replace("sentence", "text", 1)))
for number, (name, count) in enumerate((("train", 60), ("dev", 30))):
    write(f"MRPC/{name}.tsv", pairs(count, 10 + number))
    write(f"{name}-v1.1.json", squad(count, 20 + number))
write("train.py", TRAIN)
write("worker.py", WORKER)
write("parameter_server", PARAMETER_SERVER, 0o755)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pmi_rank.py"), encoding="utf-8") as client:
    write("hello", client.read(), 0o755)  # stands for an MPI program: speaks PMI-1
