#include "worker_lib/src/mesh/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "worker_lib/src/mesh/frames.hpp"

namespace dlaunch::worker::mesh {
namespace {

std::string reason_key(int rank) { return fmt::format("gave up/{}", rank); }
/// "CODE CALL COUNT RANK... TEXT".
std::string write_reason(const Error& why) {
    const auto& ranks = why.ranks();
    return fmt::format("{} {} {} {}{}{}", static_cast<int>(why.code()), why.sequence(), ranks.size(),
                       fmt::join(ranks, " "), ranks.empty() ? "" : " ", why.what());
}
Mesh::Reason read_reason(int named, const std::string& reason) {
    std::istringstream fields(reason);
    int code = 0;
    std::uint64_t sequence = 0;
    std::size_t count = 0;
    fields >> code >> sequence >> count;
    std::vector<int> ranks;
    for (int r = 0; ranks.size() < count && fields >> r;) ranks.push_back(r);
    std::string text;
    std::getline(fields >> std::ws, text, '\0');
    return {{static_cast<ErrorCode>(code), fmt::format("rank {} gave up: {}", named, text), ranks, {}}, sequence};
}

/// Time-out of store requests after a failure.
constexpr auto kStoreTimeout = std::chrono::seconds(2);

}  // namespace

Mesh::Mesh(GroupInfo group, StoreHandle store) : group_(std::move(group)), store_(std::move(store)) {}
Mesh::~Mesh() = default;

void Mesh::start(const std::function<void(int& peer)>& connect, Time deadline) {
    try {
        connect_all(connect, deadline);
    } catch (...) {
        stop();  // the transport's destructor does not run
        throw;
    }
}

void Mesh::connect_all(const std::function<void(int& peer)>& connect, Time deadline) {
    int peer = -1;
    try {
        connect(peer);
        frames_ = std::make_unique<Frames>(*this);
        Call hello;
        hello.deadline = deadline;
        run_collective(RankSubset(*this), hello);
    } catch (const Error& error) {
        if (frames_) give_up(error);  // publish the reason before the connections close
        throw;
    } catch (const std::exception& error) {
        store_.check_liveness();  // throws if a rank is lost or has published a failure
        const bool late = Clock::now() >= deadline;
        throw Error(
            late ? ErrorCode::timeout : ErrorCode::backend,
            fmt::format("group {}: rank {} cannot connect {}: {}", group_.name, group_.named(group_.rank),
                        peer < 0 ? "to the others" : fmt::format("to rank {}", group_.named(peer)), error.what()),
            peer < 0 ? std::vector<int>{} : std::vector<int>{peer}, {"new_group", 0, group_.name});
    }
}

void Mesh::stop() { frames_.reset(); }

Error Mesh::translate(const std::exception& thrown, int peer, const Error::Where& where, Time began) const {
    {
        const std::lock_guard lock(mutex_);
        if (why_) return interrupted(*why_, where);
    }
    // After a SIGSTOP of this process both sides have timed out: prefer the reason that the peer published for this
    // call.
    if (dynamic_cast<const TimedOut*>(&thrown))
        if (const auto why = given_up(peer, where)) return *why;
    const Error why = blame(thrown, peer, began);
    return failure(why.code(), where, why.ranks(), why.what());
}

Error Mesh::blame(const std::exception& thrown, int peer, Time began) const {
    {
        const std::lock_guard lock(mutex_);
        if (why_) return *why_;
    }
    if (dynamic_cast<const TimedOut*>(&thrown))
        return {ErrorCode::timeout,
                fmt::format("rank {} waited {} for rank {}", group_.named(group_.rank), describe(Clock::now() - began),
                            group_.named(peer)),
                {peer},
                {}};
    if (const auto published = reason(peer)) return published->why;
    return {ErrorCode::peer_lost,
            fmt::format("rank {} is gone: it ended, or left the group", group_.named(peer)),
            {peer},
            {}};
}

std::optional<Mesh::Reason> Mesh::reason(int peer) const {
    try {
        const std::vector<std::string> keys{reason_key(peer)};
        const Time soon = Clock::now() + kStoreTimeout;
        if (store_.check(keys, soon)) return read_reason(group_.named(peer), store_.get(keys[0], soon));
    } catch (const Error&) {
        // The store is gone; the caller uses its own finding.
    }
    return std::nullopt;
}

std::optional<Error> Mesh::given_up(int peer, const Error::Where& call) const {
    const auto published = reason(peer);
    if (!published || call.sequence == 0 || published->sequence != call.sequence) return std::nullopt;
    return failure(published->why.code(), call, published->why.ranks(), published->why.what());
}

void Mesh::interrupt(const Error& why) {
    {
        const std::lock_guard lock(mutex_);
        if (why_) return;
        why_ = std::make_unique<Error>(why);
    }
    end_waits();
}

void Mesh::give_up(const Error& why) {
    interrupt(why);
    if (published_.exchange(true)) return;
    try {
        store_.set(reason_key(group_.rank), write_reason(why), Clock::now() + kStoreTimeout);
    } catch (const Error&) {
        // The store is gone; the peers see closed connections and report this rank as lost.
    }
    close_connections();
}

void Mesh::check_usable() const {
    const std::lock_guard lock(mutex_);
    if (!why_) return;
    throw ended_before(*why_, group_.name);
}

std::byte* Mesh::scratch(std::size_t bytes) {
    if (bytes > scratch_bytes_) {
        scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        scratch_bytes_ = bytes;
    }
    return scratch_.get();
}

RankSubset::RankSubset(Mesh& mesh) : mesh_(mesh), rank_(mesh.rank()), ranks_(static_cast<std::size_t>(mesh.size())) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
}

RankSubset::RankSubset(Mesh& mesh, std::vector<int> ranks, std::uint64_t slots)
    : mesh_(mesh),
      rank_(static_cast<int>(std::find(ranks.begin(), ranks.end(), mesh.rank()) - ranks.begin())),
      slots_(slots),
      ranks_(std::move(ranks)) {}

bool Flow::wait(const Call& call, Time until) {
    if (begun_ == 0) return true;
    const Time began = Clock::now();
    try {
        await(std::min(until, call.deadline.at()));
    } catch (const std::exception& error) {
        if (until < call.deadline.at() && dynamic_cast<const TimedOut*>(&error)) return false;
        throw mesh_.translate(error, peer_, where(call, mesh_.group().name), began);
    }
    --begun_;
    return true;
}

}  // namespace dlaunch::worker::mesh
