"""--stdin=all after all workers have closed their input: dlaunch stops reading its stdin."""

import json


def test_dlaunch_does_not_spin(dlaunch, tmp_path):
    report = tmp_path / "cpu"
    script = f"exec 0<&-; sleep 1; for p in $PPID; do cut -d' ' -f14,15 /proc/$p/stat; done > {report}.$RANK"
    result = dlaunch("--nproc-per-node=2", "--stdin=all", "--no-python", "sh", "-c", script,
                     prefix=("bash", "-c", 'exec "$@" < <(exec yes)', "bash"))
    assert result.rc == 0
    ticks = [sum(map(int, path.read_text().split())) for path in tmp_path.glob("cpu.*")]
    assert len(ticks) == 2 and max(ticks) < 50, json.dumps(ticks)
