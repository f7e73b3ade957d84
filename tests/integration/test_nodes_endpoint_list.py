"""Several endpoints in --rdzv-endpoint, and names that resolve only later."""

from hosts import PORT
from processes import until


def test_the_first_endpoint_hosts_and_an_unknown_name_is_ignored(cluster):
    job = cluster(3)
    places = f"node2:{PORT},nowhere.invalid,node1"
    runs = [job.join(host, "3", endpoint=places) for host in job.net]
    job.net[2].await_connection(job.net[1])
    world = job.world(3)
    assert world.hosts == ["node1", "node2", "node3"]
    job.end_well(world, *runs)


def test_the_hosts_own_name_resolves_later(cluster):
    job = cluster(2)
    runs = [job.join(host, "2", endpoint="later", conf="join_timeout=30") for host in job.net]
    table = job.net.folder / "etc-hosts"
    with table.open("a") as file:  # in place, because the file is bind-mounted
        file.write("10.86.0.1 later\n")
    world = job.world(2)
    job.end_well(world, *runs)


def test_a_name_with_several_addresses_of_which_one_listens(cluster):
    job = cluster(3)
    with (job.net.folder / "etc-hosts").open("a") as file:
        file.write("10.86.0.3 many\n10.86.0.1 many\n")
    runs = [job.join(host, "2", "--max-restarts=1", endpoint="many") for host in job.net.all[:2]]
    world = job.world(2)
    job.order(1, "exit 3")
    world = job.world(2, after=world)
    job.end_well(world, *runs)


def test_a_name_that_stays_unknown(cluster):
    job = cluster(1)
    run = job.join(job.net[0], "2", endpoint="nowhere.invalid", conf="join_timeout=2")
    result = run.wait(15)
    assert result.rc == 80 and "nowhere.invalid" in result.err and "timed out after 2 s" in result.err
    until(lambda: not job.net[0].pids(), 5, "the end of all")


def test_no_answer_at_any_of_them(cluster):
    """The error names each endpoint with its result."""
    job = cluster(3)
    job.net["node2"].unplug()
    run = job.join(job.net["node3"], "2", endpoint=f"node1:{PORT},node2:29401,nowhere.invalid", conf="join_timeout=3")
    result = run.wait(15)
    assert result.rc == 80, result.err
    assert f"at node1:{PORT} or node2:29401 or nowhere.invalid:{PORT}: node1:{PORT}: Connection refused" in result.err
    assert "; node2:29401: " in result.err and "; nowhere.invalid:29400: " in result.err
