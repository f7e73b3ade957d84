/// Messages: tags, any source, lengths, both directions at once, mismatches.

#include <atomic>
#include <numeric>
#include <thread>

#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using MessagesTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, MessagesTest, testing::ValuesIn(cases({2, 3, 5})), name_of);

TEST_P(MessagesTest, every_size_around_a_ring) {
    run([](const ProcessGroup& world) {
        const int to = (world.rank() + 1) % world.size(), from = (world.rank() + world.size() - 1) % world.size();
        for (const std::size_t count : {0, 1, 7, 65000, 65536, 66000, 700001}) {
            const Buffer<float> out = input<float>(world.rank(), count), in(count);
            Work sent = world.isend(out.span(), to, {.tag = 3});
            const Received received = world.recv(in.span(), from);
            sent.wait();
            check(received.source == from && received.tag == 3 && received.count == count, "what recv() returns");
            for (std::size_t i = 0; i < count; ++i) check(in[i] == element<float>(from, i), "an element is wrong");
        }
    });
}

TEST_P(MessagesTest, tags_are_the_receivers_choice) {
    run([](const ProcessGroup& world) {
        if (world.rank() == 0)
            for (int tag = 0; tag < 5; ++tag) world.send(tag * 10, 1, {.tag = tag});
        if (world.rank() == 1)
            for (int tag = 4; tag >= 0; --tag) {
                int value = 0;
                world.recv(value, 0, {.tag = tag});
                check(value == tag * 10, "a message of another tag");
            }
    });
}

TEST_P(MessagesTest, same_tag_keeps_its_order) {
    run([](const ProcessGroup& world) {
        constexpr int kMessages = 2000;
        std::vector<int> values(kMessages);
        std::vector<Work> works;
        if (world.rank() == 0) {
            std::iota(values.begin(), values.end(), 0);
            for (const int& value : values) works.push_back(world.isend(value, 1));
        }
        if (world.rank() == 1)
            for (int& value : values) works.push_back(world.irecv(value, 0));
        for (Work& work : works) work.wait();
        for (int i = 0; world.rank() == 1 && i < kMessages; ++i)
            check(values[static_cast<std::size_t>(i)] == i, "out of order");
    });
}

TEST_P(MessagesTest, any_source_any_tag) {
    run([](const ProcessGroup& world) {
        if (world.rank() > 0) return world.send(world.rank() * 100, 0, {.tag = world.rank()});
        std::set<int> sources;
        for (int i = 1; i < world.size(); ++i) {
            int value = 0;
            const Received received = world.recv(value);
            check(received.source == received.tag && value == received.source * 100, "source and tag");
            sources.insert(received.source);
        }
        check(sources.size() == static_cast<std::size_t>(world.size() - 1), "a message came twice");
    });
}

TEST_P(MessagesTest, a_rank_may_send_to_itself) {
    run([](const ProcessGroup& world) {
        const std::vector<int> out{1, 2, 3};
        std::vector<int> in(3);
        Work sent = world.isend(out, world.rank());
        world.recv(in, world.rank());
        sent.wait();
        check(in == out, "to oneself");
    });
}

TEST_P(MessagesTest, large_messages_cross) {
    run([](const ProcessGroup& world) {
        if (world.rank() > 1) return;
        const Buffer<double> out = input<double>(world.rank(), 500000), in(500000);
        const P2POp ops[] = {{P2POp::Kind::send, MutableBuffer(out.span()), 1 - world.rank()},
                             {P2POp::Kind::recv, MutableBuffer(in.span()), 1 - world.rank()}};
        for (Work& work : world.batch_isend_irecv(ops)) work.wait();
        check(in[499999] == element<double>(1 - world.rank(), 499999), "an element is wrong");
    });
}

