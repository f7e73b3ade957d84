#include "agent/mpi/process_mapping.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(ProcessMapping, nodes_with_equal_counts_are_one_block) {
    EXPECT_EQ(process_mapping({0, 0, 0}), "(vector,(0,1,3))");
    EXPECT_EQ(process_mapping({0, 0, 1, 1, 2, 2}), "(vector,(0,3,2))");
}

TEST(ProcessMapping, uneven_nodes_are_several_blocks) {
    EXPECT_EQ(process_mapping({0, 0, 1, 1, 2}), "(vector,(0,2,2),(2,1,1))");
    EXPECT_EQ(process_mapping({0, 1, 1, 1}), "(vector,(0,1,1),(1,1,3))");
}

TEST(ProcessMapping, a_second_program_returns_to_the_first_node) {
    EXPECT_EQ(process_mapping({0, 1, 0, 0, 1, 1}), "(vector,(0,2,1),(0,2,2))");
    EXPECT_EQ(process_mapping({1, 0}), "(vector,(1,1,1),(0,1,1))");
}

}  // namespace
}  // namespace dlaunch::agent
