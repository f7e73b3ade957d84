#include "agent/mpi/foreign_variables.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(ForeignVariables, are_those_of_a_starter) {
    for (const char* name : {"PMI_FD", "PMI_RANK", "PMIX_NAMESPACE", "PMIX_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                             "OMPI_COMM_WORLD_RANK", "PRTE_LAUNCHED", "OMPI_MCA_orte_hnp_uri", "OMPI_UNIVERSE_SIZE",
                             "OMPI_ARGV", "OMPI_MCA_initial_wdir"})
        EXPECT_TRUE(is_of_other_starter(name)) << name;
}

TEST(ForeignVariables, are_not_those_of_the_user) {
    for (const char* name : {"OMPI_MCA_btl", "OMPI_MCA_pmix_base_async_modex", "MPIR_CVAR_ASYNC_PROGRESS", "UCX_TLS",
                             "PMIX_MCA_gds", "PRTE_MCA_rmaps", "MPI_HOME", "PMI", "PATH"})
        EXPECT_FALSE(is_of_other_starter(name)) << name;
}

}  // namespace
}  // namespace dlaunch::agent
