"""The libraries that are kept with the page: named with version and licence, and not changed unnoticed."""

import json
import re
from hashlib import sha256

from micro_agent.page.files import HERE, files, modules

VENDOR = HERE / "vendor"


def test_each_is_named_with_its_version_and_has_its_licence() -> None:
    packages = json.loads((VENDOR / "versions.json").read_text())["packages"]
    named = {name: file["sha256"] for package in packages for name, file in package["files"].items()}
    assert {path.name: sha256(path.read_bytes()).hexdigest() for path in VENDOR.glob("*.js")} == named
    for package in packages:
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
        assert package["integrity"].startswith("sha512-")
        licence = (VENDOR / package["license_file"]).read_text()
        assert {"MIT": "Permission is hereby granted", "Apache-2.0": "Apache License"}[package["license"]] in licence


def test_no_file_names_another_host_or_a_module_by_anything_but_its_file() -> None:
    for name, (_, data) in files().items():
        found = re.findall(rb"https?://[\w./-]+", data)
        assert [url for url in found if b"www.w3.org/" not in url] == [], name  # names of namespaces
    for name, text in modules().items():
        for module in re.findall(r'\bfrom ?"([^"]+)"', text):
            assert module.removeprefix("./") in modules(), name
