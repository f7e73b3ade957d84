/// Captures of streams into CUDA graphs. What a captured stream is given is not executed.

#include <map>
#include <mutex>
#include <thread>

#include "tests/support/fake_nccl/streams.hpp"

namespace fake {
namespace {

constexpr int kProhibited = 900, kInvalidated = 901, kUnmatched = 903, kImplicit = 906;
/// CUstreamCaptureMode
enum Mode : int { global, of_thread, relaxed };
/// CUstreamCaptureStatus
enum Status : int { none, active, invalidated };

struct Capture {
    Status status;
    int mode;
    std::thread::id thread;
};

std::mutex mutex;
auto& captures = *new std::map<void*, Capture>;  // by stream
thread_local int thread_mode = global;

/// Whether this thread must not make unsafe calls during the capture.
bool prohibits(const Capture& capture) {
    if (capture.status != active || capture.mode == relaxed || thread_mode == relaxed) return false;
    return capture.thread == std::this_thread::get_id() || (thread_mode == global && capture.mode == global);
}

}  // namespace

bool is_captured(void* stream) {
    const std::lock_guard lock(mutex);
    return captures.contains(stream);
}

int make_unsafe_call() {
    const std::lock_guard lock(mutex);
    int result = 0;
    for (auto& [stream, capture] : captures) {
        if (!prohibits(capture)) continue;
        capture.status = invalidated;
        result = kProhibited;
    }
    return result;
}

}  // namespace fake

using namespace fake;

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {

int cuStreamBeginCapture_v2(void* stream, int mode) {
    const std::lock_guard lock(mutex);
    captures[stream] = {active, mode, std::this_thread::get_id()};
    return 0;
}
int cuStreamEndCapture(void* stream, void** graph) {
    const std::lock_guard lock(mutex);
    *graph = nullptr;
    const auto ended = captures.extract(stream);
    if (ended.empty()) return kUnmatched;
    return ended.mapped().status == active ? 0 : kInvalidated;
}
int cuStreamIsCapturing(void* stream, int* status) {
    const std::lock_guard lock(mutex);
    *status = none;
    if (!stream)
        for (const auto& [other, capture] : captures)
            if (capture.mode != relaxed) return kImplicit;
    if (const auto found = captures.find(stream); found != captures.end()) *status = found->second.status;
    return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, thread_mode);
    return 0;
}
}
// NOLINTEND(readability-identifier-naming)
