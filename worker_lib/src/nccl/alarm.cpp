#include "worker_lib/src/nccl/alarm.hpp"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// For others to answer when something has gone wrong already.
constexpr auto kPatience = std::chrono::seconds(2);
/// For the store to answer, which may have gone with a rank.
constexpr auto kStorePatience = std::chrono::milliseconds(500);
/// What a wait of the store's may last; then it is begun anew.
constexpr auto kListening = std::chrono::hours(24);

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

/// What the listening thread has in common with its owner, who may go first.
struct Alarm::Shared {
    std::mutex mutex;
    std::function<void(const Error&)> heard;
};

Alarm::Alarm(StoreHandle store, Place place, std::function<void(const Error&)> heard)
    : store_(std::move(store)), place_(std::move(place)), shared_(std::make_shared<Shared>()) {
    shared_->heard = std::move(heard);
    const base::SignalsBlocked for_the_new_thread;
    std::thread([shared = shared_, key = key_of(place_.rank), listened = store_, group = place_.group] {
        for (bool again = true; again;) {
            again = false;
            try {
                const std::string said = listened.get(key, Clock::now() + kListening);
                const std::lock_guard lock(shared->mutex);
                if (shared->heard && !said.empty()) shared->heard(unpack(said, group));
            } catch (const Error& error) {
                again = error.code() == ErrorCode::timeout;  // else nobody can tell us anything, without the store
            } catch (const std::exception&) {
                // No rank of ours has said that.
            }
        }
    }).detach();
}

Alarm::~Alarm() {
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->heard = nullptr;
    }
    try {
        store_.set(key_of(place_.rank), "", Clock::now() + kPatience);  // the thread need not wait any more
    } catch (const Error&) {
        // Then it has ended, too.
    }
}

void Alarm::raise(const Error& why) noexcept {
    try {
        std::vector<std::pair<std::string, std::string>> messages;
        for (int r = 0; r < place_.size; ++r)
            if (r != place_.rank) messages.emplace_back(key_of(r), pack(why));
        if (!messages.empty()) store_.multi_set(messages, Clock::now() + kPatience);
    } catch (const std::exception&) {
        // The others have time-outs of their own.
    }
}

std::optional<Error> Alarm::said() noexcept {
    try {
        const Time soon = Clock::now() + kStorePatience;
        const std::vector<std::string> keys{key_of(place_.rank)};
        if (store_.check(keys, soon)) return unpack(store_.get(keys.front(), soon), place_.group);
    } catch (const std::exception&) {
        // Then nobody can have said anything.
    }
    return {};
}

Error Alarm::explain(const Error& found, const std::optional<Signature>& ours) noexcept {
    const auto key = [&](int r) { return fmt::format("call/{}/{}", found.sequence(), r); };
    std::vector<std::optional<Signature>> signatures;
    std::vector<int> behind;
    try {
        const Time soon = Clock::now() + kPatience;
        store_.set(key(place_.rank), ours ? std::string(reinterpret_cast<const char*>(&*ours), sizeof(*ours)) : "none",
                   soon);
        for (int r = 0; r < place_.size; ++r) {
            std::string said;
            try {
                said = store_.get(key(r), soon);
            } catch (const Error&) {
                // It stands still.
            }
            auto& signature = signatures.emplace_back();
            if (said.size() == sizeof(Signature))
                std::memcpy(&signature.emplace(), said.data(), sizeof(Signature));
            else
                behind.push_back(r);
        }
    } catch (const std::exception&) {
        return found;
    }
    for (int r = 1; signatures[0] && r < place_.size; ++r)
        if (const auto& other = signatures[static_cast<std::size_t>(r)]; other && *other != *signatures[0])
            return mismatch(*signatures[0], r, *other, place_.group);
    if (behind.empty()) return found;
    return failure(ErrorCode::timeout, {found.op(), found.sequence(), place_.group}, behind,
                   fmt::format("{} did not come in time", list_ranks(behind)));
}

void Alarm::show(const Shown& ours) noexcept {
    try {
        std::string packed = fmt::format("{} {}\n", ours.last, ours.left ? 1 : 0);
        packed.append(reinterpret_cast<const char*>(ours.calls.data()), ours.calls.size() * sizeof(Signature));
        store_.set(calls_key(place_.rank), packed, Clock::now() + kStorePatience);
    } catch (const std::exception&) {
        // The others have time-outs.
    }
}

std::optional<Alarm::Shown> Alarm::shown_by(int rank) {
    const Time soon = Clock::now() + kStorePatience;
    const std::vector<std::string> keys{calls_key(rank)};
    if (!store_.check(keys, soon)) return {};
    const std::string packed = store_.get(keys[0], soon);
    Shown shown;
    std::istringstream(packed) >> shown.last >> shown.left;
    const std::size_t begin = packed.find('\n') + 1;
    shown.calls.resize((packed.size() - begin) / sizeof(Signature));
    if (!shown.calls.empty()) std::memcpy(shown.calls.data(), &packed[begin], shown.calls.size() * sizeof(Signature));
    return shown;
}

/// Whom rank 0 differs from sees it. Each rank looks at the next one, too: the first of those who wait before one who
/// has left sees that. So a group of any size asks the store for no more than twice as many things as it has ranks.
std::optional<Error> Alarm::compare(const Error::Where& pending, const Shown& ours) noexcept {
    try {
        for (const int r : std::set{0, (place_.rank + 1) % place_.size}) {
            if (r == place_.rank) continue;
            const auto theirs = shown_by(r);
            if (!theirs) continue;
            for (const Signature& one : theirs->calls)
                for (const Signature& own : ours.calls)
                    if (r == 0 && one.sequence == own.sequence && one != own)
                        return mismatch(one, place_.rank, own, place_.group);
            if (theirs->left && pending.sequence > theirs->last)
                return failure(ErrorCode::aborted, pending, {r}, fmt::format("rank {} has left the group", r));
        }
    } catch (const std::exception&) {
        // There are time-outs.
    }
    return {};
}

}  // namespace dlaunch::worker::nccl
