"""Shared by the tests of whole runs: texts to learn, a rank's environment, and assertions that print
what they saw."""
import os
import random
import socket
import sys


def check(good, what, *evidence):
    if not good:
        sys.exit("\n".join([f"FAILED: {what}", *map(str, evidence)]))
    print(f"ok: {what}")


def write_texts(path, count, seed):
    source = random.Random(seed)
    words = [a + b for a in "klmrst" for b in ("ana", "olo", "iri", "uru")]
    with open(path, "w") as out:
        out.write("sentence\tlabel\n")
        for _ in range(count):
            text = [source.choice(words) for _ in range(source.randint(3, 12))]
            out.write(" ".join(text) + "\t" + ("early" if text[0] < text[-1] else "late") + "\n")


def environment(**more):
    """The environment without a surrounding launcher's variables; one thread."""
    result = {name: value for name, value in os.environ.items()
              if not name.startswith(("DTRING_", "DTLAUNCH_"))}
    return {**result, "OMP_NUM_THREADS": "1", **more}


def environments_of(world, folder):
    """The environments of `world` ranks on one machine, which share a secret in `folder`."""
    if world == 1:
        return [environment()]
    secret = os.path.join(folder, "secret")
    with open(secret, "wb") as file:
        os.chmod(secret, 0o600)
        file.write(os.urandom(32))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return [environment(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                        DTRING_SECRET_FILE=secret) for rank in range(world)]
