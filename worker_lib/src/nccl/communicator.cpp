#include "worker_lib/src/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace dlaunch::worker::nccl {

std::string error_text(Result result, Comm comm) {
    std::string text = nccl().get_error_string(result);
    const char* last = nccl().get_last_error(comm);
    if (last && *last) text += fmt::format(" ({})", last);
    // Join NCCL's text into one line.
    std::replace(text.begin(), text.end(), '\n', ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

void Communicator::judge(Result result) const {
    if (result == Result::success || result == Result::in_progress) return;
    throw Failure(result, shared_->comm ? error_text(result, shared_->comm) : "the communicator has ended");
}

Communicator::Communicator(int ranks, const UniqueId& id, int rank, Config config) {
    const Result result = nccl().init(&shared_->made, ranks, id, rank, &config);
    shared_->comm = shared_->made;
    if (result == Result::success || result == Result::in_progress) return;
    const std::string text = error_text(result, nullptr);
    abort();
    throw Failure(result, text);
}

Communicator::~Communicator() { abort(); }

Result Communicator::state() {
    const std::lock_guard lock(shared_->mutex);
    Result state = Result::success;
    const Result asked = shared_->comm ? nccl().get_async_error(shared_->comm, &state) : Result::invalid_usage;
    if (asked != Result::success) state = asked;
    judge(state);
    return state;
}

void Communicator::settle(const Check& check) {
    using namespace std::chrono_literals;
    for (auto pause = 5us; state() == Result::in_progress; pause = std::min(pause * 2, 1000us)) {
        check();
        std::this_thread::sleep_for(pause);
    }
}

void Communicator::look() { (void)state(); }

/// After a failure the new communicator stays with this one, and ends when this one is aborted.
std::unique_ptr<Communicator> Communicator::split(int color, int key, Config config, const Check& check) {
    call([&](const NcclTable& table, Comm comm) {
        shared_->made = nullptr;
        return table.split(comm, color, key, &shared_->made, &config);
    });
    settle(check);
    std::unique_ptr<Communicator> part;
    call([&](const NcclTable&, Comm) {
        if (color != kNoColor) part.reset(new Communicator(std::exchange(shared_->made, nullptr)));
        return Result::success;
    });
    if (part) part->settle(check);
    return part;
}

void Communicator::leave(const Check& check) noexcept {
    try {
        call([](const NcclTable& table, Comm comm) { return table.finalize(comm); });
        settle(check);
        const std::lock_guard lock(shared_->mutex);
        nccl().destroy(std::exchange(shared_->comm, nullptr));
    } catch (const std::exception&) {
        abort();
    }
}

void Communicator::Shared::abort() {
    // Not under the lock: threads in settle() are to see that the communicator has ended.
    Comm ended = nullptr;
    {
        const std::lock_guard lock(mutex);
        ended = std::exchange(comm, nullptr);
    }
    Context any = nullptr;
    const bool has_shut_down = cuda().get_current_context(&any) != 0;  // NCCL might hang
    if (!ended || has_shut_down) return;
    nccl().abort(ended);
    const Comm late = std::exchange(made, nullptr);
    if (late && late != ended) nccl().abort(late);
}

bool Communicator::abort() noexcept {
    {
        const std::lock_guard lock(shared_->abort_mutex);
        if (!shared_->aborted.valid()) shared_->aborted = run_in_background([shared = shared_] { shared->abort(); });
    }
    return has_ended(aborted());
}

std::shared_future<void> Communicator::aborted() const {
    const std::lock_guard lock(shared_->abort_mutex);
    return shared_->aborted;
}

}  // namespace dlaunch::worker::nccl
