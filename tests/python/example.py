"""A command of dtring-torch(7), EXAMPLES, which a test of this folder runs. usage: example.py NAME"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from documented import items_of  # noqa: E402  the folder is only known now

# Words that only this example has. Every command of the page has a name here, and so a test.
COMMANDS = {"trainer": "python3 run_qa.py", "accelerate": "accelerate launch", "torchrun": "torchrun"}

texts = [item.text for item in items_of("man/dtring-torch.7") if item.kind == "command"]
found = {name: [text for text in texts if words in text] for name, words in COMMANDS.items()}
if sorted(map(len, found.values())) != [1] * len(texts):
    sys.exit(f"example.py knows {list(COMMANDS)}, and dtring-torch(7) has {texts}")
print(found[sys.argv[1]][0])
