"""DLAUNCH_REPLACE_TORCHRUN=1: torchrun's callers run dlaunch.

dlaunch_replace_torchrun.pth calls install() at the start of every interpreter of the environment if the variable is
set. A command line that names torchrun becomes dlaunch at once, before torch is imported. Programs that import
torch.distributed.run and call its run() or main(), as `accelerate launch` and `tune run` do, become dlaunch in that
call.
"""

import importlib.machinery
import os
import sys
from typing import Any, List, NoReturn, Optional, Sequence

from ._arguments import program_of, words_of
from ._program import become_torchrun

_RUN = "torch.distributed.run"
_LAUNCH = "torch.distributed.launch"


def install() -> None:
    how, program, arguments = program_of(_command_line())
    if (how == "-m" and program == _RUN) or (not how and os.path.basename(program) == "torchrun"):
        become_torchrun(arguments)
    version = _torch_version() if how == "-m" and program == _LAUNCH else ""
    if version:  # else torch is in a folder that is added later
        become_torchrun(["--pass-local-rank" + ("=underscore" if _is_before_2(version) else ""), *arguments])
    sys.meta_path.insert(0, _Finder())


def _torch_version() -> str:
    import importlib.metadata  # slow to load

    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _is_before_2(version: str) -> bool:
    return version.startswith(("0.", "1."))


def _command_line() -> List[str]:
    words = getattr(sys, "orig_argv", None)  # Python 3.10
    if words is not None:
        return list(words)
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]


class _Finder:
    """Finds torch.distributed.run as the other finders do, and replaces its functions when it has been loaded."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name != _RUN:
            return None
        for finder in sys.meta_path:
            if not isinstance(finder, _Finder) and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    if spec.loader is not None:
                        _patch_after(spec.loader)
                    return spec
        return None


def _patch_after(loader: Any) -> None:
    load = loader.exec_module

    def exec_module(module: Any) -> None:
        load(module)

        def run(args: Any) -> NoReturn:
            option = "--local_rank" if _is_before_2(_torch_version()) else "--local-rank"
            become_torchrun(words_of(args, module.get_args_parser()._actions, option))

        def main(args: Optional[Sequence[str]] = None) -> NoReturn:
            become_torchrun(sys.argv[1:] if args is None else args)

        module.run, module.main = run, main

    loader.exec_module = exec_module
