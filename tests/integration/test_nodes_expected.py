"""With a node list from SLURM, a waiting node names the missing nodes."""


def test_the_time_out_names_the_missing(cluster):
    job = cluster(3)
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node[1-3]", "SLURM_PROCID": "0"}
    words = job.words("3", conf="join_timeout=3")
    runs = [job.net[0].start(*words, env=slurm), job.net[1].start(*words, env={**slurm, "SLURM_PROCID": "1"})]
    results = [run.wait(15) for run in runs]
    assert [result.rc for result in results] == [80, 80]
    assert all("2 of 3 nodes, waiting for: node3" in result.err for result in results), results[0].err
