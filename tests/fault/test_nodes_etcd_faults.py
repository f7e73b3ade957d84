"""etcd fails under a running job: killed, frozen, cut off, emptied, without a majority. And the host of the coordinator is lost."""

import pytest

from processes import until

pytestmark = pytest.mark.needs("etcd", "etcdctl")


def goes_on(job, world, runs):
    """No worker was touched: a failure leads to the first counted restart, in the next round."""
    assert job.rounds() == 1
    job.order(0, "exit 3")
    after = job.world(len(world.hosts), after=world)
    assert after.restarts == {1} and after.round == world.round + 1, "\n".join(run.err() for run in runs)
    job.end_well(after, *runs)


def nobody_notices(job, runs, seconds):
    with pytest.raises(AssertionError):
        until(lambda: job.rounds() > 1 or any(run.ended() for run in runs), seconds, "a reaction")


def test_three_seconds_of_silence(by_etcd):
    job, etcd = by_etcd(2)
    runs = job.begin("2", "--max-restarts=1", endpoint=etcd.endpoint)
    world = job.world(2)
    etcd.members[0].freeze()
    nobody_notices(job, runs, 3)
    etcd.members[0].thaw()
    goes_on(job, world, runs)


def test_killed_and_restarted_with_its_data(by_etcd):
    job, etcd = by_etcd(2)
    runs = job.begin("2", "--max-restarts=1", endpoint=etcd.endpoint)
    world = job.world(2)
    etcd.members[0].kill()
    etcd.start()
    goes_on(job, world, runs)


LOSSES = {"killed": lambda leader: leader.kill(), "frozen": lambda leader: leader.freeze(), "cut off": lambda leader: leader.host.cut()}


@pytest.mark.parametrize("how", LOSSES)
def test_the_leader_of_three_is_lost(by_etcd, how):
    """The owner holds its claim for 8 s, since on a busy machine two members may need several elections."""
    job, etcd = by_etcd(2, members=3)
    runs = job.begin("2", "--max-restarts=1", "--node-timeout=20", endpoint=etcd.endpoint)
    world = job.world(2)
    leader = until(etcd.leader, 10, "a leader")
    LOSSES[how](leader)
    try:
        left = [each for each in etcd.members if each is not leader]
        until(lambda: all(each.serves() for each in left), 20, "a new leader")
        goes_on(job, world, runs)
    finally:
        if how == "frozen":
            leader.thaw()


def test_a_majority_is_away_for_longer_than_the_lease(by_etcd):
    """The owner's coordinator stands still as soon as another could be in office. The job goes on when etcd does."""
    job, etcd = by_etcd(2, members=3)
    runs = job.begin("2", "--max-restarts=0", endpoint=etcd.endpoint)
    world = job.world(2)
    for member in etcd.members[1:]:
        member.host.cut()
    until(lambda: all("killing the workers" in run.err() for run in runs), 20, "the end of the round")
    for member in etcd.members[1:]:
        member.host.mend()
    after = job.world(2, after=world, seconds=60)
    assert after.restarts == {0}
    job.end_well(after, *runs)


@pytest.mark.parametrize("members", [1, 3])
def test_emptied(by_etcd, members):
    job, etcd = by_etcd(2, members=members)
    runs = job.begin("2", "--max-restarts=1", endpoint=etcd.endpoint)
    world = job.world(2)
    etcd.empty()
    until(lambda: "/dlaunch/job/claim" in etcd.members[0].keys(), 20, "a new claim")
    job.order(0, "exit 3")
    after = job.world(2, after=world)
    assert after.restarts == {1}
    job.end_well(after, *runs)


def test_the_key_is_deleted_by_hand(by_etcd):
    job, etcd = by_etcd(2)
    runs = job.begin("2", "--max-restarts=1", endpoint=etcd.endpoint)
    world = job.world(2)
    assert etcd.members[0].ctl("del", "/dlaunch/job/claim").returncode == 0
    until(lambda: "/dlaunch/job/claim" in etcd.members[0].keys(), 20, "a new claim")
    goes_on(job, world, runs)


def test_the_host_of_the_coordinator_is_lost(by_etcd):
    job, etcd = by_etcd(3)
    hosts = list(job.net)
    runs = [job.join(hosts[0], "2:3", endpoint=etcd.endpoint)]
    until(lambda: "/dlaunch/job/claim" in etcd.members[0].keys(), 10, "the claim of node1")
    runs += [job.join(host, "2:3", endpoint=etcd.endpoint) for host in hosts[1:]]
    world = job.world(3)
    hosts[0].lose()
    after = job.world(2, after=world, seconds=30)
    assert sorted(after.hosts) == ["node2", "node3"] and after.restarts == {0}
    job.end_well(after, *runs[1:], may_overlap=True)
