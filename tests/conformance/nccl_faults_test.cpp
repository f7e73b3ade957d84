/// Failures with NCCL: missing libraries, errors of NCCL, late, lost and mismatching ranks.

#include <unistd.h>

#include <csignal>
#include <dlaunch/backends.hpp>
#include <future>
#include <map>
#include <numeric>

#include "tests/conformance/fake_gpu.hpp"

namespace dlaunch::conformance {
namespace {

using namespace std::chrono_literals;

void run(int ranks, const Body& body, std::set<int> dead = {}) {
    run_world(ranks, {.backend = "nccl", .dead = std::move(dead)}, body);
}

/// Runs `body` in ranks that have set these variables and have not joined.
void run_unjoined(int ranks, const std::map<std::string, std::string>& variables, const Body& body) {
    run_world(ranks, {.backend = "nccl", .timeout = 5s, .joins = false}, [&](const ProcessGroup& none) {
        for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
        body(none);
    });
}

void expect_text(const Error& error, const std::string& part) {
    check(std::string(error.what()).find(part) != std::string::npos,
          std::string("not \"") + part + "\": " + error.what());
}

ProcessGroup made_anew(const ProcessGroup& world) {
    std::vector<int> all(static_cast<std::size_t>(world.size()));
    std::iota(all.begin(), all.end(), 0);
    return world.new_group(all);
}

TEST(NcclFaultsTest, missing_or_wrong_libraries) {
    const std::vector<std::pair<std::map<std::string, std::string>, std::string>> cases{
        {{{"DLAUNCH_NCCL_LIBRARY", "/nowhere/libnccl.so.2"}}, "/nowhere/libnccl.so.2: cannot open shared object file"},
        {{{"DLAUNCH_CUDA_LIBRARY", "/nowhere/libcuda.so.1"}}, "install NVIDIA's driver, or name the file in DLAUNCH_C"},
        {{{"DLAUNCH_NCCL_LIBRARY", "libm.so.6"}}, "libm.so.6 has no function ncclGetVersion"},
        {{{"DLAUNCH_CUDA_LIBRARY", "libm.so.6"}}, "libm.so.6 has no function cuInit"},
        {{{"FAKE_NCCL_VERSION", "21306"}}, "is version 2.13.6, expected 2.14.0 or newer"},
        {{{"FAKE_NCCL_VERSION", "2708"}}, "is version 2.7.8, expected 2.14.0"},
        {{{"FAKE_CUDA_DEVICES", "0"}}, "a CUDA driver, but no GPU"},
        {{{"FAKE_CUDA_ERROR", "100"}}, "cannot start CUDA: CUDA error 100: an error of the fake"},
    };
    for (const auto& one : cases) {
        const std::string& text = one.second;
        SCOPED_TRACE(text);
        run_unjoined(2, one.first, [&](const ProcessGroup&) {
            expect_text(expect_error(ErrorCode::backend, [] { init_process_group(init_options()); }), text);
            check(why_unusable("nccl").find(text) != std::string::npos, "why it is unusable");
        });
    }
}

TEST(NcclFaultsTest, more_workers_than_gpus) {
    run_unjoined(3, {{"FAKE_CUDA_DEVICES", "2"}}, [](const ProcessGroup&) {
        expect_text(expect_error(ErrorCode::backend, [] { init_process_group(init_options()); }),
                    "LOCAL_RANK is 2, and 2 GPUs are visible");
    });
}

TEST(NcclFaultsTest, two_ranks_on_one_gpu) {
    run_unjoined(2, {{"FAKE_CUDA_DEVICES", "1"}}, [](const ProcessGroup&) {
        expect_text(expect_error(ErrorCode::backend, [] { init_process_group(init_options()); }),
                    "Duplicate GPU detected : rank 0 and rank 1");
    });
}

TEST(NcclFaultsTest, one_rank_without_the_library_ends_the_others_wait) {
    run_unjoined(3, {}, [](const ProcessGroup&) {
        if (*init_options().rank == 0) setenv("DLAUNCH_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
        const auto begin = std::chrono::steady_clock::now();
        expect_text(expect_error(ErrorCode::backend, [] { init_process_group(init_options()); }), "/nowhere/libnccl");
        check(std::chrono::steady_clock::now() - begin < 3s, "it took the time-out");
    });
}

TEST(NcclFaultsTest, late_rank_is_named_and_the_group_ends) {
    run(3, [](const ProcessGroup& world) {
        OneFloat one;
        Store store = world.store();
        if (world.rank() == 2) {
            for (const char* key : {"gave up 0", "gave up 1"}) (void)store.get(key);
        } else {
            Work work = world.all_reduce_async(one.buffer.span(), ReduceOp::sum(), {.timeout = 1s});
            const Error error = expect_error(ErrorCode::timeout, {2}, [&] { work.wait_for(30s); });
            check(error.op() == "all_reduce" && error.sequence() == 1 && error.group() == "world", "which call it was");
            store.set("gave up " + std::to_string(world.rank()), "yes");
        }
        const Error error = expect_ended(ErrorCode::timeout, [&] { world.all_reduce(one.buffer.span()); });
        check(error.ranks() == std::vector<int>{2}, error.what());
        const ProcessGroup again = made_anew(world);
        OneFloat fresh;
        again.all_reduce(fresh.buffer.span());
        check(fresh.buffer.to_host()[0] == 3, "the group made afterwards");
    });
}

TEST(NcclFaultsTest, a_call_behind_a_long_one_has_its_own_time_out) {
    for (const bool on_device : {true, false})
        run(2, [&](const ProcessGroup& world) {
            Store store = world.store();
            if (world.rank() == 1) {
                (void)store.get("gave up");
                return;
            }
            OneFloat slow, quick;
            float on_host = 1;
            Work before = world.all_reduce_async(slow.buffer.span());
            const auto begin = std::chrono::steady_clock::now();
            expect_error(ErrorCode::timeout, {1}, [&] {
                if (on_device)
                    world.all_reduce_async(quick.buffer.span(), ReduceOp::sum(), {.timeout = 100ms}).wait_for(30s);
                else
                    world.all_reduce(on_host, ReduceOp::sum(), {.timeout = 100ms});
            });
            check(std::chrono::steady_clock::now() - begin < 10s, "it waited for the other's time-out");
            expect_error(ErrorCode::timeout, [&] { before.wait_for(30s); });
            store.set("gave up", "yes");
        });
}

TEST(NcclFaultsTest, mismatching_calls_are_named_on_all_ranks) {
    run_unjoined(3, {{"FAKE_NCCL_HANG_AFTER", "0"}}, [](const ProcessGroup&) {
        const ProcessGroup world = join_process_group(init_options());
        DeviceBuffer<float> ten(10), nine(9);
        const CallOptions soon{.timeout = 1s};
        Work work = world.rank() == 1 ? world.broadcast_async(nine.span(), 0, soon)
                                      : world.all_reduce_async(ten.span(), ReduceOp::sum(), soon);
        const Error error = expect_error(ErrorCode::mismatch, {0, 1}, [&] { work.wait_for(30s); });
        expect_text(error, "rank 0 called all_reduce(float32, 10, sum), rank 1 called broadcast(float32, 9, root 0)");
    });
}

/// Rank 3 has not made the call yet and must not be named.
TEST(NcclFaultsTest, mismatching_calls_are_named_long_before_the_time_out) {
    run_unjoined(4, {{"FAKE_NCCL_HANG_AFTER", "1"}}, [](const ProcessGroup&) {
        const ProcessGroup world = join_process_group(init_options());
        DeviceBuffer<float> ten(10), nine(9);
        Store store = world.store();
        world.broadcast(ten.span());
        await_all(world);
        if (world.rank() == 3) {
            for (const char* key : {"informed 0", "informed 1", "informed 2"}) (void)store.get(key);
            // Its own failure notice may arrive before the call or after it.
            const Error error =
                expect_ended(ErrorCode::mismatch, [&] { (void)world.all_reduce_async(ten.span()).wait_for(20s); });
            return check(error.ranks() == std::vector{0, 1}, error.what());
        }
        Work work =
            world.all_reduce_async(world.rank() == 1 ? nine.span() : ten.span(), ReduceOp::sum(), {.timeout = 1min});
        const Error error = expect_error(ErrorCode::mismatch, {0, 1}, [&] { work.wait_for(20s); });
        expect_text(error,
                    "as call #2 rank 0 called all_reduce(float32, 10, sum), rank 1 called all_reduce(float32, 9");
        store.set("informed " + std::to_string(world.rank()), "yes");
    });
}

/// ncclCommSplit returns the new communicator when its job ends: after the time-out, when the parent is aborted.
TEST(NcclFaultsTest, a_split_that_times_out_leaves_no_communicator) {
    run_unjoined(2, {{"FAKE_NCCL_SPLIT_HANGS", "1"}}, [](const ProcessGroup&) {
        InitOptions options = init_options();
        options.timeout = 1s;
        const ProcessGroup world = join_process_group(options);
        expect_error(ErrorCode::timeout, [&] { (void)made_anew(world); });
        expect_error(ErrorCode::aborted, [&] { world.barrier(); });
        check(call_fake("fakeNcclCountCommunicators") == 0, "a communicator is left");
    });
}

/// ncclCommAbort waits for the streams of its calls, also for kernels of the program in front of them.
TEST(NcclFaultsTest, an_abort_that_hangs_delays_neither_errors_nor_the_end_of_the_group_for_long) {
    run_unjoined(2, {{"FAKE_NCCL_ABORT_MS", "3600000"}, {"FAKE_NCCL_HANG_AFTER", "0"}}, [](const ProcessGroup&) {
        auto world = std::make_unique<ProcessGroup>(join_process_group(init_options()));
        OneFloat one;
        const auto begin = std::chrono::steady_clock::now();
        {
            Work work = world->all_reduce_async(one.buffer.span(), ReduceOp::sum(), {.timeout = 200ms});
            expect_error(ErrorCode::timeout, [&] { work.wait_for(30s); });
            expect_error(ErrorCode::aborted, [&] { world->barrier(); });
        }
        world.reset();
        check(std::chrono::steady_clock::now() - begin < 20s, "it waited for the abort");
        // The fake's streams do not end without the abort.
        std::fflush(nullptr);
        _exit(0);
    });
}

TEST(NcclFaultsTest, a_group_may_end_after_cuda_has_shut_down) {
    run_unjoined(2, {}, [](const ProcessGroup&) {
        auto world = std::make_unique<ProcessGroup>(join_process_group(init_options()));
        auto one = std::make_unique<OneFloat>();
        Work work = world->all_reduce_async(one->buffer.span());
        work.wait();
        check(one->value() == 2, "the call");
        await_all(*world);
        setenv("FAKE_CUDA_SHUT_DOWN", "1", 1);
        work = Work();
        one.reset();
        world.reset();
    });
}

TEST(NcclFaultsTest, a_wait_for_a_rank_that_has_left_ends) {
    run_unjoined(3, {{"FAKE_NCCL_HANG_AFTER", "1"}}, [](const ProcessGroup&) {
        auto world = std::make_unique<ProcessGroup>(join_process_group(init_options()));
        const int rank = world->rank();
        world->barrier();
        const auto begin = std::chrono::steady_clock::now();
        if (rank != 1) {
            OneFloat one;
            Work work = world->all_reduce_async(one.buffer.span());
            expect_text(expect_error(ErrorCode::aborted, {1}, [&] { work.wait_for(60s); }),
                        "rank 1 has left the group");
        }
        world.reset();
        check(std::chrono::steady_clock::now() - begin < 4s, "it took its time");
    });
}

/// A non-blocking communicator keeps the refusal of a call, so the group cannot go on.
TEST(NcclFaultsTest, a_call_that_nccl_refuses_ends_the_group_on_all_ranks) {
    run_unjoined(2, {}, [](const ProcessGroup&) {
        if (*init_options().rank == 0) setenv("FAKE_NCCL_REFUSE_AFTER", "1", 1);
        const ProcessGroup world = join_process_group(init_options());
        OneFloat one;
        world.barrier();
        await_all(world);
        const Error error = expect_ended(ErrorCode::backend, [&] {
            Work work = world.all_reduce_async(one.buffer.span());
            work.wait_for(30s);
        });
        expect_text(error, "rank 0: NCCL: invalid argument (the fake refused as configured)");
        expect_error(ErrorCode::aborted, [&] { world.barrier(); });
    });
}

/// NCCL refuses a call on a communicator that has not accepted the one before.
TEST(NcclFaultsTest, messages_of_one_thread_and_collectives_of_another) {
    run_unjoined(1, {{"FAKE_NCCL_LAUNCH_MS", "2"}}, [](const ProcessGroup&) {
        const ProcessGroup world = join_process_group(init_options());
        auto messages = std::async(std::launch::async, [&] {
            OneFloat out(3), in;
            for (int i = 0; i < 30; ++i) {
                const std::vector<P2POp> to_itself{send_op(out.buffer.span(), 0), recv_op(in.buffer.span(), 0)};
                for (Work& work : world.batch_isend_irecv(to_itself)) work.wait();
            }
            check(in.value() == 3, "the message");
        });
        OneFloat one;
        for (int i = 0; i < 30; ++i) world.all_reduce(one.buffer.span(), ReduceOp::premul_sum(2));
        const ProcessGroup part = world.new_group({0});
        if (part.is_member()) part.all_reduce(one.buffer.span());
        check(one.value() == static_cast<float>(1 << 30), "the collectives");
        messages.get();
    });
}

TEST(NcclFaultsTest, a_call_behind_one_that_nccl_does_not_accept_has_its_own_time_out) {
    run_unjoined(1, {{"FAKE_NCCL_LAUNCH_MS", "60000"}}, [](const ProcessGroup&) {
        const ProcessGroup world = join_process_group(init_options());
        auto long_one = std::async(std::launch::async, [&] {
            OneFloat one;
            expect_ended(ErrorCode::timeout,
                         [&] { world.all_reduce(one.buffer.span(), ReduceOp::sum(), {.timeout = 1min}); });
        });
        OneFloat one;
        const auto begin = std::chrono::steady_clock::now();
        expect_ended(ErrorCode::timeout, [&] { world.send(one.buffer.span(), 0, {.timeout = 200ms}); });
        check(std::chrono::steady_clock::now() - begin < 20s, "it waited for the other's time-out");
        long_one.get();
    });
}

TEST(NcclFaultsTest, a_call_that_hangs_on_all_ranks) {
    run_unjoined(2, {{"FAKE_NCCL_HANG_AFTER", "0"}}, [](const ProcessGroup&) {
        const ProcessGroup world = join_process_group(init_options());
        const Error error = expect_error(ErrorCode::timeout, {}, [&] { world.barrier({.timeout = 1s}); });
        expect_text(error, "barrier #1 in group world: all ranks called it");
    });
}

TEST(NcclFaultsTest, a_receive_without_a_send) {
    run(2, [](const ProcessGroup& world) {
        OneFloat one;
        if (world.rank() == 0) {
            Work work = world.irecv(one.buffer.span(), 1, {.timeout = 100ms});
            expect_error(ErrorCode::timeout, {1}, [&] { work.wait_for(30s); });
        } else {
            expect_ended(ErrorCode::timeout, [&] { world.barrier(); });
        }
        expect_error(ErrorCode::aborted, [&] { world.barrier(); });
    });
}

TEST(NcclFaultsTest, asynchronous_error_ends_the_group_on_all_ranks) {
    run_unjoined(2, {}, [](const ProcessGroup&) {
        if (*init_options().rank == 0) setenv("FAKE_NCCL_BREAK_AFTER", "1", 1);
        const ProcessGroup world = join_process_group(init_options());
        world.barrier();
        await_all(world);
        const Error error = expect_ended(ErrorCode::peer_lost, [&] { world.barrier(); });
        expect_text(error, "the fake failed as configured");
        expect_error(ErrorCode::aborted, [&] { world.barrier(); });
    });
}

TEST(NcclFaultsTest, abort_ends_pending_calls_on_all_ranks) {
    run(2, [](ProcessGroup world) {
        OneFloat one;
        world.barrier();  // all have joined
        await_all(world);
        if (world.rank() == 0) {
            Work work = world.irecv(one.buffer.span(), 1), message = world.irecv(one.buffer.span(), 1);
            work.wait();
            world.abort("enough");
            expect_error(ErrorCode::aborted, {0}, [&] { work.wait(); });
            expect_error(ErrorCode::aborted, {0}, [&] { message.wait(); });
        } else {
            Work message = world.irecv(one.buffer.span(), 0);
            expect_error(ErrorCode::aborted, {0}, [&] { message.wait_for(30s); });
        }
        expect_text(expect_error(ErrorCode::aborted, {0}, [&] { world.barrier(); }), "enough");
    });
}

TEST(NcclFaultsTest, killed_rank_is_named_at_once) {
    run(3,
        [](const ProcessGroup& world) {
            world.barrier();
            await_all(world);
            if (world.rank() == 1) raise(SIGKILL);
            const auto begin = std::chrono::steady_clock::now();
            expect_error(ErrorCode::peer_lost, {1}, [&] { world.barrier(); });
            check(std::chrono::steady_clock::now() - begin < 5s, "it took a time-out");
        },
        {1});
}

TEST(NcclFaultsTest, a_work_destroyed_by_an_exception_does_not_hang) {
    run_unjoined(2, {}, [](const ProcessGroup&) {
        if (*init_options().rank == 0) setenv("FAKE_NCCL_HANG_AFTER", "1", 1);
        const ProcessGroup world = join_process_group(init_options());
        OneFloat one;
        world.barrier();  // all have joined
        await_all(world);
        try {
            Work work = world.rank() == 0 ? world.all_reduce_async(one.buffer.span()) : Work();
            throw std::runtime_error("something else");
        } catch (const std::runtime_error&) {}
        expect_error(ErrorCode::aborted, {0}, [&] { world.barrier(); });
    });
}

/// Under auto the two kinds go to different backends, which would wait for each other.
TEST(NcclFaultsTest, host_memory_on_one_rank_and_device_memory_on_another) {
    run_world(2, {.backend = "auto", .gpus = true}, [](const ProcessGroup& world) {
        DeviceBuffer<float> there(std::vector<float>(10, 1));
        std::vector<float> here(10, 1);
        for (const bool asynchronous : {false, true}) {
            const Error error = expect_error(ErrorCode::mismatch, {0, 1}, [&] {
                const MutableBuffer data = world.rank() == 0 ? MutableBuffer(here) : MutableBuffer(there.span());
                asynchronous ? world.all_reduce_async(data).wait() : world.all_reduce(data);
            });
            const std::string text = error.what();
            check(text.find("rank 1 called all_reduce(float32, 10, sum) in device memory") != std::string::npos, text);
        }
        world.all_reduce(there.span());
        world.all_reduce(here);
        check(there.to_host()[9] == 2 && here[9] == 2, "the calls after the mismatches");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
