"""What a recording says about the run, and what it must not say."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from memstrata._identity import describe_inputs, find_commit, make_identity


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    return tmp_path


def test_the_commit_is_what_git_says(work_tree: Path) -> None:
    commit = git(work_tree, "rev-parse", "HEAD")
    (work_tree / "deep" / "er").mkdir(parents=True)
    assert find_commit(work_tree / "deep" / "er") == commit
    git(work_tree, "pack-refs", "--all")
    assert find_commit(work_tree) == commit
    git(work_tree, "checkout", "--quiet", "--detach")
    assert find_commit(work_tree) == commit


def test_the_commit_of_a_linked_work_tree(work_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("linked") / "tree"
    git(work_tree, "worktree", "add", "--quiet", "-b", "other", str(other))
    git(other, "commit", "--quiet", "--allow-empty", "--message", "second")
    assert find_commit(other) == git(other, "rev-parse", "HEAD")


def test_no_commit_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/none\n")
    assert find_commit(tmp_path) is None
    (tmp_path / ".git" / "HEAD").write_text("something else\n")
    assert find_commit(tmp_path) is None


def test_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2-token")
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    monkeypatch.setattr("sys.argv", ["/home/someone/train.py", "--api-key", "hunter2-key"])
    text = json.dumps(make_identity(None, with_arguments=False))
    assert "hunter2" not in text and "/home/someone" not in text
    identity = make_identity(None, with_arguments=True)
    assert identity["arguments"] == ["--api-key", "hunter2-key"]
    assert identity["script"] == "train.py"
    assert identity["allocator_environment"] == {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}


class Tensor:
    shape = (4, 1024)
    dtype = "bfloat16"


def test_inputs_are_told_by_shape_and_never_by_value() -> None:
    described = describe_inputs({"tokens": Tensor(), "extra": [Tensor(), "my password"], "depth": 3})
    tensor = {"shape": [4, 1024], "dtype": "bfloat16"}
    assert described == {"tokens": tensor, "extra": [tensor, "str"], "depth": "int"}


def test_a_nest_that_contains_itself_ends() -> None:
    nest: list[object] = []
    nest.append(nest)
    assert "list" in json.dumps(describe_inputs(nest))
