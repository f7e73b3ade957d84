#include "agent/errors/gdb_stack.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Frames = std::vector<std::string>;

constexpr std::string_view kOutput =
    "[Thread debugging using libthread_db enabled]\n"
    "__GI___clock_nanosleep (clock_id=...) at ../sysdeps/unix/sysv/linux/clock_nanosleep.c:71\n"
    "71\t../sysdeps/unix/sysv/linux/clock_nanosleep.c: No such file or directory.\n"
    "#0  __GI___clock_nanosleep (clock_id=...) at ../sysdeps/unix/sysv/linux/clock_nanosleep.c:71\n"
    "#1  0x00007fc7678f1d8a in __sleep (seconds=...) at ../sysdeps/posix/sleep.c:55\n"
    "#2  0x0000564837563360 in app::Trainer::wait_for_data (this=..., what=...) at src/hang.cpp:4\n"
    "#3  0x0000564837563360 in std::function<void (int)>::operator() (this=...) from /opt/lib/libstep.so\n"
    "#4  0x00005648375632b9 in main ()\n"
    "[Inferior 1 (process 2764) detached]\n";

TEST(GdbStack, NamesFunctionsAndPlacesInnermostFirst) {
    EXPECT_EQ(gdb_frames(kOutput),
              (Frames{"__GI___clock_nanosleep (../sysdeps/unix/sysv/linux/clock_nanosleep.c:71)",
                      "__sleep (../sysdeps/posix/sleep.c:55)", "app::Trainer::wait_for_data (src/hang.cpp:4)",
                      "std::function<void (int)>::operator() (/opt/lib/libstep.so)", "main"}));
}

TEST(GdbStack, OfARefusedProcessIsEmpty) {
    EXPECT_EQ(gdb_frames("Could not attach to process.\nptrace: Operation not permitted.\nNo stack.\n"), Frames{});
    EXPECT_EQ(gdb_frames(""), Frames{});
}

TEST(GdbStack, OfTheCLibraryOnlyTheCalledFunctionCounts) {
    EXPECT_EQ(own_frames(gdb_frames(kOutput)),
              (Frames{"__sleep (../sysdeps/posix/sleep.c:55)", "app::Trainer::wait_for_data (src/hang.cpp:4)",
                      "std::function<void (int)>::operator() (/opt/lib/libstep.so)", "main"}));
    EXPECT_EQ(own_frames({"read (/lib/x86_64-linux-gnu/libc.so.6)"}), Frames{"read (/lib/x86_64-linux-gnu/libc.so.6)"});
    EXPECT_EQ(own_frames({"__wait4 (../sysdeps/unix/sysv/linux/wait4.c:30)", "??", "?? (/bin/dash)", "main"}),
              (Frames{"__wait4 (../sysdeps/unix/sysv/linux/wait4.c:30)", "main"}));
    EXPECT_EQ(own_frames({"spin", "std::invoke (/usr/include/c++/12/bits/invoke.h:61)", "main"}),
              (Frames{"spin", "main"}));
}

}  // namespace
}  // namespace dlaunch::agent
