"""--rdzv-endpoint=etcd://HOST: nodes with an etcd cluster rendezvous without a configured address."""

import subprocess

import pytest

from processes import until

pytestmark = pytest.mark.needs("etcd", "etcdctl")


def test_nodes_join_restart_and_leave_nothing(by_etcd):
    job, etcd = by_etcd(3)
    runs = job.begin("3", "--max-restarts=1", endpoint=etcd.endpoint)
    world = job.world(3)
    assert sorted(world.hosts) == ["node1", "node2", "node3"]
    assert etcd.members[0].keys() == ["/dlaunch/job/claim", "/dlaunch/job/record"]
    job.order(1, "exit 3")
    after = job.world(3, after=world)
    assert after.restarts == {1}
    job.end_well(after, *runs)
    assert etcd.members[0].keys() == []


def test_torchruns_words(by_etcd):
    job, etcd = by_etcd(2)
    words = [word.replace("--rdzv-backend=c10d", "--rdzv-backend=etcd-v2") for word in job.words("2", endpoint=etcd.endpoint[7:])]
    runs = [host.start(*words) for host in job.net]
    job.end_well(job.world(2), *runs)


def test_the_killed_coordinator_is_replaced_and_the_workers_run_on(by_etcd):
    job, etcd = by_etcd(2)
    runs = job.begin("2", "--max-restarts=1", endpoint=etcd.endpoint)
    world = job.world(2)
    for host in job.net:
        for pid in host.pids():
            if open(f"/proc/{pid}/comm").read() == "dlaunch-coord\n":
                subprocess.run(["kill", "-9", str(pid)], check=True)
    job.order(0, "exit 3")
    after = job.world(2, after=world)
    assert after.restarts == {1}, "the first round was adopted, and its failure counted"
    job.end_well(after, *runs)


def test_nobody_answers(by_etcd):
    job, etcd = by_etcd(1)
    etcd.members[0].kill()
    run = job.net[0].start(*job.words("2", endpoint=etcd.endpoint, conf="join_timeout=2"))
    result = run.wait(20)
    assert result.rc == 80 and f"etcd {etcd.endpoint[7:]}: Connection refused" in result.err


def test_a_dead_address_is_passed_over(by_etcd):
    job, etcd = by_etcd(2)
    runs = job.begin("2", endpoint=f"etcd://10.86.0.99:2379,{etcd.endpoint[7:]}")
    job.end_well(job.world(2), *runs)


def test_a_user_with_a_password(by_etcd):
    job, etcd = by_etcd(2)
    for words in (["user", "add", "root:frobnicate"], ["user", "grant-role", "root", "root"], ["auth", "enable"]):
        done = etcd.members[0].ctl(*words)
        assert done.returncode == 0, done.stderr
    words = job.words("2", endpoint=etcd.endpoint, conf="join_timeout=3")
    wrong = job.net[0].start(*words, env={"ETCDCTL_USER": "root:wrong-one"}).wait(20)
    assert wrong.rc == 80 and "authentication failed" in wrong.err and "wrong-one" not in wrong.out + wrong.err
    runs = [host.start(*job.words("2", endpoint=etcd.endpoint), env={"ETCDCTL_USER": "root:frobnicate"}) for host in job.net]
    job.end_well(job.world(2), *runs)


@pytest.fixture
def certificates(tmp_path):
    """An authority, and the certificates of etcd1, by its address, and of a client."""
    folder = tmp_path / "keys"
    folder.mkdir()

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, capture_output=True, check=True)

    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(*new, "-x509", "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=ca")
    uses = {"server": "subjectAltName=IP:10.86.0.1\nextendedKeyUsage=serverAuth,clientAuth", "client": "extendedKeyUsage=clientAuth"}
    for name, use in uses.items():
        (folder / f"{name}.ext").write_text(use)
        openssl(*new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext"]
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signed)
    return folder


@pytest.mark.needs("openssl")
def test_https_with_a_clients_certificate(by_etcd, certificates):
    job, etcd = by_etcd(2, certificates=certificates)
    at = certificates
    conf = f"protocol=https,cacert={at}/ca.crt,cert={at}/client.crt,key={at}/client.key"
    runs = [host.start(*job.words("2", endpoint=etcd.endpoint, conf=conf)) for host in job.net]
    world = job.world(2)
    conf = f"join_timeout=2,protocol=https,cacert={at}/server.crt"
    stranger = job.net[0].start(*job.words("2", job="other", endpoint=etcd.endpoint, conf=conf)).wait(20)
    assert stranger.rc == 80 and "certificate" in stranger.err
    missing = job.net[0].start(*job.words("2", job="other", endpoint=etcd.endpoint, conf="protocol=https,cacert=/nowhere")).wait(20)
    assert missing.rc == 2 and "/nowhere" in missing.err
    job.end_well(world, *runs)
