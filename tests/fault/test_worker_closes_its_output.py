"""A worker that closes its output keeps running."""

CLOSE = "os.close(1); os.close(2)\nready()\nawait_note('go')\n"


def test_it_runs_on(start, python_worker, seen):
    run = start("--nproc-per-node=2", "--no-python", python_worker(CLOSE + "note(f'over.{rank}')\n"))
    run.ready(2)
    run.go()
    assert run.wait(10).rc == 0 and len(list(seen.glob("over.*"))) == 2


def test_its_failure_is_reported(start, python_worker):
    run = start("--nproc-per-node=2", "--no-python", python_worker(CLOSE + "os._exit(rank * 5)\n"))
    run.ready(2)
    run.go()
    assert run.wait(10).rc == 5
