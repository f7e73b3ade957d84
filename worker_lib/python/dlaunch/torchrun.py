"""python -m dlaunch.torchrun [OPTIONS] SCRIPT [ARGS...]: dlaunch under the name torchrun, for this interpreter."""

import sys
from typing import NoReturn, Optional, Sequence

from ._program import become_torchrun


def main(arguments: Optional[Sequence[str]] = None) -> NoReturn:
    """Does not return: the process becomes dlaunch."""
    become_torchrun(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    main()
