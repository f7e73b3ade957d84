#include "worker_lib/src/nccl/failure_notice.hpp"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// Time-out of the other ranks' answers after a failure.
constexpr auto kAnswerTimeout = std::chrono::seconds(2);
/// Time-out of store requests; the store may have been lost with a rank.
constexpr auto kStoreTimeout = std::chrono::milliseconds(500);
/// Time-out of one wait for this rank's key; the wait is then repeated.
constexpr auto kListenTimeout = std::chrono::hours(24);

std::string key_of(int rank) { return fmt::format("alarm/{}", rank); }
std::string calls_key(int rank) { return fmt::format("calls/{}", rank); }

/// An Error as lines: code, sequence, ranks, op, text.
std::string pack(const Error& error) {
    std::string text = fmt::format("{}\n{}\n", static_cast<int>(error.code()), error.sequence());
    for (const int rank : error.ranks()) text += fmt::format("{} ", rank);
    return text + fmt::format("\n{}\n{}", error.op(), error.what());
}

Error unpack(const std::string& packed, const std::string& group) {
    std::istringstream lines(packed);
    std::string code, sequence, ranks, op, text;
    for (std::string* line : {&code, &sequence, &ranks, &op, &text}) std::getline(lines, *line);
    std::vector<int> blamed;
    std::istringstream numbers(ranks);
    for (int rank = 0; numbers >> rank;) blamed.push_back(rank);
    return {static_cast<ErrorCode>(std::stoi(code)), text, blamed, {op, std::stoull(sequence), group}};
}

}  // namespace

/// State shared with the detached listening thread, which may outlive the FailureNotice.
struct FailureNotice::Shared {
    std::mutex mutex;
    std::function<void(const Error&)> on_notice;
};

FailureNotice::FailureNotice(StoreHandle store, GroupInfo group, std::function<void(const Error&)> on_notice)
    : store_(std::move(store)), group_(std::move(group)), shared_(std::make_shared<Shared>()) {
    shared_->on_notice = std::move(on_notice);
    const base::SignalsBlocked for_the_new_thread;
    std::thread([shared = shared_, key = key_of(group_.rank), listened = store_, group = group_.name] {
        for (bool again = true; again;) {
            again = false;
            try {
                const std::string packed = listened.get(key, Clock::now() + kListenTimeout);
                const std::lock_guard lock(shared->mutex);
                if (shared->on_notice && !packed.empty()) shared->on_notice(unpack(packed, group));
            } catch (const Error& error) {
                again = error.code() == ErrorCode::timeout;  // any other error: the store is gone
            } catch (const std::exception&) {
                // Not a packed Error: ignore it.
            }
        }
    }).detach();
}

FailureNotice::~FailureNotice() {
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->on_notice = nullptr;
    }
    try {
        store_.set(key_of(group_.rank), "", Clock::now() + kAnswerTimeout);  // ends the thread's wait
    } catch (const Error&) {
        // The store is gone, which also ends the thread's wait.
    }
}

void FailureNotice::publish(const Error& why) noexcept {
    try {
        std::vector<std::pair<std::string, std::string>> messages;
        for (int r = 0; r < group_.size; ++r)
            if (r != group_.rank) messages.emplace_back(key_of(r), pack(why));
        if (!messages.empty()) store_.multi_set(messages, Clock::now() + kAnswerTimeout);
    } catch (const std::exception&) {
        // The other ranks detect the failure by their own time-outs.
    }
}

std::optional<Error> FailureNotice::received() noexcept {
    try {
        const Time soon = Clock::now() + kStoreTimeout;
        const std::vector<std::string> keys{key_of(group_.rank)};
        if (store_.check(keys, soon)) return unpack(store_.get(keys.front(), soon), group_.name);
    } catch (const std::exception&) {
        // Without the store there are no notices.
    }
    return {};
}

Error FailureNotice::diagnose(const Error& found, const std::optional<Signature>& ours) noexcept {
    const auto key = [&](int r) { return fmt::format("call/{}/{}", found.sequence(), r); };
    std::vector<std::optional<Signature>> signatures;
    std::vector<int> behind;
    try {
        const Time soon = Clock::now() + kAnswerTimeout;
        store_.set(key(group_.rank), ours ? std::string(reinterpret_cast<const char*>(&*ours), sizeof(*ours)) : "none",
                   soon);
        for (int r = 0; r < group_.size; ++r) {
            std::string value;
            try {
                value = store_.get(key(r), soon);
            } catch (const Error&) {
                // The rank does not answer and counts as behind.
            }
            auto& signature = signatures.emplace_back();
            if (value.size() == sizeof(Signature))
                std::memcpy(&signature.emplace(), value.data(), sizeof(Signature));
            else
                behind.push_back(r);
        }
    } catch (const std::exception&) {
        return found;
    }
    for (int r = 1; signatures[0] && r < group_.size; ++r)
        if (const auto& other = signatures[static_cast<std::size_t>(r)]; other && *other != *signatures[0])
            return mismatch(0, *signatures[0], r, *other, group_);
    if (behind.empty()) return found;
    return failure(ErrorCode::timeout, {found.op(), found.sequence(), group_.name}, behind,
                   fmt::format("{} did not make the call in time", group_.names.list(behind)));
}

void FailureNotice::publish_calls(const CallRecord& ours) noexcept {
    try {
        std::string packed = fmt::format("{} {}\n", ours.last, ours.left ? 1 : 0);
        packed.append(reinterpret_cast<const char*>(ours.calls.data()), ours.calls.size() * sizeof(Signature));
        store_.set(calls_key(group_.rank), packed, Clock::now() + kStoreTimeout);
    } catch (const std::exception&) {
        // The comparison only shortens the wait; time-outs remain.
    }
}

std::optional<FailureNotice::CallRecord> FailureNotice::record_of(int rank) {
    const Time soon = Clock::now() + kStoreTimeout;
    const std::vector<std::string> keys{calls_key(rank)};
    if (!store_.check(keys, soon)) return {};
    const std::string packed = store_.get(keys[0], soon);
    CallRecord shown;
    std::istringstream(packed) >> shown.last >> shown.left;
    const std::size_t begin = packed.find('\n') + 1;
    shown.calls.resize((packed.size() - begin) / sizeof(Signature));
    if (!shown.calls.empty()) std::memcpy(shown.calls.data(), &packed[begin], shown.calls.size() * sizeof(Signature));
    return shown;
}

/// Every rank compares with rank 0, so that any mismatch with rank 0 is found by the mismatching rank itself. Every
/// rank also reads the record of the next rank, which detects a departed rank by its predecessor. Two reads per rank
/// bound the load of the store.
std::optional<Error> FailureNotice::compare_calls(const Error::Where& pending, const CallRecord& ours) noexcept {
    try {
        for (const int r : std::set{0, (group_.rank + 1) % group_.size}) {
            if (r == group_.rank) continue;
            const auto theirs = record_of(r);
            if (!theirs) continue;
            for (const Signature& one : theirs->calls)
                for (const Signature& own : ours.calls)
                    if (r == 0 && one.sequence == own.sequence && one != own)
                        return mismatch(0, one, group_.rank, own, group_);
            if (theirs->left && pending.sequence > theirs->last)
                return failure(ErrorCode::aborted, pending, {r},
                               fmt::format("rank {} has left the group", group_.named(r)));
        }
    } catch (const std::exception&) {
        // Time-outs remain.
    }
    return {};
}

}  // namespace dlaunch::worker::nccl