TEST_P(MessagesTest, a_mismatch_is_an_error_of_the_receiver) {
    run([](const ProcessGroup& world) {
        if (world.rank() == 0) {
            const std::vector<int> sevens(3, 7);
            for (const std::size_t count : {3, 3, 3, 1}) world.send(std::span(sevens).first(count), 1);
            world.send(1.5, 1);
            world.send(42, 1);
        }
        if (world.rank() != 1) return;
        std::vector<int> two(2), four(4);
        expect_error(ErrorCode::mismatch, {0, 1}, [&] { world.recv(two, 0); });
        expect_error(ErrorCode::mismatch, {0, 1}, [&] { world.recv(four, 0); });
        expect_error(ErrorCode::mismatch, {0, 1}, [&] { world.recv(two, 0, {.up_to = true}); });
        check(world.recv(four, 0, {.up_to = true}).count == 1 && four[0] == 7, "a shorter message is welcome");
        int value = 0;
        expect_error(ErrorCode::mismatch, {0, 1}, [&] { world.recv(value, 0); });
        world.recv(value, 0);
        check(value == 42, "the message after an error");
    });
}

TEST_P(MessagesTest, a_mismatched_message_does_not_block_its_sender) {
    run([](const ProcessGroup& world) {
        constexpr std::size_t kMany = 200'000;  // more than the buffers between two ranks hold
        std::vector<double> many(kMany, 1.5);
        if (world.rank() == 0) world.send(many, 1);
        if (world.rank() == 1)
            expect_error(ErrorCode::mismatch, {0, 1}, [&] { world.recv(std::span(many).first(kMany / 2), 0); });
        world.barrier();
        if (world.rank() == 0) world.send(many, 1);
        if (world.rank() == 1) check(world.recv(many, 0).count == kMany, "the message after it");
    });
}

TEST_P(MessagesTest, a_message_progresses_without_a_waiting_thread) {
    run([](const ProcessGroup& world) {
        if (world.rank() > 1) return;
        std::vector<float> data(1 << 20, 1.0F);  // far more than a ring holds
        Work work = world.rank() == 0 ? world.isend(data, 1) : world.irecv(data, 0);
        while (!work.done()) std::this_thread::yield();
        work.wait();
    });
}

/// Threads of a rank that receive from one peer, each by a tag of its own, by recv() and by irecv().
TEST_P(MessagesTest, threads_that_wait_for_one_peer_get_their_own_messages) {
    run([](const ProcessGroup& world) {
        constexpr int kThreads = 4, kMessages = 200;
        if (world.rank() == 0)
            for (int i = 0; i < kThreads * kMessages; ++i) {
                const std::vector<int> values(static_cast<std::size_t>(i % 7 == 0 ? 50'000 : 1), i / kThreads);
                world.send(values, 1, {.tag = i % kThreads});
            }
        if (world.rank() != 1) return;
        std::atomic<int> wrong{0};
        std::vector<std::thread> threads;
        for (int tag = 0; tag < kThreads; ++tag)
            threads.emplace_back([&, tag] {
                std::vector<int> values(50'000);
                for (int i = 0; i < kMessages; ++i) {
                    const RecvOptions options{.tag = tag, .up_to = true};
                    if (tag == kThreads - 1 && i % 3 == 0)
                        world.irecv(values, 0, options).wait();
                    else
                        world.recv(values, 0, options);
                    wrong += values[0] != i;
                }
            });
        for (std::thread& thread : threads) thread.join();
        check(wrong == 0, "a message of another thread");
    });
}

TEST_P(MessagesTest, a_time_out_names_the_peer_and_the_group_remains_usable) {
    run([](const ProcessGroup& world) {
        int value = 0;
        if (world.rank() == 0) {
            expect_error(ErrorCode::timeout, {1},
                         [&] { world.recv(value, 1, {.tag = 9, .timeout = std::chrono::milliseconds(50)}); });
            expect_error(ErrorCode::timeout, [&] {
                world.irecv(value, kAnySource, {.tag = 9, .timeout = std::chrono::milliseconds(50)}).wait();
            });
        }
        world.barrier();
        if (world.rank() == 1) world.send(5, 0);
        if (world.rank() == 0) world.recv(value, 1);
        expect_error(ErrorCode::invalid_argument, [&] { world.send(value, world.size()); });
        expect_error(ErrorCode::invalid_argument, [&] { world.send(value, 0, {.tag = -2}); });
    });
}

}  // namespace
}  // namespace dlaunch::conformance
