#include "launcher/cli/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace dlaunch::launcher {
namespace {

TEST(StopSignal, MustBeAbleToEndAProcess) {
    EXPECT_EQ(*parse_stop_signal("INT"), SIGINT);
    EXPECT_EQ(*parse_stop_signal("KILL"), SIGKILL);
    for (const char* text : {"STOP", "TSTP", "CONT", "CHLD", "WINCH", "URG", "nope", ""})
        EXPECT_FALSE(parse_stop_signal(text)) << text;
}

TEST(SignalList, KeepsOrderAndDropsRepeats) {
    auto list = parse_signal_list("SIGTERM,SIGUSR2,TERM,2");
    ASSERT_TRUE(list);
    EXPECT_EQ(list->numbers, (std::vector<int>{SIGTERM, SIGUSR2, SIGINT}));
    EXPECT_TRUE(list->warnings.empty());
}

TEST(SignalList, UnknownNamesOnlyWarn) {
    auto list = parse_signal_list("SIGTERM,SIGNOPE,SIGKILL");
    ASSERT_TRUE(list);
    EXPECT_EQ(list->numbers, (std::vector<int>{SIGTERM}));
    EXPECT_EQ(list->warnings, (std::vector<std::string>{"'SIGNOPE' is not a signal and is ignored",
                                                        "SIGKILL cannot be handled and is ignored"}));
}

TEST(SignalList, NothingIsAnError) { EXPECT_FALSE(parse_signal_list(" ")); }

}  // namespace
}  // namespace dlaunch::launcher
