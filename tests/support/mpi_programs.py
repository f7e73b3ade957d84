"""Programs of MPI, compiled as their users do."""

import subprocess


def built(compiler, folder, text):
    """The program of this C text, in the folder."""
    (folder / "program.c").write_text(text)
    return compiled(compiler, folder / "program.c", folder / "program")


def compiled(compiler, source, target):
    """The program `target` of the C file `source`, by mpicc.mpich or mpicc.openmpi."""
    done = subprocess.run([compiler, "-O1", "-o", target, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target
