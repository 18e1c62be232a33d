#!/usr/bin/env python3
"""An SBOM is whole, and true for installed programs: sbom_check.py FILE.spdx.json PROGRAM...

All identifiers are unique and known; each package has what NTIA's minimum elements ask for; each program is there with
its checksum, and linked with exactly the libraries that its --version -v calls inside, in these versions. With
`pyspdxtools` on PATH, SPDX's own tool checks it, too.
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

REFERENCE = re.compile(r"LicenseRef-[A-Za-z0-9.-]+")


def complaints_of(document, programs):
    packages = {package["SPDXID"]: package for package in document["packages"]}
    if len(packages) != len(document["packages"]):
        yield "two packages have the same identifier"
    links = [(one["spdxElementId"], one["relationshipType"], one["relatedSpdxElement"])
             for one in document["relationships"]]
    for one, _, other in links:
        for name in (one, other):
            if name not in packages and name != "SPDXRef-DOCUMENT":
                yield f"a relationship names {name}, which is not there"
    texts = {info["licenseId"] for info in document["hasExtractedLicensingInfos"] if info["extractedText"].strip()}
    for package in packages.values():
        for field in ("name", "versionInfo", "supplier", "licenseConcluded", "copyrightText"):
            if package[field] in ("", "NOASSERTION"):
                yield f"{package['name']}: no {field}"
        for reference in REFERENCE.findall(package["licenseConcluded"] + " " + package["licenseDeclared"]):
            if reference not in texts:
                yield f"{package['name']}: no text of {reference}"
    by_file = {package["packageFileName"]: package for package in packages.values() if "packageFileName" in package}
    for program in [one for one in programs if one.is_file() and not one.is_symlink()]:
        package = by_file.pop(program.name, None)
        if package is None:
            yield f"{program.name} is not listed"
            continue
        if package["checksums"][0]["checksumValue"] != hashlib.sha256(program.read_bytes()).hexdigest():
            yield f"{program.name} has another checksum"
        said = subprocess.run([program, "--version", "-v"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True).stdout if ".so" not in program.name else ""
        inside = {(version, place) for version, place in re.findall(r"^  \S+ +(\S+) +inside(?: \((\S+ \S+)\))?$", said, re.M)}
        listed = {(packages[other]["versionInfo"], re.sub(r"linked from package (\S+ \S+).*", r"\1",
                                                          packages[other].get("sourceInfo", "")))
                  for one, kind, other in links if one == package["SPDXID"] and kind == "STATIC_LINK"}
        if said.startswith("  ", said.find("\n") + 1) and inside != listed:
            yield f"{program.name} says that inside are {sorted(inside)}, the SBOM {sorted(listed)}"
        if not listed:
            yield f"{program.name}: nothing is inside"
    for name in by_file:
        yield f"{name} is listed, and not there"


def main():
    path, programs = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
    document = json.loads(path.read_text(encoding="utf-8"))
    complaints = list(complaints_of(document, programs))
    if shutil.which("pyspdxtools"):
        ran = subprocess.run(["pyspdxtools", "-i", path], capture_output=True, text=True)
        if ran.returncode != 0:
            complaints.append(f"pyspdxtools: {ran.stderr.strip()}")
    if complaints:
        sys.exit("\n".join(["FAILED: " + str(path), *complaints]))
    libraries = [one["name"] for one in document["packages"] if one["SPDXID"].startswith("SPDXRef-library-")]
    print(f"{path.name}: {len(programs)} files, {len(libraries)} libraries inside: {' '.join(libraries)}")


if __name__ == "__main__":
    main()
