"""A front end starts the workers of all hosts: ranks follow the list, and slots are the workers of a host."""

SAY = 'echo "$GROUP_RANK/$GROUP_WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $RANK/$WORLD_SIZE $MASTER_PORT"'


def told(result):
    assert result.rc == 0, result.err
    lines = sorted(line.split(" ") for line in result.out.splitlines())
    assert len({line[3] for line in lines}) == 1, "one store for all"
    return [" ".join(line[:3]) for line in lines]


def test_ranks_follow_the_list(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=z:2,a,m", "--no-python", "sh", "-c", SAY)
    assert told(result) == ["0/3 0/2 0/4", "0/3 1/2 1/4", "1/3 0/1 2/4", "2/3 0/1 3/4"]


def test_a_total_fills_hosts_by_their_slots(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a:2,b:2,c:2", "-n", 3, "--no-python", "sh", "-c", SAY)
    assert told(result) == ["0/2 0/2 0/3", "0/2 1/2 1/3", "1/2 0/1 2/3"]


def test_a_single_host(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=only:2", "--no-python", "sh", "-c", SAY)
    assert told(result) == ["0/1 0/2 0/2", "0/1 1/2 1/2"]


def test_hosts_beyond_nnodes_are_spares(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a,b,c", "--nnodes=2", "--no-python", "sh", "-c", SAY)
    assert [line.split(" ")[0][1:] for line in told(result)] == ["/2", "/2"]
