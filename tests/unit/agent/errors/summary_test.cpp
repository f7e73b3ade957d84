#include <gtest/gtest.h>
#include <signal.h>

#include "agent/errors/format.hpp"
#include "agent/errors/report.hpp"

namespace dlaunch::agent {
namespace {

Failure failure(ExitKind how) {
    Failure made;
    made.rank = 3;
    made.host = "node2";
    made.pid = 4711;
    made.how = how;
    made.after = std::chrono::duration<double>(12.3);
    return made;
}

Failure killed(int signal) {
    Failure made = failure(ExitKind::signalled);
    made.signal = signal;
    return made;
}

TEST(Summary, OfAnExit) {
    Failure made = failure(ExitKind::exited);
    made.code = 37;
    made.after = std::chrono::duration<double>(0.3);
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) exited with 37 after 0.3 s");
}

TEST(Summary, OfASignalWithACoreInALaterRound) {
    Failure made = killed(SIGSEGV);
    made.core_dumped = true;
    made.round = 2;
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) was killed by SIGSEGV, core dumped, in round 2 after 12.3 s");
    made.core_dumped = false;
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) was killed by SIGSEGV in round 2 after 12.3 s");
}

TEST(Summary, OfATemplate) {
    Failure made = failure(ExitKind::exited);
    made.code = 1;
    made.text = "before its fork point";
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) exited with 1 before its fork point after 12.3 s");
    made = killed(SIGSEGV);
    made.core_dumped = true;
    made.round = 2;
    made.text = "at its fork point";
    EXPECT_EQ(summary(made),
              "rank 3 (node2, pid 4711) was killed by SIGSEGV, core dumped, at its fork point in round 2");
}

TEST(Summary, OfAnOutOfMemoryKill) {
    Failure made = killed(SIGKILL);
    made.out_of_memory = OutOfMemory::certain;
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) was killed by SIGKILL, out of memory, after 12.3 s");
    made.memory_limit = "900 MiB";
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) was killed by SIGKILL, out of memory at 900 MiB, after 12.3 s");
    made.out_of_memory = OutOfMemory::likely;
    made.memory_limit.clear();
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) was killed by SIGKILL, likely out of memory, after 12.3 s");
}

TEST(Summary, OfAnExecError) {
    Failure made = failure(ExitKind::not_executed);
    made.pid = 0;
    made.text = "./missing: No such file or directory";
    EXPECT_EQ(summary(made), "rank 3 (node2) could not be executed: ./missing: No such file or directory");
    made.host.clear();
    EXPECT_EQ(summary(made), "rank 3 could not be executed: ./missing: No such file or directory");
}

TEST(Summary, DropsBracketsBeforeItCutsASentence) {
    Failure made = failure(ExitKind::not_executed);
    made.pid = 0;
    made.text = "./worker (neither a binary for this machine nor a script that begins with #!): Exec format error";
    EXPECT_EQ(summary(made), "rank 3 (node2) could not be executed: ./worker: Exec format error");
    made.text = "make a process for it: Too many open files (the limit is 64; raise it with ulimit -n)";
    EXPECT_EQ(summary(made), "rank 3 (node2) could not be executed: make a process for it: Too many open files");
}

TEST(Summary, DropsAdviceBeforeItCutsASentence) {
    Failure made = failure(ExitKind::judged);
    made.text = "was not started: /opt/libpmix.so.2: file too short; a program without MPI needs --mpi=none";
    EXPECT_EQ(summary(made),
              "rank 3 (node2, pid 4711) was not started: /opt/libpmix.so.2: file too short after 12.3 s");
}

TEST(Summary, CutsFoldersBeforeItCutsASentence) {
    Failure made = failure(ExitKind::judged);
    made.pid = 0;
    made.text = "was not started: PMIx cannot be loaded: /opt/" + std::string(40, 'x') +
                "/mpi/libpmix.so.2: file too short; a program without MPI needs --mpi=none";
    EXPECT_EQ(summary(made),
              "rank 3 (node2) was not started: PMIx cannot be loaded: .../mpi/libpmix.so.2: file too short");
}

TEST(Summary, CutsNoNameAtBracketsOrASemicolon) {
    Failure made = failure(ExitKind::not_executed);
    made.text = "./a; b (old one)/" + std::string(60, 'x') + ": No such file or directory";
    const std::string line = summary(made);
    EXPECT_NE(line.find("./a; b (old one)/x"), std::string::npos) << line;
    EXPECT_TRUE(line.ends_with("file or directory")) << line;
}

