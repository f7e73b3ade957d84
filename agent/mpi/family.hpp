#pragma once
/// The protocols by which MPI libraries find the ranks of their world.

namespace dlaunch::agent {

enum class MpiFamily {
    none,  ///< no MPI: the ranks get no such variables
    pmi1,  ///< PMI-1, over an inherited socket: MPICH and the libraries derived from it
    pmix   ///< PMIx, from a server on the node: Open MPI
};

}  // namespace dlaunch::agent
