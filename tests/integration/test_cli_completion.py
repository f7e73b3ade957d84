"""The completion scripts in bash, zsh and fish."""

import re
import shutil
import subprocess

import pytest

BASH = """source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; _dlaunch; printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(dlaunch, tmp_path):
    """script(shell) -> path of its completion script; skips if the shell is missing."""

    def script_(shell):
        if not shutil.which(shell):
            pytest.skip(f"{shell} is not installed")
        result = dlaunch("--print-completion", shell)
        assert result.rc == 0 and result.err == ""
        (tmp_path / "_dlaunch").write_text(result.out)
        return tmp_path / "_dlaunch"

    return script_


def lines(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, **more).stdout.split("\n")[:-1]


@pytest.fixture
def bash(script, tmp_path):
    path = script("bash")
    (tmp_path / "a file.txt").touch()
    return lambda *words: lines(["bash", "--norc", "-c", BASH, "bash", path, "dlaunch", *words], cwd=tmp_path)


@pytest.mark.parametrize(
    "words, offered",
    [
        (["--nproc"], ["--nproc-per-node"]),
        (["--nproc-per-node", "=", "c"], ["cpu"]),
        (["--nproc-per-node", "="], ["auto", "cpu", "gpu", "xpu", "hpu", "npu"]),
        (["--bind", "so"], ["socket"]),
        (["--nnodes", "1", "-r", "3", "--master-p"], ["--master-port"]),
        (["--config", "a"], ["a file.txt"]),
        (["--standalone", "./prog", "--x", "a"], ["a file.txt"]),
        (["--", "a"], ["a file.txt"]),
        (["./prog", "--nproc"], [""]),
        (["versio"], ["version"]),
        (["--standalone", "versio"], [""]),
        (["check", "--rdzv-en"], ["--rdzv-endpoint"]),
        (["./prog", "check", "--rdzv-en"], [""]),
        (["store", "--b"], ["--bind"]),
        (["store", "--rdzv-en"], [""]),
        (["./prog", "store", "--b"], [""]),
        (["store", "--bind", "so"], [""]),
        (["coordinator", "--rdzv-en"], ["--rdzv-endpoint"]),
        (["coordinator", "--scale-up", "im"], ["immediate"]),
        (["coordinator", "--nproc"], [""]),
        (["coordinator", "./prog", "--rdzv-en"], [""]),
        (["coordinator", ""], [""]),
        (["--env", "=", "A", "=", "1", "--nproc"], ["--nproc-per-node"]),
        (["./prog", "x", ":", "--ro"], ["--role"]),
        (["./prog", ":", "--nproc-per-node=c"], ["cpu"]),
        (["./prog", ":", "--nproc-per-node", "c"], ["cpu"]),
        (["./prog", ":", "--max-re"], [""]),
        (["./prog", ":", "versio"], [""]),
        (["./prog", ":", "./more", "--ro"], [""]),
    ],
)
def test_bash(bash, words, offered):
    assert bash(*words) == offered


@pytest.mark.parametrize(
    "line, offered",
    [
        ("dlaunch --nproc-per-node=", {f"--nproc-per-node={word}" for word in ("auto", "cpu", "gpu", "hpu", "npu", "xpu")}),
        ("dlaunch --bind so", {"socket"}),
        ("torchrun --nproc", {"--nproc-per-node"}),
        ("dlaunch ./prog --nproc", set()),
        ("dlaunch versio", {"version"}),
        ("dlaunch check --rdzv-en", {"--rdzv-endpoint"}),
        ("dlaunch store --b", {"--bind"}),
        ("dlaunch store --rdzv-en", set()),
        ("dlaunch coordinator --rdzv-en", {"--rdzv-endpoint"}),
        ("dlaunch coordinator --nproc", set()),
        ("dlaunch ./prog : --ro", {"--role"}),
        ("dlaunch ./prog : --max-re", set()),
        ("dlaunch ./prog : ./more --ro", set()),
    ],
)
def test_fish(script, line, offered, tmp_path):
    path = script("fish")
    found = lines(["fish", "--no-config", "-c", f'source {path}; complete -C "{line}"'], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert {entry.split("\t")[0] for entry in found if entry} == offered


ZSH = r"""
zmodload zsh/zpty
zpty shell "zsh -f -i"
zpty -w shell "PS1=READY; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; zstyle ':completion:*' list-prompt ''; bindkey '^I' expand-or-complete; print BE''GIN"
zpty -r shell seen '*BEGIN*READY*'
zpty -w -n shell "$2"$'\t'
zpty -w -n shell $'\C-a: \n'
zpty -w shell "print E''ND"
zpty -r shell seen '*END*'
print -r -- "$seen"
"""


@pytest.mark.parametrize(
    "line, offered",
    [
        ("dlaunch --standalone --nproc-per-n", "--nproc-per-node="),
        ("dlaunch check --rdzv-en", "--rdzv-endpoint="),
        ("dlaunch store --b", "--bind="),
        ("dlaunch coordinator --rdzv-en", "--rdzv-endpoint="),
        ("dlaunch ./prog x : --ro", "--role="),
    ],
)
def test_zsh(script, tmp_path, line, offered):
    path = script("zsh")
    assert lines(["zsh", "-n", path]) == []
    seen = "\n".join(lines(["zsh", "-f", "-c", ZSH, "zsh", tmp_path, line]))
    assert offered in re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", seen)
