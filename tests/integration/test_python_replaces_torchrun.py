"""DLAUNCH_REPLACE_TORCHRUN=1: command lines and programs that start workers with torchrun start them with dlaunch.

torch is a small package with torchrun's interface; tests/interop has the real one.
"""
# ctest: timeout 600

import shutil
import textwrap

import pytest

from packages import install_wheel, make_environment, make_wheel

# The calls, actions and defaults that callers of torch.distributed.run use.
RUN = """
import argparse, os, sys

class env(argparse.Action):
    def __init__(self, dest, default=None, required=False, **more):
        super().__init__(dest=dest, default=os.environ.get(f"PET_{dest.upper()}", default), required=False, **more)
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)

class check_env(env):
    def __init__(self, **more):
        super().__init__(const=1, nargs=0, **more)
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, self.const)

def get_args_parser():
    parser = argparse.ArgumentParser()
    for name, default in [("nnodes", "1:1"), ("nproc-per-node", "1"), ("rdzv-backend", "static"), ("rdzv-endpoint", ""), ("role", "default"), ("log-dir", None)]:
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", action=env, default=default, type=str)
    parser.add_argument("--max-restarts", "--max_restarts", action=env, default=0, type=int)
    parser.add_argument("-t", "--tee", action=env, default="0", type=str)
    for name in ("standalone", "no-python"):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", action=check_env)
    parser.add_argument("-m", "--module", action=check_env)
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser

def run(args): print("torch's run")
def main(args=None): print("torch's main", sys.argv[1:] if args is None else args)
if __name__ == "__main__": main()
"""
LAUNCH = """
from torch.distributed.run import get_args_parser, run
def main(args=None):
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", default=False, action="store_true")
    run(parser.parse_args(args))
if __name__ == "__main__": main()
"""
SHOW = "import os, sys\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'], sys.argv[1:])\n"


@pytest.fixture(scope="module")
def python(binary, tmp_path_factory):
    """The interpreter of an environment with the wheel, the small torch, and torch's script."""
    folder = tmp_path_factory.mktemp("env")
    python = make_environment(folder / "env")
    install_wheel(python, make_wheel(binary, folder))
    (packages,) = folder.glob("env/lib/python3*/site-packages")
    (packages / "torch" / "distributed").mkdir(parents=True)
    for name, text in {"__init__": "print('torch is imported')", "distributed/__init__": "", "distributed/run": RUN, "distributed/launch": LAUNCH}.items():
        (packages / "torch" / f"{name}.py").write_text(text)
    (python.parent / "torchrun").write_text(f"#!{python}\nfrom torch.distributed.run import main\nmain()\n")
    (python.parent / "torchrun").chmod(0o755)
    return python


@pytest.fixture
def call(start, python, script):
    """call(*words of the interpreter) -> lines of output; "SHOW" is a script that prints its rank, world and arguments."""

    def call_(*words, asked="1", env=None, program=python):
        show = str(script("show.py", SHOW))
        environ = {"PYTHON_EXEC": None, "DLAUNCH_REPLACE_TORCHRUN": asked, **(env or {})}
        result = start(*[show if word == "SHOW" else word for word in words], program=program, env=environ).wait()
        assert result.rc == 0, result.err
        return sorted(result.out.splitlines())

    return call_


def two(*arguments):
    return [f"{rank} 2 {list(arguments)}" for rank in range(2)]


@pytest.mark.parametrize("how", [("-m", "torch.distributed.run"), ("-Bum", "torch.distributed.run"), ("-W", "ignore", "-mtorch.distributed.run")])
def test_the_module_run_without_an_import_of_torch(call, how):
    assert call(*how, "--nproc_per_node=2", "SHOW", "-x", "--", "y") == two("-x", "--", "y")


@pytest.fixture
def installed(python):
    """installed(version): the small torch is a package of that version."""
    (packages,) = python.parent.parent.glob("lib/python3*/site-packages")
    about = packages / "torch-0.dist-info"

    def installed_(version):
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")

    yield installed_
    shutil.rmtree(about)


