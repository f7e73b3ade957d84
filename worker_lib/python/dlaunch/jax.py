"""Lets jax.distributed.initialize() find its arguments in a job of dlaunch.

    import dlaunch.jax
    jax.distributed.initialize()

JAX asks its cluster environments for what a program does not pass. The one that this module adds comes first: under
SLURM, JAX's own would take the numbers of the agents for those of the workers. Several workers of a node get a GPU
each, as under SLURM and Open MPI; JAX_LOCAL_DEVICE_IDS, or the argument local_device_ids, gives a worker others.
"""

import os

from jax._src.clusters import ClusterEnv

__all__ = ["DlaunchCluster"]


class DlaunchCluster(ClusterEnv):
    name = "dlaunch"

    @classmethod
    def is_env_present(cls) -> bool:
        names = ("DLAUNCH_ROUND", "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
        return all(name in os.environ for name in names)

    # JAX reads JAX_COORDINATOR_ADDRESS before it asks; the arguments have changed between its versions.
    @classmethod
    def get_coordinator_address(cls, *_args, **_more) -> str:
        return os.environ["JAX_COORDINATOR_ADDRESS"]

    @classmethod
    def get_process_count(cls) -> int:
        return int(os.environ["JAX_NUM_PROCESSES"])

    @classmethod
    def get_process_id(cls) -> int:
        return int(os.environ["JAX_PROCESS_ID"])

    @classmethod
    def get_local_process_id(cls):
        return int(os.environ["LOCAL_RANK"]) if int(os.environ["LOCAL_WORLD_SIZE"]) > 1 else None


# A subclass is registered last.
ClusterEnv._cluster_types.remove(DlaunchCluster)
ClusterEnv._cluster_types.insert(0, DlaunchCluster)
