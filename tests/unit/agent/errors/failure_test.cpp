#include "agent/errors/failure.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace dlaunch::agent {
namespace {

int status(ExitKind how, int code, int signal) {
    Failure failure;
    failure.how = how;
    failure.code = code;
    failure.signal = signal;
    return failure.exit_status();
}

TEST(ExitStatus, IsTheWorkersOwn) {
    for (int code = 1; code < 256; ++code) EXPECT_EQ(status(ExitKind::exited, code, 0), code);
}

TEST(ExitStatus, IsTheShellsForASignal) {
    for (int signal = 1; signal <= SIGRTMAX; ++signal) EXPECT_EQ(status(ExitKind::signalled, 0, signal), 128 + signal);
}

TEST(ExitStatus, OfAnExecError) {
    EXPECT_EQ(status(ExitKind::not_executed, 127, 0), 127);
    EXPECT_EQ(status(ExitKind::not_executed, 126, 0), 126);
}

TEST(ExitStatus, OfAHangAndATimeOut) {
    EXPECT_EQ(status(ExitKind::hung, 0, SIGKILL), 84);
    EXPECT_EQ(status(ExitKind::timed_out, 0, SIGKILL), 84);
}

}  // namespace
}  // namespace dlaunch::agent
