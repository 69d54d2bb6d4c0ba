"""Every example in docstrings, in the README and in docs/python.md runs, and stubs name what there is."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

import iglu_gnn
from iglu_gnn import _native, _training, errors, estimator

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", [iglu_gnn, _training, errors, estimator, _native], ids=lambda m: m.__name__)
def test_docstrings_run(module: object) -> None:
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0 and (result.attempted > 0 or module is _native)


def test_native_classes_have_examples_that_run() -> None:
    for thing in (_native.Config, _native.Graph, _native.Dataset, _native.load_dataset):
        tests = doctest.DocTestParser().get_doctest(thing.__doc__, {}, thing.__name__, None, None)
        assert tests.examples, thing
        assert doctest.DocTestRunner(verbose=False).run(tests).failed == 0


def _blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_pages_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other in one session. Blocks that need packages which tests do without only have to be Python."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    ran = 0
    for number, block in enumerate(_blocks(page)):
        code = compile(block, f"{page}: block {number}", "exec")
        if "torch" in block or "dgl" in block:
            continue
        exec(code, names)
        ran += 1
    assert ran > 0


def test_stubs_name_everything_there_is() -> None:
    tree = ast.parse((ROOT / "python/iglu_gnn/_native.pyi").read_text())
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        kind = getattr(_native, node.name)
        told = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        there = {name for name in vars(kind) if not name.startswith("__")}
        assert there == {name for name in told if not name.startswith("__")}, node.name
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert functions == {name for name, value in vars(_native).items() if inspect.isbuiltin(value)}


def test_everything_public_is_documented() -> None:
    for name in iglu_gnn.__all__:
        thing = getattr(iglu_gnn, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and callable(value):
                    assert value.__doc__, f"{name}.{member}"
