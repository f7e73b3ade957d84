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
    throw Failure(result, comm_ ? error_text(result, comm_) : "the communicator has ended");
}

Communicator::Communicator(int ranks, const UniqueId& id, int rank) {
    Config config;
    const Result result = nccl().init(&comm_, ranks, id, rank, &config);
    if (result == Result::success || result == Result::in_progress) return;
    const std::string text = error_text(result, nullptr);
    abort();
    throw Failure(result, text);
}

Communicator::~Communicator() { abort(); }

Result Communicator::state() {
    const std::lock_guard lock(mutex_);
    Result state = Result::success;
    const Result asked = comm_ ? nccl().get_async_error(comm_, &state) : Result::invalid_usage;
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

std::unique_ptr<Communicator> Communicator::split(int color, int key, const Check& check) {
    if (!nccl().split) return nullptr;
    std::unique_ptr<Communicator> part(new Communicator);
    Config config;
    call([&](const NcclTable& table, Comm comm) { return table.split(comm, color, key, &part->comm_, &config); });
    settle(check);
    if (color == kNoColor) return nullptr;
    part->settle(check);
    return part;
}

void Communicator::leave(const Check& check) noexcept {
    try {
        call([](const NcclTable& table, Comm comm) { return table.finalize(comm); });
        settle(check);
        const std::lock_guard lock(mutex_);
        nccl().destroy(std::exchange(comm_, nullptr));
    } catch (const std::exception&) {
        abort();
    }
}

void Communicator::abort() noexcept {
    const std::lock_guard lock(mutex_);
    if (comm_) nccl().abort(std::exchange(comm_, nullptr));
}

}  // namespace dlaunch::worker::nccl
