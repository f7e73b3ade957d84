#include "rendezvous/rounds/programs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

TEST(Programs, each_is_new_once) {
    Programs programs;
    EXPECT_TRUE(programs.add("train.py"));
    EXPECT_FALSE(programs.add("train.py"));
    EXPECT_TRUE(programs.add("eval.py"));
    EXPECT_FALSE(programs.add("train.py"));
}

TEST(Programs, names_are_kept_to_the_length_of_a_file_name) {
    Programs programs;
    EXPECT_EQ(Programs::shown(std::string(4'096, 'x')), std::string(255, 'x'));
    EXPECT_TRUE(programs.add(std::string(4'096, 'x')));
    EXPECT_FALSE(programs.add(std::string(255, 'x')));
}

TEST(Programs, beyond_64_none_is_new) {
    Programs programs;
    for (int n = 0; n < 64; ++n) EXPECT_TRUE(programs.add(fmt::format("program{}", n)));
    EXPECT_FALSE(programs.add("program64"));
    EXPECT_EQ(programs.size(), 64U);
}

}  // namespace
}  // namespace dlaunch::rendezvous
