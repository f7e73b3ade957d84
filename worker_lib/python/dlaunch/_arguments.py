"""Turns what torchrun's callers pass into words of a command line."""

from typing import Any, Iterable, List, Optional, Sequence, Tuple

_TAKE_A_VALUE = "WX"  # short options of the interpreter
_LONG_TAKES_A_VALUE = "--check-hash-based-pycs"


def program_of(words: Sequence[str]) -> Tuple[str, str, List[str]]:
    """("-m", module, arguments) or ("", script, arguments) of an interpreter's command line; else ("", "", [])."""
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if word == _LONG_TAKES_A_VALUE:
            rest[:1] = []
        elif word == "-" or not word.startswith("-"):
            return "", word, rest
        elif not word.startswith("--"):
            for at, letter in enumerate(word[1:], 2):
                value = word[at:] or (rest.pop(0) if letter in "cm" + _TAKE_A_VALUE and rest else "")
                if letter == "m":
                    return "-m", value, rest
                if letter == "c":
                    return "", "", []
                if letter in _TAKE_A_VALUE:
                    break
    return "", "", []


def words_of(options: Any, actions: Iterable[Any], local_rank_option: str = "--local-rank") -> List[str]:
    """The command line of a namespace that torchrun's parser has filled, or a caller in its place. Values equal to the
    parser's defaults are left out: dlaunch has the same defaults, and reads the same variables. torch.distributed.launch
    passes `local_rank_option`.
    """
    words: List[str] = []
    for action in actions:
        name = _long_name(action.option_strings)
        if name and hasattr(options, action.dest):
            words += _words_of_option(name, action, getattr(options, action.dest))
    words.append(str(options.training_script))
    if not getattr(options, "use_env", True):  # torch.distributed.launch
        words.append(local_rank_option + "=${local_rank}")
    return words + [str(word) for word in getattr(options, "training_script_args", None) or []]


def _long_name(spellings: Sequence[str]) -> Optional[str]:
    return next((name for name in spellings if name.startswith("--") and name not in ("--help", "--use-env", "--use_env")), None)


def _words_of_option(name: str, action: Any, value: Any) -> List[str]:
    if action.nargs == 0:
        return [] if bool(value) == bool(action.default) else [f"{name}={1 if value else 0}"]
    if isinstance(value, (list, tuple)):
        value = ",".join(str(each).replace(",", ",,") for each in value)
    if value is None or value in ([], "") and not action.default or str(value) == str(action.default):
        return []
    return [f"{name}={value}"]
