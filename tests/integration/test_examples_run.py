"""Some examples on each CPU backend: the output does not depend on the backend."""

import pytest

from conftest import BINARY

EXAMPLES = BINARY.parent / "examples"
PRINTED = {
    "all_reduce_sum": [f"rank {r}: [[3, 3], [3, 3]]" for r in range(3)],
    "all_to_all": [f"rank {r}: [[{r}], [{10 + r}], [{20 + r}]]" for r in range(3)],
    "pi": ["Total is = 3.466667", "rank=0 total=1", "rank=1 total=-0.3333333", "rank=2 total=0.2"],
    "send_recv_blocking": ["Rank 0 has data 1", "Rank 1 has data 1", "Rank 2 has data 0"],
    "barrier": [f"rank {r}: {when}" for r in range(3) for when in ("no-barrier", "barrier")]
    + [f"rank 0 - seconds: {seconds}" for seconds in (1, 2, 3, 4)],
    "all_reduce_pair": ["Rank 0 has data 2", "Rank 1 has data 2", "Rank 2 has data 1"],
}


@pytest.mark.parametrize("backend", ["auto", "shm", "tcp", "gloo"])
@pytest.mark.parametrize("name", PRINTED)
def test_prints(dlaunch, name, backend):
    program = EXAMPLES / name
    if not program.exists():
        pytest.skip(f"{program} is not built")
    if backend == "gloo" and not (BINARY.parent.parent / "lib/libdlaunch-gloo.so").exists():
        pytest.skip("built without Gloo")
    result = dlaunch("--nproc-per-node=3", program, env={"DLAUNCH_BACKEND": backend})
    assert result.rc == 0, result.err
    assert sorted(result.out.splitlines()) == sorted(PRINTED[name])
