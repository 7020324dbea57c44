"""The set-up that `make` runs says in one line what is missing, and is quick the second time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "tools" / "environment.sh"
# The tools that the script itself runs; uv and Python are put beside them by a test.
TOOLS = ("sh", "cat", "cksum", "dirname", "grep", "mkdir", "rm", "tail")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make is not used on Windows")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project with the script alone, and a folder `bin` with nothing but its tools."""
    project = tmp_path / "a project"
    (project / "tools").mkdir(parents=True)
    shutil.copy(SCRIPT, project / "tools")
    (project / "pyproject.toml").write_text("[project]\n")
    (project / "bin").mkdir()
    for tool in TOOLS:
        place = shutil.which(tool)
        assert place is not None
        (project / "bin" / tool).symlink_to(place)
    return project


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def set_up(project: Path, level: str = "runtime", **variables: str) -> tuple[int, list[str]]:
    """Run the script with only `bin` on the path; the exit code and what it said."""
    result = subprocess.run(
        ["sh", "tools/environment.sh", level],
        cwd=project,
        env={"PATH": str(project / "bin"), "HOME": str(project)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, (result.stdout + result.stderr).splitlines()


# A stand-in for Python 3.12: answers what the script asks, and "installs" by a line in a file.
PYTHON = """
case "$*" in
  *version_info*) exit 0 ;;
  *python_version*) echo 3.12.0 ;;
  *"import ensurepip, venv"*) exit 0 ;;
  "-m venv "*) mkdir -p .venv/bin; cat "$0" >.venv/bin/python; {chmod} +x .venv/bin/python ;;
  *"pip install"*) echo "$*" >>installed; {then} ;;
esac
"""


def fake_python(project: Path, then: str = "exit 0") -> None:
    chmod = shutil.which("chmod") or ""
    program(project / "bin" / "python3", PYTHON.replace("{chmod}", chmod).replace("{then}", then))


def installed(project: Path) -> list[str]:
    path = project / "installed"
    return [line.split()[-1] for line in path.read_text().splitlines()] if path.exists() else []


def test_without_python_one_line_names_what_to_install(project: Path) -> None:
    code, said = set_up(project)
    assert code == 1
    assert len(said) == 1
    assert "Python 3.11 or later is needed and was not found; install it" in said[0]


def test_an_old_python_is_refused_before_anything_is_made(project: Path) -> None:
    program(project / "bin" / "old", "exit 1")
    code, said = set_up(project, PYTHON="old")
    assert code == 1
    assert len(said) == 1
    assert "PYTHON=old is not a Python 3.11 or later" in said[0]
    assert not (project / ".venv").exists()


def test_without_venv_and_uv_one_line_names_what_to_install(project: Path) -> None:
    program(project / "bin" / "python3", 'case "$*" in *ensurepip*) exit 1 ;; esac')
    code, said = set_up(project)
    assert code == 1
    assert len(said) == 1
    assert "has no venv module; install uv, or the package python3-venv" in said[0]


def test_the_second_run_does_nothing(project: Path) -> None:
    fake_python(project)
    assert set_up(project)[0] == 0
    assert set_up(project) == (0, [])
    assert installed(project) == [".[cli]"]


def test_the_demo_installs_the_runtime_only_and_the_tests_serve_the_demo_too(
    project: Path,
) -> None:
    fake_python(project)
    for level in ("runtime", "dev", "dev", "runtime", "docs"):
        assert set_up(project, level)[0] == 0
    assert installed(project) == [".[cli]", ".[dev]", ".[docs]"]


def test_a_changed_pyproject_is_installed_again(project: Path) -> None:
    fake_python(project)
    set_up(project)
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    set_up(project)
    assert installed(project) == [".[cli]", ".[cli]"]


def test_a_half_made_environment_is_made_again(project: Path) -> None:
    fake_python(project, then="echo broken; exit 1")
    assert set_up(project)[0] == 1
    (project / ".venv" / "remains").touch()
    fake_python(project)
    code, said = set_up(project)
    assert code == 0
    assert "making it again" in said[0]
    assert not (project / ".venv" / "remains").exists()


def test_a_moved_environment_is_made_again(project: Path) -> None:
    fake_python(project)
    set_up(project)
    moved = project.parent / "moved"
    project.rename(moved)
    (moved / ".venv" / "remains").touch()
    assert set_up(moved)[0] == 0
    assert not (moved / ".venv" / "remains").exists()


def test_without_a_network_one_line_says_so(project: Path) -> None:
    fake_python(project, then="echo 'NewConnectionError(...)'; exit 1")
    code, said = set_up(project)
    assert code == 1
    assert said[0].endswith("(once; a minute or two) ...")
    assert len(said) == 2
    assert "the packages could not be downloaded; check the network" in said[1]


def test_another_failure_shows_the_last_lines(project: Path) -> None:
    fake_python(project, then="echo 'no space left on device'; exit 1")
    code, said = set_up(project)
    assert code == 1
    assert "no space left on device" in said


def test_uv_is_used_where_it_is_installed(project: Path) -> None:
    fake_python(project)
    uv = 'echo "$*" >>uv-calls; [ "$1" = pip ] || { mkdir -p .venv/bin; python3 -m venv .venv; }'
    program(project / "bin" / "uv", uv)
    assert set_up(project)[0] == 0
    calls = (project / "uv-calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["venv", "pip"]
    assert installed(project) == []


def test_pips_index_settings_are_respected_by_leaving_uv_aside(project: Path) -> None:
    fake_python(project)
    python = project / "bin" / "python3"
    setting = '*"config list"*) echo "global.index-url=\'x\'" ;;'
    python.write_text(python.read_text().replace('case "$*" in', f'case "$*" in\n  {setting}'))
    program(project / "bin" / "uv", "echo called >>uv-calls")
    assert set_up(project)[0] == 0
    assert not (project / "uv-calls").exists()
    assert installed(project) == [".[cli]"]


def test_the_continuous_integration_script_is_executable() -> None:
    script = SCRIPT.parents[1] / ".ci" / "run"
    if not script.parent.exists():
        pytest.skip("the script stands in the repository, not in the source distribution")
    assert os.access(script, os.X_OK)
