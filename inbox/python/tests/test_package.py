"""The wheel as pip builds and installs it, without any registry, and the examples."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import httpx
import pytest
from database import DSN

HERE = Path(__file__).resolve().parent.parent
SOURCES = HERE / "src" / "onceward_inbox"


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_the_sources_and_the_marker_of_types(tmp_path: Path) -> None:
    made, target = tmp_path / "made", tmp_path / "target"
    # A copy, because setuptools writes into the folder that it builds.
    shutil.copytree(HERE, made, ignore=shutil.ignore_patterns("build", "*.egg-info", ".*"))
    pip = (sys.executable, "-m", "pip", "--isolated", "--no-cache-dir")
    how = ("--no-index", "--no-deps", "--no-build-isolation")
    run(*pip, "wheel", *how, "--wheel-dir", str(tmp_path), str(made))
    [wheel] = tmp_path.glob("*.whl")
    run(*pip, "install", "--no-index", "--no-deps", "--target", str(target), str(wheel))
    assert {file.name for file in target.iterdir() if file.suffix != ".dist-info"} == {
        "onceward_inbox"
    }
    installed = {file.name for file in (target / "onceward_inbox").iterdir()} - {"__pycache__"}
    assert installed == {file.name for file in SOURCES.iterdir()} - {"__pycache__"}
    assert "py.typed" in installed


def test_sqlalchemy_and_fastapi_are_optional() -> None:
    names = "fastapi starlette sqlalchemy psycopg_pool"
    sees = f"import sys, onceward_inbox; print([n for n in '{names}'.split() if n in sys.modules])"
    assert run(sys.executable, "-c", sees, PYTHONPATH=str(HERE / "src")) == "[]\n"


@pytest.mark.usefixtures("database")
def test_the_example_pays_once() -> None:
    order = f"order-{uuid.uuid4()}"
    script = str(HERE / "examples" / "pay.py")
    said = run(sys.executable, script, order, ONCEWARD_DSN=DSN, PYTHONPATH=str(HERE / "src"))
    assert said.count("charging") == 1
    assert said.endswith(f"1 payment of {order}\n")


@pytest.mark.usefixtures("database")
def test_the_shop_of_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCEWARD_DSN", DSN)
    import shop

    async def order() -> None:
        transport = httpx.ASGITransport(app=shop.app)
        client = httpx.AsyncClient(transport=transport, base_url="http://shop.example")
        async with shop.lifespan(shop.app), client:
            key = {"Idempotency-Key": str(uuid.uuid4())}
            first = await client.post("/orders", json={"item": "tea"}, headers=key)
            again = await client.post("/orders", json={"item": "tea"}, headers=key)
            assert first.status_code == 201
            assert (first.status_code, first.json()) == (again.status_code, again.json())
            assert again.headers["idempotent-replayed"] == "true"
            # What FastAPI refuses is stored as well.
            key = {"Idempotency-Key": str(uuid.uuid4())}
            assert (await client.post("/orders", json={}, headers=key)).status_code == 422

    asyncio.run(order())


@pytest.mark.usefixtures("database")
def test_the_readme_runs(tmp_path: Path) -> None:
    """Its first example, as a new user copies it, with this database for his."""
    [code] = re.findall(
        r"```python\n(import psycopg\n.*?)```", (HERE / "README.md").read_text(), re.S
    )
    assert code.count('"postgresql://localhost/shop"') == 1
    script = tmp_path / "readme.py"
    script.write_text(code.replace('"postgresql://localhost/shop"', repr(DSN)))
    said = run(sys.executable, str(script), PYTHONPATH=str(HERE / "src"))
    one, two = said.splitlines()
    assert one == two
    assert "order-17" in one
