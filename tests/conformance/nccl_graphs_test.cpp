/// Calls on nccl while streams are captured into CUDA graphs.

#include <thread>

#include "tests/conformance/fake_gpu.hpp"

namespace dlaunch::conformance {
namespace {

using namespace std::chrono_literals;

constexpr int kGlobalMode = 0;

/// A capture by the calling thread, in the mode that is the most restrictive for all threads.
class Capture {
public:
    explicit Capture(void* stream) : stream_(stream) {
        check(call_fake("cuStreamBeginCapture_v2", stream, kGlobalMode) == 0, "a capture");
    }
    /// The capture is still valid.
    void end() const {
        void* graph = nullptr;
        check(call_fake("cuStreamEndCapture", stream_, &graph) == 0, "the capture has been invalidated");
    }

private:
    void* stream_;
};

void run(int ranks, const Body& body) { run_world(ranks, {.backend = "nccl"}, body); }

TEST(NcclGraphsTest, captures_of_other_streams_and_pending_calls_do_not_disturb_each_other) {
    run(2, [](const ProcessGroup& world) {
        OneFloat one;
        const DeviceStream other;
        Store store = world.store();
        if (world.rank() == 1) (void)store.get("the other rank captures");
        Work work = world.all_reduce_async(one.buffer.span());
        const Capture capture(other.handle());
        if (world.rank() == 0) {
            // The watchdog looks at the call every 10 ms.
            check(!work.done() && !work.wait_for(100ms), "the call is pending");
            store.set("the other rank captures", "yes");
        }
        check(work.wait_for(30s), "the call");
        float on_host = 1;
        world.all_reduce(on_host);
        world.barrier();
        if (world.rank() == 0) world.send(one.buffer.span(), 1);
        if (world.rank() == 1) world.recv(one.buffer.span(), 0);
        check(on_host == 2, "a call on host memory");
        capture.end();
        check(one.value() == 2, "the result");
    });
}

TEST(NcclGraphsTest, a_call_on_a_captured_stream_is_refused_and_the_group_goes_on) {
    run(2, [](const ProcessGroup& world) {
        OneFloat one;
        const Capture capture(one.stream.handle());
        const auto refused = [&](const std::function<void()>& call) {
            const std::string text = expect_error(ErrorCode::invalid_argument, call).what();
            check(text.find("its stream is being captured into a CUDA graph; capture NCCL's own calls with "
                            "native_handle(), or call it outside of the capture") != std::string::npos,
                  text);
        };
        refused([&] { world.all_reduce(one.buffer.span()); });
        refused([&] { (void)world.all_reduce_async(one.buffer.span()); });
        refused([&] { world.send(one.buffer.span(), 1 - world.rank()); });
        refused([&] { (void)world.irecv(one.buffer.span(), 1 - world.rank()); });
        const std::string text = expect_error(ErrorCode::invalid_argument, [&] {
                                     world.all_reduce(DeviceSpan<float>{one.buffer.span().data, 1});
                                 }).what();
        check(text.find("its stream is the default one") != std::string::npos, text);
        capture.end();
        world.all_reduce(one.buffer.span());
        check(one.value() == 2, "the group goes on");
    });
}

TEST(NcclGraphsTest, wait_inside_a_capture_for_a_call_before_it_blocks_the_host) {
    run(2, [](const ProcessGroup& world) {
        OneFloat one;
        Work work = world.all_reduce_async(one.buffer.span());
        const Capture capture(one.stream.handle());
        work.wait();
        check(work.done(), "the call is done");
        capture.end();
        check(one.value() == 2, "the result");
    });
}

TEST(NcclGraphsTest, a_thread_without_a_current_gpu_may_wait) {
    run(2, [](const ProcessGroup& world) {
        OneFloat one;
        Work work = world.all_reduce_async(one.buffer.span());
        bool ended = false;
        std::thread([&] { ended = work.wait_for(30s); }).join();
        std::thread([&] { work = Work(); }).join();
        check(ended && one.value() == 2, "the result");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
