"""The package as pip builds and installs it: in a folder of its own, and without any registry."""

import importlib
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent
SOURCES = HERE / "src" / "onceward_client"
MISSING = [name for name in ("pip", "setuptools", "wheel") if find_spec(name) is None]


def names_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir() if file.name != "__pycache__"}


def test_the_project_packs_the_marker_of_its_types() -> None:
    if sys.version_info < (3, 11):
        pytest.skip("tomllib begins with Python 3.11")
    project = importlib.import_module("tomllib").loads((HERE / "pyproject.toml").read_text())
    setuptools = project["tool"]["setuptools"]
    assert setuptools["package-data"] == {"onceward_client": ["py.typed"]}
    assert (SOURCES / "py.typed").is_file()


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_what_pip_installs_can_be_imported_and_is_typed_and_has_no_tests(tmp_path: Path) -> None:
    made, target = tmp_path / "made", tmp_path / "target"
    # A copy, because setuptools writes into the folder that it builds.
    left_behind = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", ".*")
    shutil.copytree(HERE, made, ignore=left_behind)
    pip = [sys.executable, "-m", "pip", "--isolated", "--no-cache-dir", "install", "--no-index"]
    how = ["--no-deps", "--no-build-isolation", "--target", str(target), str(made)]
    built = subprocess.run([*pip, *how], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    modules = {name for name in names_in(target) if not name.endswith(".dist-info")}
    assert modules == {"onceward_client"}
    assert names_in(target / "onceward_client") == names_in(SOURCES)
    where = "import onceward_client; print(onceward_client.Client and onceward_client.__file__)"
    imported = subprocess.run(
        [sys.executable, "-c", where], cwd=target, capture_output=True, text=True
    )
    assert imported.stdout.strip() == str(target / "onceward_client" / "__init__.py")