LAUNCHED = "import os, sys\nfrom torch.distributed.launch import main\nmain(['--nproc_per_node=2', os.path.dirname(sys.argv[0]) + '/show.py', 'x'])\n"


@pytest.mark.parametrize("version, option", [("1.13.1+cu117", "--local_rank"), ("2.5.0", "--local-rank")])
def test_the_module_launch_without_an_import_of_torch(call, installed, tmp_path, version, option):
    installed(version)
    words = ("-m", "torch.distributed.launch", "--nproc_per_node=2")
    launched = [f"{rank} 2 ['{option}={rank}', 'x']" for rank in range(2)]
    assert call(*words, "SHOW", "x") == launched
    assert call(*words, "--use_env", "SHOW", "--no-use-env") == two("--no-use-env")
    assert caller(call, tmp_path, LAUNCHED) == launched


def test_the_module_launch_of_a_torch_in_a_folder_that_is_added_later(call):
    lines = call("-m", "torch.distributed.launch", "--nproc_per_node=2", "SHOW", "x")
    assert lines == ["0 2 ['--local-rank=0', 'x']", "1 2 ['--local-rank=1', 'x']", "torch is imported"]


def test_the_script_torchrun(call, python):
    assert call("--nproc_per_node=2", "SHOW", program=python.parent / "torchrun") == two()


def caller(call, tmp_path, text, **more):
    """A program that imports torch's module and calls it, as accelerate and torchtune do."""
    program = tmp_path / "caller.py"
    program.write_text(textwrap.dedent(text))
    lines = call(program, **more)
    lines.remove("torch is imported")
    return lines


BY_NAME = """
    import os, sys
    from torch.distributed.run import get_args_parser, run
    args = get_args_parser().parse_args(["--standalone", "--nproc_per_node", "2", "--max-restarts=3", sys.argv[0]])
    args.training_script, args.training_script_args, args.unknown = os.path.dirname(sys.argv[0]) + "/show.py", ["--lr", 0.1, "-m"], 1
    run(args)
    print("not reached")
"""


def test_a_caller_of_run(call, tmp_path):
    assert caller(call, tmp_path, BY_NAME) == two("--lr", "0.1", "-m")


def test_a_caller_of_main(call, tmp_path):
    text = "import os, sys\nimport torch.distributed.run as run\nrun.main(['--nproc_per_node=2', os.path.dirname(sys.argv[0]) + '/show.py', 'a b'])\n"
    assert caller(call, tmp_path, text) == two("a b")


def test_a_caller_of_launch(call, tmp_path):
    assert caller(call, tmp_path, LAUNCHED) == ["0 2 ['--local-rank=0', 'x']", "1 2 ['--local-rank=1', 'x']"]


def test_a_variable_of_torchrun_counts_where_the_caller_says_nothing(call, tmp_path):
    text = BY_NAME.replace('"--nproc_per_node", "2", ', "")
    assert caller(call, tmp_path, text, env={"PET_NPROC_PER_NODE": "2"}) == two("--lr", "0.1", "-m")
    assert caller(call, tmp_path, BY_NAME, env={"PET_NPROC_PER_NODE": "7"}) == two("--lr", "0.1", "-m")


@pytest.mark.parametrize("asked", [None, "", "0"])
def test_torch_is_used_where_it_is_not_asked_for(call, tmp_path, asked):
    assert call("-m", "torch.distributed.run", "SHOW", asked=asked)[1].startswith("torch's main")
    assert "torch's run" in call("-m", "torch.distributed.launch", "SHOW", asked=asked)
    assert caller(call, tmp_path, BY_NAME, asked=asked) == ["not reached", "torch's run"]


def test_other_programs_run_as_ever(call):
    assert call("-c", "import sys; print(sys.argv)", "-m", "torch.distributed.run") == ["['-c', '-m', 'torch.distributed.run']"]
    assert call("-m", "json.tool", "--help")[0] == ""


@pytest.mark.parametrize("asked", ["", "0", "false", "no", "off"])
def test_other_values_ask_for_nothing(call, asked):
    assert "torch is imported" in call("-m", "torch.distributed.run", "--nproc_per_node=2", "SHOW", asked=asked)
