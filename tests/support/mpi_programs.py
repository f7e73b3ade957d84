"""Programs of MPI, compiled as their users do."""

import subprocess


def compiled(compiler, source, target):
    """The program `target` of the C file `source`, by mpicc.mpich or mpicc.openmpi."""
    done = subprocess.run([compiler, "-O1", "-o", target, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target
