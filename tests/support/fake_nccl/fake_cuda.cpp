/// The functions of CUDA's driver that worker_lib uses, without those of memory. Environment:
///
///   FAKE_CUDA_ERROR      the result of cuInit
///   FAKE_CUDA_DEVICES    number of GPUs
///   FAKE_CUDA_PAGEABLE   1: the GPUs reach pageable memory of the host
///   FAKE_CUDA_SHUT_DOWN  1: as after the end of main(), when the driver has released everything

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/fake_nccl/streams.hpp"

namespace fake {
namespace {

constexpr int kDeinitialized = 4, kInvalidContext = 201, kNotReady = 600, kProhibited = 900, kIsolated = 905,
              kCapturedEvent = 907;

class Stream {
public:
    Stream() : thread_([this] { serve(); }) {
        const std::lock_guard lock(all_mutex);
        all.insert(this);
    }
    ~Stream() {
        {
            const std::lock_guard lock(all_mutex);
            all.erase(this);
        }
        put(nullptr);
        thread_.join();
    }
    void put(std::function<void()> job) {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
        more_.notify_all();
    }

    /// The work given to all streams so far.
    static void await_all();

private:
    static inline std::mutex all_mutex;
    static inline auto& all = *new std::set<Stream*>;
    void serve() {
        for (;;) {
            std::unique_lock lock(mutex_);
            more_.wait(lock, [&] { return !jobs_.empty(); });
            const std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            lock.unlock();
            if (!job) return;
            job();
        }
    }
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::function<void()>> jobs_;
    std::thread thread_;
};

struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t recorded = 0, reached = 0;
    std::atomic<bool> captured{false};
    void wait(std::uint64_t number) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return reached >= number; });
    }
    void reach(std::uint64_t number) {
        const std::lock_guard lock(mutex);
        reached = number;
        changed.notify_all();
    }
};
using SharedEvent = std::shared_ptr<Event>;

void Stream::await_all() {
    std::vector<SharedEvent> ends;
    {
        const std::lock_guard lock(all_mutex);
        for (Stream* stream : all) {
            ends.push_back(std::make_shared<Event>());
            stream->put([end = ends.back()] { end->reach(1); });
        }
    }
    for (const SharedEvent& end : ends) end->wait(1);
}

Stream& default_stream() {
    static Stream& only = *new Stream;
    return only;
}
Stream& stream_of(void* handle) { return handle ? *static_cast<Stream*>(handle) : default_stream(); }
SharedEvent& event_of(void* handle) { return *static_cast<SharedEvent*>(handle); }

thread_local void* context = nullptr;  // the device's number + 1

}  // namespace

int setting(const char* name, int usual) {
    const char* value = std::getenv(name);
    return value ? std::atoi(value) : usual;
}

void await_all_streams() { Stream::await_all(); }

bool is_shut_down() { return setting("FAKE_CUDA_SHUT_DOWN", 0) != 0; }

void enqueue(void* stream, std::function<void()> job) {
    if (!is_captured(stream)) stream_of(stream).put(std::move(job));
}

int current_device() { return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1; }

}  // namespace fake

using namespace fake;

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {

int cuInit(unsigned) { return setting("FAKE_CUDA_ERROR", 0); }
int cuGetErrorString(int error, const char** text) {
    *text = error == kInvalidContext ? "invalid device context" : "an error of the fake";
    return 0;
}
int cuDeviceGetCount(int* count) {
    *count = setting("FAKE_CUDA_DEVICES", 8);
    return 0;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return 0;
}
/// 88: the device reaches pageable memory.
int cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 88 ? setting("FAKE_CUDA_PAGEABLE", 0) : 0;
    return 0;
}
int cuDevicePrimaryCtxRetain(void** made, int device) {
    *made = reinterpret_cast<void*>(static_cast<std::intptr_t>(device) + 1);
    return 0;
}
int cuCtxGetCurrent(void** current) {
    if (is_shut_down()) return kDeinitialized;
    *current = context;
    return 0;
}
int cuCtxSetCurrent(void* current) {
    if (is_shut_down()) return kDeinitialized;
    context = current;
    return 0;
}
int cuCtxGetDevice(int* device) {
    *device = current_device();
    return context ? 0 : kInvalidContext;
}
int cuStreamCreate(void** stream, unsigned) {
    if (!context) return kInvalidContext;
    *stream = new Stream;
    return 0;
}
int cuStreamDestroy_v2(void* stream) {
    if (is_shut_down()) return kDeinitialized;
    if (!context) std::abort();  // fail loudly: the work would be lost silently
    delete static_cast<Stream*>(stream);
    return 0;
}
int cuStreamSynchronize(void* stream) {
    if (!context) return kInvalidContext;
    if (is_captured(stream)) return kProhibited;
    Event done;
    enqueue(stream, [&] { done.reach(1); });
    done.wait(1);
    return 0;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    if (!context) return kInvalidContext;
    const SharedEvent awaited = event_of(event);
    if (is_captured(stream) && !awaited->captured) return kIsolated;
    std::unique_lock lock(awaited->mutex);
    const std::uint64_t number = awaited->recorded;
    lock.unlock();
    enqueue(stream, [=] { awaited->wait(number); });
    return 0;
}
int cuEventCreate(void** event, unsigned) {
    if (!context) return kInvalidContext;
    *event = new SharedEvent(std::make_shared<Event>());
    return 0;
}
int cuEventDestroy_v2(void* event) {
    if (is_shut_down()) return kDeinitialized;
    if (!context) std::abort();  // as above
    delete &event_of(event);
    return 0;
}
int cuEventRecord(void* event, void* stream) {
    if (!context) return kInvalidContext;
    const SharedEvent recorded = event_of(event);
    recorded->captured = is_captured(stream);
    if (recorded->captured) return 0;
    std::unique_lock lock(recorded->mutex);
    const std::uint64_t number = ++recorded->recorded;
    lock.unlock();
    enqueue(stream, [=] { recorded->reach(number); });
    return 0;
}
int cuEventQuery(void* event) {
    if (is_shut_down()) return kDeinitialized;
    if (!context) return kInvalidContext;
    if (const int prohibited = make_unsafe_call(); prohibited != 0) return prohibited;
    if (event_of(event)->captured) return kCapturedEvent;
    const std::lock_guard lock(event_of(event)->mutex);
    return event_of(event)->reached == event_of(event)->recorded ? 0 : kNotReady;
}
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
    if (!context) return kInvalidContext;
    enqueue(stream, [=] { function(data); });
    return 0;
}
}
// NOLINTEND(readability-identifier-naming)
