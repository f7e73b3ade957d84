#include "agent/errors/peer_loss.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include "agent/errors/error_message.hpp"

namespace dlaunch::agent {
namespace {

using Lines = std::vector<std::string>;

Lines traceback(const std::string& exception) {
    return {"Traceback (most recent call last):", "  File \"/home/you/train.py\", line 41, in <module>", "    main()",
            exception};
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

/// What frameworks print when a peer is gone.
TEST(PeerLoss, IsFoundInTheMessagesOfFrameworks) {
    for (
        const std::string message : {
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] Connection closed by peer "
            "[127.0.0.1]:33500",
            "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to "
            "complete",
            "RuntimeError: Application timeout caused pair closure",
            "RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no "
            "error",
            "RuntimeError: Timed out initializing process group in store based barrier on rank 0, for key: "
            "store_based_barrier_key:1 (world_size=2, worker_count=1, timeout=0:30:00)",
            "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of "
            "(node1, 29500).",
            "RuntimeError: rank 1 failed: it left",
            "RuntimeError: Connection closed by peer while parsing JSON: unexpected EOF",
            "Error: read tcp 10.0.0.1:123->10.0.0.2:4000: unexpected EOF while parsing header",
            "dlaunch::Error: new_group in group world: rank 1 cannot join: tcp: 127.0.0.1:37365: Too many open files",
            "ConnectionResetError: [Errno 104] Connection reset by peer\nFile: 'x'",
            "ConnectionResetError: [Errno 104] Connection reset by peer",
            "BrokenPipeError: [Errno 32] Broken pipe",
            "ConnectionError: server went away",
            "recv: Success",
            "EOF",
            "rank 1: read: EOF",
            "OSError: got end of file during message",
            "RuntimeError: EOF: end of file (this error originated at tensorpipe/transport/uv/connection_impl.cc:132)",
            "http.client.IncompleteRead: IncompleteRead(5 bytes read, 10 more expected)",
            "recv: Resource temporarily unavailable",
            "AttributeError: 'NoneType' object has no attribute 'close'\nwhile handling RuntimeError: "
            "[gloo/transport/tcp/"
            "pair.cc:538] Connection closed by peer [127.0.0.1]:33500",
            "ConnectionError",
            "RuntimeError: [gloo/transport/tcp/pair.cc:538] Connection \nclosed by peer [10.0.0.1]:4711",
            "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:94, remote process exited or there was a "
            "network error, NCCL version 2.27.7",
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)",
            "RuntimeError: Connection was likely closed. Did the remote server shutdown or crash?",
            "error: all_reduce #21 in group world: rank 1 (pid 4711) is gone",
            "error: all_reduce #21 in group world: rank 1 gave up: NaN",
            "dlaunch::Error: rank 1 has left the group (peer_lost)",
            "MPIDI_CH3I_Progress_handle_sock_event(422): Communication error with rank 2",
            "initial_address_exchange(145).:  ucx function returned with failed status(ucx_init.c 145 "
            "initial_address_exchange Shared memory error)",
            "An MPI communication peer process has unexpectedly disconnected.",
            "jax.errors.JaxRuntimeError: UNAVAILABLE: Socket closed",
            "all_reduce: write: Broken pipe",
            "dlaunch::Error: rank 1 waited 1 s for rank 2 (timeout)",
            "monitored_barrier #7 in group world/1: rank 5 did not arrive",
            "split in group world: ranks 2 and 6 did not join within 1 s",
            "all_reduce #3 in group world: ranks 2 and 3 did not make the call in time",
            "RuntimeError: [Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 1000 ms",
            "read: End of file [asio.misc:2]",
            "Error: read ECONNRESET",
            "Error: socket hang up",
            "java.io.EOFException\n\tat java.base/java.io.DataInputStream.readFully(DataInputStream.java:210)",
            "panic: read tcp 127.0.0.1:5->127.0.0.1:6: use of closed network connection",
            "server closed connection at c.pl line 9.",
            "eof (this error originated at tensorpipe/transport/uv/connection_impl.cc:302)",
            "threading.BrokenBarrierError",
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            "RuntimeError: socket connection broken",
            "curl: (18) transfer closed with 991000 bytes remaining to read",
            "requests.exceptions.ChunkedEncodingError: (\"Connection broken: InvalidChunkLength(got length b'', 0 "
            "bytes "
            "read)\", InvalidChunkLength(got length b'', 0 bytes read))",
        })
        EXPECT_TRUE(lost_a_peer(message)) << message;
}

TEST(PeerLoss, IsNotFoundInARanksOwnErrors) {
    for (const std::string message : {
             "ValueError: loss is NaN on rank 2",
             "net: 0 connection resets, 0 timeouts",
             "could not open connection closed.txt",
             "RuntimeError: unexpected EOF, expected 1283 more bytes. The file might be corrupted.",
             "pyarrow.lib.ArrowInvalid: Unexpected EOF while reading Parquet footer",
             "yaml.parser.ParserError: while parsing: unexpected EOF in flow mapping",
             "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/data/rank3.tar'",
             "TimeoutError: [Errno 110] Connection timed out: '/nfs/data/shard-3.tar'",
             "ConnectionResetError: [Errno 104] Connection reset by peer: b'/mnt/smb/x'",
             "PIL.UnidentifiedImageError: image file is truncated; unexpected EOF",
             "RuntimeError: Invalid checkpoint ck.pt: unexpected EOF",
             "KeyError: 'connection reset by peer'",
             "ValueError: rank 0 failed with loss nan",
             "ValueError: matrix of rank 2 failed: singular",
             "AssertionError: rank 2 died early in the beam search",
             "cat: /data/lost connection.txt: No such file or directory",
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
             "solver.c:81: step: Assertion `residual < limit' failed.",
             "FileNotFoundError: [Errno 2] No such file or directory: 'shard-17'",
             "torch.distributed.DistBackendError: NCCL error: unhandled cuda error",
             "rank x failed",
             "ValueError: rank 0 failed the check",
             "EOFError: EOF when reading a line",
             "bash: line 3: unexpected EOF while looking for matching `\"'",
             "EOFError: unexpected EOF while reading record 17",
             "reading shard 3: unexpected EOF",
             "status: success",
             "TimeoutError: no batch within 30 s",
             "post-process failure in shard 7",
             "dataset unavailable: /data/17",
             "config key 'heartbeat timeout' must be a number",
             "IndexError: list index out of range",
             "IndexError: index out of range in self",
             "ValueError: invalid literal for int() with base 10: 'x'",
             "ValueError: not enough values to unpack (expected 2, got 1)",
             "connection to peer table is empty",
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
    EXPECT_EQ(peer_loss("rank 3 waited 1.5 s for ranks 0, 2 and 5", 3)->ranks, (std::vector<int>{0, 2, 5}));
}

TEST(PeerLoss, OfACallThatDiffersIsTheRankThatMadeIt) {
    const std::string message =
        "dlaunch::Error: mismatch in group world: as call #5 rank 0 called all_reduce(float32, 1000, sum), rank 2 "
        "called "
        "all_reduce(float32, 10, sum) as call #6; all ranks must make the same calls in the same order (mismatch)";
    EXPECT_EQ(peer_loss(message, 0)->ranks, std::vector{2});
    EXPECT_EQ(peer_loss(message, 3)->ranks, std::vector{2});
    EXPECT_EQ(peer_loss(message, 2)->ranks, std::vector<int>{});
}

TEST(PeerLoss, MayBeAnErrorOfTheRanksOwn) {
    for (const std::string message : {
             "ConnectionRefusedError: [Errno 111] Connection refused",
             "struct.error: unpack requires a buffer of 4 bytes",
             "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
             "EOFError: Ran out of input",
             "asyncio.exceptions.TimeoutError",
             "ValueError: invalid literal for int() with base 10: b''",
             "ValueError: not enough values to unpack (expected 2, got 0)",
             "IndexError: index out of range",
             "xml.etree.ElementTree.ParseError: no element found: line 1, column 0",
             "ValueError: cannot reshape array of size 0 into shape (4,4)",
             "terminate called after throwing an instance of 'std::invalid_argument'\n  what():  stoi",
             "KeyError: 'a'\nwhile handling ConnectionResetError: [Errno 104] Connection reset by peer",
         })
        EXPECT_TRUE(peer_loss(message, 3) && peer_loss(message, 3)->suspect) << message;
    for (const std::string message : {
             "ncclRemoteError: connect to 10.77.0.2<41234> returned Connection refused",
             "ConnectionResetError: [Errno 104] Connection reset by peer",
             "AttributeError: x\nwhile handling RuntimeError: [gloo/pair.cc:538] Connection closed by peer",
         })
        EXPECT_FALSE(peer_loss(message, 3)->suspect) << message;
}

TEST(PeerLoss, IsOfALibraryByWhichRanksCommunicateOrOutside) {
    for (const std::string message :
         {"[gloo/pair.cc:538] Connection closed by peer", "torch.distributed.DistNetworkError: Broken pipe",
          "all_reduce #21 in group world: rank 2 has left the group", "Communication error with rank 2: MPIDI_CH3I"})
        EXPECT_FALSE(peer_loss(message, 3)->outside) << message;
    for (const std::string message : {"EOFError", "BrokenPipeError: [Errno 32] Broken pipe", "error compiling: EOF"})
        EXPECT_TRUE(peer_loss(message, 3)->outside) << message;
}

TEST(PeerLoss, OfALocalRankNamesNoRank) {
    for (const std::string message : {"local rank 1: lost connection: EOFError()", "local_rank 1 lost connection"})
        EXPECT_EQ(peer_loss(message, 3)->ranks, std::vector<int>{}) << message;
}

TEST(PeerLoss, OfARankIsNotWhatItSaysOfItself) {
    for (const char* message : {"rank 2 failed: bad shard", "gradient check on rank 2 failed"}) {
        EXPECT_FALSE(peer_loss(message, 2)) << message;
        EXPECT_EQ(peer_loss(message, 1)->ranks, std::vector<int>{2}) << message;
    }
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

TEST(PeerLoss, MayBeTheErrorOfAStatementThatReceives) {
    const auto failing = [](const std::string& source) {
        return exited({"Traceback (most recent call last):", "  File \"/home/you/train.py\", line 41, in <module>",
                       "    " + source, "KeyError: b''"});
    };
    const auto receives = peer_loss(failing("handlers[connection.recv(1)]()"));
    EXPECT_TRUE(receives && receives->suspect && receives->outside);
    EXPECT_FALSE(peer_loss(failing("handlers[kind]()")));
    Failure killed = failing("handlers[connection.recv(1)]()");
    killed.how = ExitKind::signalled;
    killed.signal = SIGKILL;
    EXPECT_FALSE(peer_loss(killed));
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

TEST(PeerLoss, PatternsAreFoundAndHaveASource) {
    const auto doubtful = doubtful_patterns();
    std::vector<PeerLossPattern> all(doubtful.begin(), doubtful.end());
    all.insert(all.end(), peer_loss_patterns().begin(), peer_loss_patterns().end());
    for (const PeerLossPattern& pattern : all) {
        EXPECT_FALSE(pattern.source.empty()) << pattern.text;
        EXPECT_TRUE(lost_a_peer("x " +
                                [&] {
                                    std::string text(pattern.text);
                                    for (std::size_t at; (at = text.find_first_of("#%")) != std::string::npos;)
                                        text.replace(at, 1, "12");
                                    return text;
                                }()))
            << pattern.text;
    }
}

TEST(PeerLoss, JaxNamesTheTaskBelowItsFatalLine) {
    const Lines tail{
        "F0926 17:26:32.075587  157988 client.h:77] Terminating process because the JAX distributed service "
        "detected fatal errors. absl::Status: UNAVAILABLE: The following tasks are unhealthy:",
        "/job:jax_worker/replica:0/task:2", "The tasks have crashed.", "",
        "RPC: /tensorflow.CoordinationService/PollForError"};
    const auto loss = peer_loss(error_message(tail), 3);
    ASSERT_TRUE(loss);
    EXPECT_EQ(loss->ranks, std::vector<int>{2});
}

}  // namespace
}  // namespace dlaunch::agent
