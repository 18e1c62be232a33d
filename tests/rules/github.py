#!/usr/bin/env python3
"""The files of .github follow the rules: github.py [ROOT].

A workflow has no more rights than to read, each of its jobs a limit of time, each action the commit that it is,
and each script that it runs exists. A form for issues has a name, a description and fields with ids of their own.
"""

import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

FIELDS = ("markdown", "textarea", "input", "dropdown", "checkboxes", "upload")
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def check_step(step, root):
    if "uses" in step and not PINNED.fullmatch(step["uses"]):
        yield f"{step['uses']} is not pinned to a commit"
    for script in re.findall(r"(?<![\w./-])(?:scripts|tests|\.ci)/[\w./-]+", step.get("run", "")):
        if not (root / script).is_file():
            yield f"there is no {script}"


def check_workflow(workflow, root):
    if workflow.get("permissions") != {"contents": "read"}:
        yield "its permissions are not 'contents: read'"
    if True not in workflow and "on" not in workflow:  # YAML 1.1 reads `on` as true
        yield "it says not when it runs"
    for name, job in workflow.get("jobs", {}).items():
        for complaint in check_job(job, root):
            yield f"job {name}: {complaint}"


def check_job(job, root):
    if not isinstance(job.get("timeout-minutes"), int):
        yield "it has no timeout-minutes"
    if "permissions" in job:
        yield "it has permissions of its own"
    for step in job.get("steps", []):
        yield from check_step(step, root)


def check_form(form):
    for key in ("name", "description", "body"):
        if not form.get(key):
            yield f"it has no {key}"
    fields = form.get("body") or []
    ids = [field.get("id") for field in fields if field.get("type") != "markdown"]
    for field in fields:
        if field.get("type") not in FIELDS:
            yield f"'{field.get('type')}' is not a type of field"
        wanted = "value" if field.get("type") == "markdown" else "label"
        if not field.get("attributes", {}).get(wanted):
            yield f"field {field.get('id')}: it has no {wanted}"
    if None in ids or len(set(ids)) != len(ids):
        yield f"its fields need ids of their own: {ids}"


def check(path, root):
    try:
        read = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        yield " ".join(str(error).split())
        return
    if not isinstance(read, dict):
        yield "it is not a mapping"
    elif path.parent.name == "workflows":
        yield from check_workflow(read, root)
    elif path.stem != "config":
        yield from check_form(read)


def main():
    root = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parents[2])
    files = sorted(path for path in (root / ".github").rglob("*") if path.suffix in (".yml", ".yaml"))
    complaints = [f"{path.relative_to(root)}: {complaint}" for path in files for complaint in check(path, root)]
    if not files:
        complaints.append(".github: there is no file")
    print("\n".join([*complaints, f"the rule of .github: broken in {len(complaints)} place(s)"]
                    if complaints else [f"the rule of .github: kept by {len(files)} files"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
