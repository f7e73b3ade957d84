#pragma once
/// The protocols by which MPI libraries find the ranks of their world.

#include <string_view>

namespace dlaunch::agent {

enum class MpiFamily {
    none,  ///< no MPI: the ranks get no such variables
    pmi1,  ///< PMI-1, over an inherited socket: MPICH and the libraries derived from it
    pmix   ///< PMIx, from a server on the node: Open MPI
};

/// As --mpi names it.
constexpr std::string_view name(MpiFamily family) {
    switch (family) {
        case MpiFamily::none: return "none";
        case MpiFamily::pmi1: return "pmi1";
        case MpiFamily::pmix: return "pmix";
    }
    return {};
}

}  // namespace dlaunch::agent
