#include "rendezvous/base/signal_names.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace dlaunch::base {
namespace {

TEST(SignalName, IsTheShellsName) {
    EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
    EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
    EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
    EXPECT_EQ(signal_name(SIGABRT), "SIGABRT");
    EXPECT_EQ(signal_name(SIGIO), "SIGIO");
}

TEST(SignalName, OfRealTimeSignalsCountsFromTheLowest) {
    EXPECT_EQ(signal_name(SIGRTMIN), "SIGRTMIN");
    EXPECT_EQ(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
    EXPECT_EQ(signal_name(SIGRTMAX), "SIGRTMIN+30");
}

TEST(SignalName, OfAnUnnamedSignalIsItsNumber) {
    EXPECT_EQ(signal_name(0), "signal 0");
    EXPECT_EQ(signal_name(-1), "signal -1");
    EXPECT_EQ(signal_name(32), "signal 32");
    EXPECT_EQ(signal_name(99), "signal 99");
}

TEST(SignalNumber, TakesEverySpelling) {
    for (const char* text : {"TERM", "SIGTERM", "term", "SigTerm", "15"})
        EXPECT_EQ(signal_number(text), SIGTERM) << text;
    EXPECT_EQ(signal_number("SIGIO"), SIGIO);
    EXPECT_EQ(signal_number("SIGPOLL"), SIGIO);
    EXPECT_EQ(signal_number("IOT"), SIGABRT);
    EXPECT_EQ(signal_number("cld"), SIGCHLD);
    EXPECT_EQ(signal_number("SIGRTMIN"), SIGRTMIN);
    EXPECT_EQ(signal_number("SIGRTMIN+3"), SIGRTMIN + 3);
    EXPECT_EQ(signal_number("rtmax"), SIGRTMAX);
    EXPECT_EQ(signal_number("RTMAX-1"), SIGRTMAX - 1);
    EXPECT_EQ(signal_number("64"), SIGRTMAX);
}

TEST(SignalNumber, RefusesTheRest) {
    for (const char* text :
         {"",        "SIG",      "SIGSIGTERM", "TERMS",   "TER",      "0",        "-1",           "15 ",
          " 15",     "+15",      "1.5",        "32",      "33",       "65",       "999999999999", "RTMIN+",
          "RTMIN-1", "RTMIN+31", "RTMIN+-1",   "RTMAX+1", "RTMAX-31", "RTMAX--1", "signal 15"})
        EXPECT_EQ(signal_number(text), std::nullopt) << text;
}

TEST(SignalNumber, UndoesSignalName) {
    int named = 0;
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
        if (signal_name(signal).starts_with("signal ")) continue;
        EXPECT_EQ(signal_number(signal_name(signal)), signal);
        ++named;
    }
    EXPECT_EQ(named, 62);
}

}  // namespace
}  // namespace dlaunch::base