TEST(Summary, ShortensALongTextInTheMiddle) {
    Failure made = failure(ExitKind::not_executed);
    made.pid = 0;
    made.text = "/home/" + std::string(200, 'x') + ": Permission denied";
    const std::string line = summary(made);
    EXPECT_EQ(columns(line), 91U);
    EXPECT_TRUE(line.starts_with("rank 3 (node2) could not be executed: /home/x")) << line;
    EXPECT_TRUE(line.ends_with("x: Permission denied")) << line;
    EXPECT_NE(line.find("x...x"), std::string::npos) << line;
}

TEST(Summary, OfAHangAndATimeOut) {
    Failure made = failure(ExitKind::hung);
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) hung after 12.3 s");
    made.text = "timer step expired";
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) hung (timer step expired) after 12.3 s");
    made = failure(ExitKind::timed_out);
    made.text = "30 s";
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) was still running when the job outlived --timeout 30 s");
}

TEST(Summary, OfAVerdictOfAService) {
    Failure made = failure(ExitKind::judged);
    made.code = 7;
    made.text = "called MPI_Abort with 7";
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) called MPI_Abort with 7 after 12.3 s");
    made.round = 2;
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) called MPI_Abort with 7 in round 2 after 12.3 s");
    EXPECT_EQ(made.exit_status(), 7);
}

TEST(Summary, GivesUpTheLimitBeforeTheHost) {
    Failure made = killed(SIGKILL);
    made.out_of_memory = OutOfMemory::certain;
    made.memory_limit = "900 MiB";
    made.host = "gpu-node-0123";
    made.round = 1;
    EXPECT_EQ(summary(made), "rank 3 (gpu-node-0123, pid 4711) was killed by SIGKILL, out of memory, in round 1");
    made.round = 0;
    EXPECT_EQ(summary(made), "rank 3 (gpu-node-0123, pid 4711) was killed by SIGKILL, out of memory, after 12.3 s");
}

TEST(Summary, ShortensALongHost) {
    Failure made = failure(ExitKind::exited);
    made.code = 1;
    made.host = "a-very-long-host-name-of-a-big-cluster.and.its.domain.example-0123";
    const std::string line = summary(made);
    EXPECT_EQ(columns(line), 91U);
    EXPECT_TRUE(line.starts_with("rank 3 (a-very-long-")) << line;
    EXPECT_TRUE(line.ends_with("-0123, pid 4711) exited with 1 after 12.3 s")) << line;
}

TEST(Summary, AlwaysFitsInOneLineOf100Columns) {
    for (const ExitKind how :
         {ExitKind::exited, ExitKind::signalled, ExitKind::not_executed, ExitKind::timed_out, ExitKind::hung})
        for (const OutOfMemory memory : {OutOfMemory::no, OutOfMemory::likely, OutOfMemory::certain})
            for (const std::size_t host : {0U, 5U, 20U, 64U, 255U})
                for (const std::size_t text : {0U, 10U, 60U, 5000U}) {
                    Failure made = failure(how);
                    made.rank = 123456;
                    made.pid = 4194304;
                    made.host = std::string(host, 'h');
                    made.text = std::string(text, 't');
                    made.code = 255;
                    made.signal = SIGRTMAX;
                    made.out_of_memory = memory;
                    made.memory_limit = "1023.9 GiB";
                    made.round = 1000;
                    made.after = std::chrono::duration<double>(86400 * 99);
                    const std::string line = summary(made);
                    EXPECT_LE(columns(line), 91U) << line;
                    EXPECT_TRUE(line.starts_with("rank 123456 ")) << line;
                    EXPECT_NE(line.find("pid 4194304"), std::string::npos) << line;
                    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
                }
}

TEST(Summary, IsOneSafeLine) {
    Failure made = failure(ExitKind::not_executed);
    made.text = "./a\nb\x1b[2J: No such file";
    EXPECT_EQ(summary(made), "rank 3 (node2, pid 4711) could not be executed: ./a\\x0ab\\x1b[2J: No such file");
}

TEST(Summary, FitsANarrowScreen) {
    Failure failure;
    failure.rank = 12;
    failure.host = "a-host-with-a-long-name.of.the.example.org";
    failure.pid = 4711;
    failure.code = 3;
    failure.round = 2;
    failure.after = std::chrono::duration<double>(12.3);
    for (const std::size_t columns : {80U, 60U, 50U}) {
        const std::string text = "dlaunch: " + summary(failure, columns);
        EXPECT_LE(text.size(), columns);
        EXPECT_NE(text.find("exited with 3"), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace dlaunch::agent
