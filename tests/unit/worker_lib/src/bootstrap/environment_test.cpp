#include "worker_lib/src/bootstrap/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include <dlaunch/error.hpp>

namespace dlaunch::worker {
namespace {

constexpr const char* kName = "DLAUNCH_TEST_VARIABLE";

class EnvironmentTest : public testing::Test {
protected:
    ~EnvironmentTest() override { unsetenv(kName); }
    static void is(const char* value) { setenv(kName, value, 1); }
    static std::string refusal(const std::function<void()>& call) {
        try {
            call();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            return error.what();
        }
        return "nothing was thrown";
    }
};

TEST_F(EnvironmentTest, empty_counts_as_unset) {
    EXPECT_FALSE(variable(kName));
    is("");
    EXPECT_FALSE(variable(kName));
    EXPECT_FALSE(integer_variable(kName));
    is("x");
    EXPECT_EQ(variable(kName), "x");
}

TEST_F(EnvironmentTest, only_integers_are_accepted) {
    is("-12");
    EXPECT_EQ(integer_variable(kName), -12);
    EXPECT_EQ(needed_integer_variable(kName), -12);
    for (const char* text : {"one", "1.5", "1 ", " 1", "0x1", "99999999999", "+1"}) {
        is(text);
        EXPECT_EQ(refusal([] { (void)integer_variable(kName); }),
                  std::string("init_process_group: DLAUNCH_TEST_VARIABLE is '") + text + "', expected a number");
    }
}

TEST_F(EnvironmentTest, a_missing_required_variable_is_named_with_the_way_to_start_the_program) {
    const std::string text = refusal([] { (void)needed_variable(kName); });
    EXPECT_TRUE(
        text.starts_with("init_process_group: DLAUNCH_TEST_VARIABLE is not set; start the program with a "
                         "launcher, as in `dlaunch --nproc-per-node=4 "))
        << text;
    EXPECT_TRUE(text.ends_with("`, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << "one line";
}

}  // namespace
}  // namespace dlaunch::worker
