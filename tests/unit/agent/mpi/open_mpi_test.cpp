#include "agent/mpi/open_mpi.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(OpenMpiDefaults, DependOnThePlace) {
    const Plan plan;
    const Context& context = plan.contexts.front();
    EXPECT_EQ(open_mpi_defaults(plan, context, {}), (Variables{{"OMPI_MCA_schizo", "^orte"}}));
    EXPECT_EQ(open_mpi_defaults(plan, context, {"/dev/shm/x", true}),
              (Variables{{"OMPI_MCA_schizo", "^orte"},
                         {"OMPI_MCA_btl_vader_backing_directory", "/dev/shm/x"},
                         {"OMPI_MCA_btl_sm_backing_directory", "/dev/shm/x"},
                         {"OMPI_MCA_mpi_yield_when_idle", "1"}}));
}

TEST(OpenMpiDefaults, WhatTheUserHasSetStays) {
    Plan plan;
    plan.host.environment = {{"OMPI_MCA_mpi_yield_when_idle", "0"}};
    plan.contexts.front().program.environment = {{"OMPI_MCA_schizo", "x"}};
    EXPECT_EQ(open_mpi_defaults(plan, plan.contexts.front(), {"", true}), Variables{});
}

TEST(PmixServerEnvironment, HasNoVariablesOfAnotherStarter) {
    const Host host{"node1",
                    1,
                    {{"A", "b"},
                     {"PMIX_RANK", "5"},
                     {"PMI_FD", "7"},
                     {"PRTE_LAUNCHED", "1"},
                     {"PMIX_MCA_ptl", "client"},
                     {"OMPI_COMM_WORLD_RANK", "5"}}};
    EXPECT_EQ(pmix_server_environment(host),
              (Variables{{"A", "b"}, {"PMIX_MCA_ptl", "client"}, {"PMIX_MCA_gds", "hash"}}));
    const Host with_choice{"node1", 1, {{"PMIX_MCA_gds", "ds21"}}};
    EXPECT_EQ(pmix_server_environment(with_choice), (Variables{{"PMIX_MCA_gds", "ds21"}}));
}

}  // namespace
}  // namespace dlaunch::agent
