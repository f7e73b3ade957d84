#include "agent/errors/error_message.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kDuring = "During handling of the above exception, another exception occurred:";
constexpr const char* kFrom = "The above exception was the direct cause of the following exception:";
const std::string kReset = "ConnectionResetError: [Errno 104] Connection reset by peer";

Lines traceback(const std::string& exception) {
    return {"Traceback (most recent call last):", "  File \"/home/you/train.py\", line 41, in <module>", "    main()",
            exception};
}

Lines joined(Lines first, const Lines& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

TEST(ErrorMessage, IsTheExceptionOfATraceback) {
    EXPECT_EQ(error_message(traceback("ValueError: loss is NaN")), "ValueError: loss is NaN");
    EXPECT_EQ(error_message({"[rank1]: Traceback (most recent call last):", "[rank1]:   File \"x\", line 1",
                             "[rank1]: KeyError: 'a'"}),
              "KeyError: 'a'");
}

TEST(ErrorMessage, IsTheLastExceptionNotAnEarlierOne) {
    EXPECT_EQ(error_message(joined(traceback("ConnectionResetError: [Errno 104] Connection reset by peer"),
                                   joined({"trying again"}, traceback("ValueError: loss is NaN")))),
              "ValueError: loss is NaN");
}

TEST(ErrorMessage, OfChainedExceptionsIsTheFirst) {
    const Lines chained = joined(traceback("KeyError: 'shard-17'"),
                                 joined({"", "During handling of the above exception, another exception occurred:", ""},
                                        traceback("ConnectionResetError: [Errno 104] Connection reset by peer")));
    EXPECT_EQ(error_message(chained), "KeyError: 'shard-17'");
    const Lines cut(chained.begin() + 3, chained.end());  // the tail begins after the first traceback's header
    EXPECT_EQ(error_message(cut), "KeyError: 'shard-17'");
}

TEST(ErrorMessage, KeepsTheLinesOfOneMessage) {
    EXPECT_EQ(error_message(joined(traceback("torch.distributed.DistBackendError: NCCL error"),
                                   {"ncclRemoteError: A call failed", "", "frame #0: c10::Error"})),
              "torch.distributed.DistBackendError: NCCL error\nncclRemoteError: A call failed");
}

TEST(ErrorMessage, SkipsExceptionsThatPythonIgnores) {
    const Lines tail = joined(traceback("ValueError: loss is NaN"),
                              joined({"Exception ignored in: <_io.TextIOWrapper name='<stdout>'>"},
                                     traceback("BrokenPipeError: [Errno 32] Broken pipe")));
    EXPECT_EQ(error_message(tail), "ValueError: loss is NaN");
}

TEST(ErrorMessage, SkipsWarnings) {
    EXPECT_EQ(error_message({"error: cannot read shard 17", "WARNING: Connection reset by peer, trying again",
                             "[rank1]:[W1122 19:15:48.1 TCPStore.cpp:125] recvValue failed"}),
              "error: cannot read shard 17");
    EXPECT_EQ(error_message({"warning: Connection reset by peer"}), "");
    EXPECT_EQ(error_message({}), "");
}

TEST(ErrorMessage, OfAnUncaughtCppException) {
    EXPECT_EQ(
        error_message({"step 3", "terminate called after throwing an instance of 'std::system_error'",
                       "  what():  Connection reset by peer"}),
        "terminate called after throwing an instance of 'std::system_error'\n  what():  Connection reset by peer");
    EXPECT_EQ(error_message({"watchdog thread terminated with exception: NCCL error: remote process exited",
                             "terminate called after throwing an instance of 'c10::DistBackendError'"}),
              "watchdog thread terminated with exception: NCCL error: remote process exited\n"
              "terminate called after throwing an instance of 'c10::DistBackendError'");
}

TEST(ErrorMessage, OfMpi) {
    EXPECT_EQ(error_message({"step 3", "Fatal error in internal_Allreduce: Unknown error class, error stack:",
                             "MPIDU_Socki_handle_read(649).: connection failure (errno=104:Connection reset by peer)",
                             "MPIDI_CH3I_Progress_handle_sock_event(422): Communication error with rank 2"})
                  .substr(0, 33),
              "Fatal error in internal_Allreduce");
}

TEST(ErrorMessage, ElseTheLastLineWithoutColours) {
    EXPECT_EQ(error_message({"step 3", "\x1b[31mall_reduce: read: Connection reset by peer\x1b[0m", ""}),
              "all_reduce: read: Connection reset by peer");
}

TEST(ErrorMessage, OfAChainIsTheErrorThatCameUpWhileALossWasHandled) {
    const auto chain = [](const std::string& first, const char* link, const std::string& second) {
        return error_message(joined(traceback(first), joined({"", link, ""}, traceback(second))));
    };
    EXPECT_EQ(chain(kReset, kDuring, "KeyError: 'shard-17'"),
              "KeyError: 'shard-17'\nwhile handling " + std::string(kReset));
    EXPECT_EQ(chain(kReset, kDuring, "RuntimeError: step 7 failed"), kReset);  // it wraps the loss
    EXPECT_EQ(chain(kReset, kFrom, "TrainingError: step 7 failed"), kReset);
    EXPECT_EQ(chain(kReset, kDuring, "BrokenPipeError: [Errno 32] Broken pipe"), kReset);
    EXPECT_EQ(chain("ValueError: loss is NaN", kDuring, "KeyError: 'a'"), "ValueError: loss is NaN");
    const std::string cut = "http.client.IncompleteRead: IncompleteRead(73000 bytes read)";
    EXPECT_EQ(chain("ValueError: invalid literal for int() with base 16: b''", kFrom, cut), cut);
}

TEST(ErrorMessage, OfAProcessThatTellsTheStatusOfItsChildIsTheChilds) {
    const std::string called =
        "subprocess.CalledProcessError: Command '['python', 'x.py']' returned non-zero exit status 1.";
    for (const std::string& of_parent : {called, std::string("RuntimeError: trainer process died with 1")}) {
        EXPECT_EQ(error_message(joined(traceback(kReset), traceback(of_parent))), kReset);
        EXPECT_EQ(error_message(joined({"terminate called after throwing an instance of 'E'"}, traceback(of_parent))),
                  "terminate called after throwing an instance of 'E'");
        EXPECT_EQ(error_message(traceback(of_parent)), of_parent);
        EXPECT_EQ(error_message(joined({"epoch 3"}, traceback(of_parent))), of_parent);
    }
    EXPECT_EQ(error_message(joined(traceback(kReset), traceback("RuntimeError: failed with loss nan"))),
              "RuntimeError: failed with loss nan");
}

TEST(ErrorMessage, KeepsALineBehindTheProgramsOwnPrefix) {
    const std::string line = "[rank 0] training failed: [gloo/pair.cc:598] Connection closed by peer [127.0.0.1]:40332";
    EXPECT_EQ(error_message({line}), line);
    EXPECT_EQ(error_message({"[rank0]: ValueError: [a]:b"}), "ValueError: [a]:b");
}

TEST(ErrorMessage, OfTheMainThreadCountsMoreThanThatOfAnotherOrOfATask) {
    const auto main = traceback("ValueError: bad shard 20");
    for (const char* aside :
         {"Exception in thread Thread-1 (control):", "--- Logging error ---", "Error in atexit._run_exitfuncs:"}) {
        EXPECT_EQ(error_message(joined(main, joined({aside}, traceback(kReset)))), "ValueError: bad shard 20") << aside;
        EXPECT_EQ(error_message(joined({aside}, traceback(kReset))), kReset) << aside;
    }
    const std::vector<std::string> task{"Task exception was never retrieved", "future: <Task finished name='Task-2'>"};
    EXPECT_EQ(error_message(joined(main, joined(task, traceback(kReset)))), "ValueError: bad shard 20");
}

TEST(ErrorMessage, OfAGroupIsTheExceptionThatIsNoLoss) {
    const auto group = [](const std::vector<std::string>& exceptions) {
        Lines tail = {
            "  + Exception Group Traceback (most recent call last):", "  |   File \"a.py\", line 1, in <module>",
            "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)"};
        for (std::size_t at = 0; at < exceptions.size(); ++at)
            tail = joined(tail, {at == 0 ? "  +-+---------------- 1 ----------------"
                                         : "    +---------------- 2 ----------------",
                                 "    | Traceback (most recent call last):", "    |   File \"a.py\", line 2, in f",
                                 "    | " + exceptions[at]});
        return error_message(joined(tail, {"    +------------------------------------"}));
    };
    EXPECT_EQ(group({kReset}), kReset);
    EXPECT_EQ(group({"ValueError: loss is NaN", kReset}), "ValueError: loss is NaN");
    EXPECT_EQ(group({kReset, "ValueError: loss is NaN"}), "ValueError: loss is NaN");
}

TEST(ErrorMessage, SkipsAnExceptionThatTheProgramSurvived) {
    const Lines retried = joined({"WARNING:root:the cache is away"}, traceback(kReset));
    EXPECT_EQ(error_message(joined(retried, {"error: shard 17 is corrupt"})), "error: shard 17 is corrupt");
    EXPECT_EQ(error_message(retried), kReset);
    EXPECT_EQ(
        error_message(joined(joined({"ERROR:root:training failed"}, traceback(kReset)), {"", "3 steps were done"})),
        kReset);
    const Lines logged = joined({"ERROR:root:sample 7 skipped"}, traceback("KeyError: 'lr'"));
    EXPECT_EQ(error_message(joined(logged, {"error: connection closed by peer"})), "error: connection closed by peer");
    EXPECT_EQ(error_message(joined(logged, {"", "3 steps were done"})), "KeyError: 'lr'");
    const Lines chain = joined(joined({"INFO:root:step 3"}, traceback("KeyError: 'lr'")),
                               {"", "The above exception was the direct cause of the following exception:", ""});
    EXPECT_EQ(error_message(joined(chain, traceback("RuntimeError: no schedule"))), "KeyError: 'lr'");
}

TEST(ErrorMessage, SkipsLinesThatOnlySayThatTheProcessEnds) {
    const std::string lost = "error: all_reduce #21 in group world: rank 1 has left the group";
    for (const Lines& after : {Lines{"giving up"}, Lines{"[info] shutting down"}, Lines{"rank 3: exiting"},
                               Lines{"2026-11-26 16:11:02,123 - root - INFO - cleaning up"}, Lines{"INFO:root:done"},
                               Lines{"[2026-11-26 16:11:02.123] [train] [info] 21 steps", "giving up"},
                               Lines{"note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"}})
        EXPECT_EQ(error_message(joined({"step 21", lost}, after)), lost) << after.front();
    for (const std::string own : {"fatal: loss is NaN, giving up", "2026-11-26 16:11:02 ERROR no INFO in shard 17",
                                  "KeyError: 'INFO'", "step 22"})
        EXPECT_EQ(error_message({lost, own}), own);
    EXPECT_EQ(error_message({"giving up"}), "giving up");
}

TEST(ErrorMessage, OfALossStandsAboveWhatAShellOrTheProgramSaysOfTheEnd) {
    const std::string lost = "recv: Connection reset by peer";
    for (const Lines& after :
         {Lines{"worker exiting"}, Lines{"closing files"}, Lines{"[rank 2] Training stopped."},
          Lines{"job step failed"}, Lines{"", "real\t0m1.204s", "user\t0m0.010s", "sys\t0m0.002s"},
          Lines{"Command exited with non-zero status 1"}, Lines{"exit status 2"},
          Lines{"./wrap.sh: worker exited with status 1"}, Lines{"error on line 4"},
          Lines{"make: *** [Makefile:2: run] Error 1"},
          Lines{"Command exited with non-zero status 1", "0.00user 0.00system 0:00.62elapsed 1%CPU (0avgtext+0avgdata)",
                "0inputs+0outputs (0major+212minor)pagefaults 0swaps"},
          Lines{"Additional information:"},
          Lines{"=================================================================",
                "==4711==ERROR: LeakSanitizer: detected memory leaks", "",
                "Direct leak of 8 byte(s) in 1 object(s) allocated from:", "    #0 0x7f in malloc", "",
                "SUMMARY: AddressSanitizer: 8 byte(s) leaked in 1 allocation(s)."}})
        EXPECT_EQ(error_message(joined({"step 21", lost}, after)), lost) << after.back();
    for (const std::string own : {"shard 17 missing, exiting", "main: stopped: cannot read shard 17",
                                  "assertion x > 0 failed: shard 17", "the loader of shard 17 has stopped in step 22"})
        EXPECT_EQ(error_message({lost, own}), own);
    EXPECT_EQ(error_message({"job step failed"}), "job step failed");
    EXPECT_EQ(error_message({"read 3 of 4 shards", "connection closed"}), "connection closed");
}

TEST(ErrorMessage, OfALostPeerMayTellItsExitStatus) {
    for (const std::string lost :
         {"all_reduce #3 in group world: rank 2 is gone: rank 2 (a, pid 77) exited with 7 after 0.9 s",
          "step 1: rank 2 gave up: rank 1 (a, pid 9) exited with 7 after 0.2 s",
          "lost connection to peer (exit code 1)", "rank 2 died, exit status 7", "rank 2 failed"})
        EXPECT_EQ(error_message({"loading shard 17", lost}), lost);
    EXPECT_EQ(error_message({"ValueError: shard 17", "rank 2 failed"}), "ValueError: shard 17");
}

TEST(ErrorMessage, OfTheProgramCountsMoreThanHowItTidiesUp) {
    const std::string own = "ValueError: shard 7 is corrupt";
    for (const std::string after : {"connection closed", "closing connection to rank 0", "closed connection"}) {
        EXPECT_EQ(error_message(joined(traceback(own), {after})), own) << after;
        EXPECT_EQ(error_message({"error: shard 7 is corrupt", after}), "error: shard 7 is corrupt") << after;
        EXPECT_EQ(error_message({"step 21", after}), after);
    }
}

TEST(ErrorMessage, OfALossBelowAnOldErrorIsTheLoss) {
    const std::string old = "2026-11-28 17:35:23,955 ERROR metrics server does not answer, metrics are dropped";
    for (const std::string loss : {"lost a peer: connection closed", "2026-11-28 17:35:24,255 ERROR connection closed"})
        EXPECT_EQ(error_message({old, loss}), loss);
}

TEST(ErrorMessage, OfRustsAnyhowHasItsCauses) {
    const std::vector<std::string> causes = {"", "Caused by:", "    0: all_reduce",
                                             "    1: failed to fill whole buffer"};
    EXPECT_EQ(error_message(joined({"Error: no sum"}, causes)),
              "Error: no sum: all_reduce: failed to fill whole buffer");
    EXPECT_EQ(error_message({"Error: step 10 failed", "", "Caused by:", "    loss is NaN", "",
                             "Stack backtrace:", "   0: std::rt"}),
              "Error: step 10 failed: loss is NaN");
}

TEST(ErrorMessage, HasNoStackBelowIt) {
    const Lines java{"Exception in thread \"main\" java.net.SocketException: Connection reset",
                     "\tat java.base/sun.nio.ch.NioSocketImpl.implRead(NioSocketImpl.java:328)",
                     "\tat C.main(C.java:9)"};
    EXPECT_EQ(error_message(java), java[0]);
    EXPECT_EQ(error_message({"java.lang.IllegalStateException: shard 7 is corrupt", "\tat C.main(C.java:9)",
                             "\tSuppressed: java.net.SocketException: Broken pipe", "\t\tat C.close(C.java:12)"}),
              "java.lang.IllegalStateException: shard 7 is corrupt");
    EXPECT_EQ(
        error_message({"Exception in thread \"main\" java.lang.RuntimeException: no batch", "\tat C.main(C.java:9)",
                       "Caused by: java.net.SocketException: Connection reset", "\t... 1 more"}),
        "Caused by: java.net.SocketException: Connection reset");
    EXPECT_EQ(
        error_message({"node:events:497", "      throw er; // Unhandled 'error' event", "      ^", "",
                       "Error: read ECONNRESET", "    at TCP.onStreamRead (node:internal/stream_base_commons:216:20)",
                       "Emitted 'error' event on Socket instance at:", "    at emitErrorNT {", "  errno: -104",
                       "  code: 'ECONNRESET',", "}", "", "Node.js v20.11.0"}),
        "Error: read ECONNRESET");
    EXPECT_EQ(error_message({"ERROR: LoadError: IOError: read: connection reset by peer (ECONNRESET)",
                             "Stacktrace:", " [1] wait_readnb(x::Sockets.TCPSocket)"}),
              "ERROR: LoadError: IOError: read: connection reset by peer (ECONNRESET)");
}

TEST(ErrorMessage, OfAChainIsTheExceptionThatNamesTheServer) {
    const Lines chain = {"Traceback (most recent call last):",
                         "  File \"/usr/lib/python3.11/socket.py\", line 836, in create_connection",
                         "ConnectionRefusedError: [Errno 111] Connection refused",
                         "",
                         "During handling of the above exception, another exception occurred:",
                         "",
                         "Traceback (most recent call last):",
                         "  File \"train.py\", line 3, in <module>",
                         "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>"};
    EXPECT_EQ(error_message(chain), chain.back());
}

TEST(ErrorMessage, IsNotTheSourceBelowAWarning) {
    EXPECT_EQ(error_message({"/usr/lib/x.py:3: UserWarning: slow", "  warnings.warn(x)"}), "");
    EXPECT_EQ(error_message({"no more data", "/usr/lib/x.py:3: UserWarning: slow", "  warnings.warn(x)"}),
              "no more data");
}

TEST(ErrorMessage, OnStdoutNeedsWordsOfAnError) {
    EXPECT_EQ(
        error_on_stdout({"step 1", "Traceback (most recent call last):", "  File \"a.py\", line 1", "KeyError: 'lr'"}),
        "KeyError: 'lr'");
    EXPECT_EQ(error_on_stdout({"step 1", "fatal: no more data"}), "fatal: no more data");
    EXPECT_EQ(error_on_stdout({"step 1", "Connection reset by peer"}), "Connection reset by peer");
    for (const char* line : {"step 2, loss 0.3", "0 errors", "errors: 0", "step 4 error: 0.3",
                             "val_error=0.31 lr=0.001", "0 failed, 12 passed", "eval: error rate 0.03"})
        EXPECT_EQ(error_on_stdout({"step 1", line}), "") << line;
    EXPECT_EQ(error_on_stdout({}), "");
}

TEST(ErrorMessage, OfAPanic) {
    EXPECT_EQ(error_message({"panic: read tcp 127.0.0.1:5: use of closed network connection", "",
                             "goroutine 1 [running]:", "main.main()", "\t/home/you/c.go:9 +0x1d", "exit status 2"}),
              "panic: read tcp 127.0.0.1:5: use of closed network connection");
    const Lines rust{"thread 'main' panicked at c.rs:9:5:",
                     "called `Result::unwrap()` on an `Err` value: Os { code: 104, kind: ConnectionReset }",
                     "stack backtrace:", "   0: rust_begin_unwind"};
    EXPECT_TRUE(error_message(rust).starts_with(rust[0] + "\n" + rust[1]));
}

TEST(ErrorMessage, OfOpenMpiHasTheReasonOfItsTransport) {
    const std::string why = "[node1][[1,1],0][btl_tcp_frag.c:241] readv failed: Connection reset by peer (104)";
    const Lines tail = {"step 3", why, "[node1:4711] *** An error occurred in MPI_Allreduce",
                        "[node1:4711] *** MPI_ERR_OTHER: known error not in list"};
    EXPECT_EQ(error_message(tail), why + "\n" + tail[2] + "\n" + tail[3]);
}

TEST(StatedError, IsATracebackAnAbortOrALineThatAnnouncesAnError) {
    const std::string file = "  File \"a.py\", line 1, in <module>";
    EXPECT_EQ(stated_error({"step 1", std::string(kTraceback), file, "KeyError: 'lr'"}).text, "KeyError: 'lr'");
    const std::string terminate = "terminate called after throwing an instance of 'std::runtime_error'";
    EXPECT_TRUE(stated_error({terminate, "  what():  no"}).text.starts_with(terminate));
    EXPECT_FALSE(stated_error({terminate, "  what():  no"}).may_be_survived);
    EXPECT_EQ(stated_error({"lost the master"}).text, "");
    for (const char* line : {"fatal: no shard 7", "2026-01-02 03:04:05,678 - ERROR - unknown scheduler 'cosin'"}) {
        const StatedError logged = stated_error({"step 1", line});
        EXPECT_EQ(logged.text, line);
        EXPECT_TRUE(logged.may_be_survived) << line;
    }
    EXPECT_EQ(stated_error({}).text, "");
}

TEST(StatedError, MayBeSurvivedIfItIsLoggedOrOfAThread) {
    const std::string begin(kTraceback), file = "  File \"a.py\", line 1, in <module>", error = "KeyError: 'lr'";
    const auto may = [&](const std::string& above) {
        const StatedError found = stated_error({above, begin, file, error});
        EXPECT_EQ(found.text, error) << above;
        return found.may_be_survived;
    };
    EXPECT_TRUE(may("ERROR:root:no cache, slow path"));
    EXPECT_TRUE(may("2026-01-02 03:04:05,678 - train - ERROR - sample 7 skipped"));
    EXPECT_TRUE(may("[03:04:05] WARNING: no cache"));
    EXPECT_TRUE(may("WARNING:root:no cache, slow path"));
    EXPECT_TRUE(may("Exception in thread Thread-1 (watch):"));
    EXPECT_TRUE(may("Task exception was never retrieved"));
    EXPECT_FALSE(may("step 3"));
    EXPECT_FALSE(may("INFO:root:step 3"));
    EXPECT_FALSE(may(""));
    EXPECT_TRUE(stated_error({begin, "  File \"<string>\", line 1, in <module>", error}).may_be_survived);
    EXPECT_TRUE(stated_error({begin, file, error, "", "Ran 2 tests in 0.2s"}).may_be_survived);
    const std::string during = "During handling of the above exception, another exception occurred:";
    EXPECT_TRUE(stated_error({"ERROR:root:no cache", begin, file, "OSError: x", "", during, "", begin, file, error})
                    .may_be_survived);
}

}  // namespace
}  // namespace dlaunch::agent
