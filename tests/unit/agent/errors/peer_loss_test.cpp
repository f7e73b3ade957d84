#include "agent/errors/peer_loss.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace dlaunch::agent {
namespace {

using Lines = std::vector<std::string>;

Lines traceback(const std::string& exception) {
    return {"Traceback (most recent call last):", "  File \"/home/you/train.py\", line 41, in <module>", "    main()",
            exception};
}

Lines joined(Lines first, const Lines& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

Failure exited(std::vector<std::string> stderr_tail) {
    Failure made;
    made.rank = 3;
    made.code = 1;
    made.message = error_message(stderr_tail);
    made.stderr_tail = std::move(stderr_tail);
    return made;
}

bool lost_a_peer(const std::string& message) { return peer_loss(message, 3).has_value(); }

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

/// What frameworks print when a peer is gone.
TEST(PeerLoss, IsFoundInTheMessagesOfFrameworks) {
    for (
        const std::string message : {
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] Connection closed by peer "
            "[127.0.0.1]:33500",
            "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to "
            "complete",
            "RuntimeError: Application timeout caused pair closure",
            "ConnectionResetError: [Errno 104] Connection reset by peer",
            "BrokenPipeError: [Errno 32] Broken pipe",
            "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:94, remote process exited or there was a "
            "network error, NCCL version 2.27.7",
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)",
            "RuntimeError: Connection was likely closed. Did the remote server shutdown or crash?",
            "error: all_reduce #21 in group world: rank 1 (pid 4711) is gone",
            "error: all_reduce #21 in group world: rank 1 gave up: NaN",
            "dlaunch::Error: rank 1 has left the group (peer_lost)",
            "MPIDI_CH3I_Progress_handle_sock_event(422): Communication error with rank 2",
            "An MPI communication peer process has unexpectedly disconnected.",
            "jax.errors.JaxRuntimeError: UNAVAILABLE: Socket closed",
            "all_reduce: write: Broken pipe",
            "read: End of file [asio.misc:2]",
        })
        EXPECT_TRUE(lost_a_peer(message)) << message;
}

TEST(PeerLoss, IsNotFoundInARanksOwnErrors) {
    for (const std::string message : {
             "ValueError: loss is NaN on rank 2",
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
             "solver.c:81: step: Assertion `residual < limit' failed.",
             "FileNotFoundError: [Errno 2] No such file or directory: 'shard-17'",
             "torch.distributed.DistBackendError: NCCL error: unhandled cuda error",
             "rank x failed",
             "",
         })
        EXPECT_FALSE(lost_a_peer(message)) << message;
}

TEST(PeerLoss, NamesTheRanksOfTheMessageButNotItsOwn) {
    EXPECT_EQ(peer_loss("all_reduce in group world: rank 2 gave up: rank 0 has left the group", 3)->ranks,
              (std::vector<int>{2, 0}));
    EXPECT_EQ(peer_loss("[PG ID 0 PG GUID 0 Rank 1] remote process exited or there was a network error", 3)->ranks,
              std::vector<int>{});
    EXPECT_EQ(peer_loss("rank 3: rank 7 (pid 12) is gone", 3)->ranks, std::vector<int>{7});
    EXPECT_EQ(peer_loss("/job:jax_worker/replica:0/task:2 heartbeat timeout", 3)->ranks, std::vector<int>{2});
    EXPECT_EQ(peer_loss("rank 99999999999 is gone", 3)->ranks, std::vector<int>{});
}

TEST(PeerLoss, OfAFailureIsDecidedByItsExitToo) {
    const Lines lost = {"all_reduce: Connection reset by peer"};
    Failure failure = exited(lost);
    EXPECT_TRUE(peer_loss(failure));
    failure.how = ExitKind::signalled;
    for (const auto& [signal, expected] : {std::pair{SIGABRT, true}, {SIGSEGV, false}, {SIGKILL, false}}) {
        failure.signal = signal;
        EXPECT_EQ(peer_loss(failure).has_value(), expected) << signal;
    }
    failure.message.clear();
    failure.signal = SIGPIPE;  // it wrote to a closed connection
    EXPECT_TRUE(peer_loss(failure));
    failure.how = ExitKind::hung;
    EXPECT_FALSE(peer_loss(failure));
}

TEST(PeerLoss, OfAnErrorRecord) {
    Failure failure = exited({});
    failure.record = ErrorRecord{"ValueError: loss is NaN", "", "{}"};
    EXPECT_FALSE(peer_loss(failure));
    failure.record->message = "ConnectionError: connection closed by peer 127.0.0.1:2";
    EXPECT_TRUE(peer_loss(failure));
    Failure own_exception = exited(traceback("ValueError: loss is NaN"));
    own_exception.record = failure.record;
    EXPECT_FALSE(peer_loss(own_exception));
}

TEST(PeerLoss, PatternsAreInLowerCaseAndHaveASource) {
    for (const PeerLossPattern& pattern : peer_loss_patterns()) {
        EXPECT_EQ(pattern.text.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string_view::npos) << pattern.text;
        EXPECT_FALSE(pattern.source.empty()) << pattern.text;
        EXPECT_TRUE(lost_a_peer("x " +
                                [&] {
                                    std::string text(pattern.text);
                                    for (std::size_t at; (at = text.find('#')) != std::string::npos;)
                                        text.replace(at, 1, "12");
                                    return text;
                                }()))
            << pattern.text;
    }
}

}  // namespace
}  // namespace dlaunch::agent
