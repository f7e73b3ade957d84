#include "worker_lib/src/hierarchy/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "worker_lib/src/shm/backend.hpp"
#include "worker_lib/src/tcp/tcp_mesh.hpp"

namespace dlaunch::worker::hierarchy {
namespace {

/// Bounds on the additional time of each dependent step. The minimum lets a busy host publish an error first.
constexpr std::chrono::milliseconds kMinExtraTime{250}, kMaxExtraTime{1000};

}  // namespace

Layout::Layout(const std::vector<Member>& members) {
    std::map<std::string, int> hosts_by_id;
    for (int r = 0; const Member& member : members) {
        const int host = hosts_by_id.try_emplace(member.host_id, hosts()).first->second;
        if (host == hosts()) ranks.emplace_back();
        auto& there = ranks[static_cast<std::size_t>(host)];
        host_of.push_back(host);
        local_of.push_back(static_cast<int>(there.size()));
        there.push_back(r++);
    }
    const auto [fewest, largest] = std::minmax_element(
        ranks.begin(), ranks.end(), [](const auto& one, const auto& other) { return one.size() < other.size(); });
    planes = static_cast<int>(fewest->size());
    most = static_cast<int>(largest->size());
    regular = planes == most;
    for (std::size_t r = 1; r < host_of.size(); ++r) regular = regular && host_of[r] >= host_of[r - 1];
}

std::vector<int> Layout::plane(int number) const {
    std::vector<int> on_it;
    for (const auto& there : ranks) on_it.push_back(there[static_cast<std::size_t>(number)]);
    return on_it;
}

Levels::Levels(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store, Time deadline)
    : layout(members),
      rank(group.rank),
      host(layout.host_of[static_cast<std::size_t>(rank)]),
      local(layout.local_of[static_cast<std::size_t>(rank)]),
      local_size(static_cast<int>(layout.on(host).size())) {
    std::vector<Member> here;
    for (const int r : layout.on(host)) here.push_back(members[static_cast<std::size_t>(r)]);
    host_ranks_ = shm::make_backend({group.name, local, local_size, group.names, layout.on(host)}, here,
                                    store.below(fmt::format("host/{}", host)), deadline);
    all_ = tcp::make_backend(group, members, store, deadline);
    if (local < layout.planes) plane_ = all_->subset(layout.plane(local));
}

void Levels::begin_call(const Call& call) {
    call_ = &call;
    extra_time_ =
        std::clamp<std::chrono::nanoseconds>((call.deadline.at() - Clock::now()) / 4, kMinExtraTime, kMaxExtraTime);
}

Call Levels::prepare(Call step, int extra_waits, std::uint64_t& sequence) const {
    step.part_of = call_;
    step.sequence = ++sequence;
    step.deadline = call_->deadline.at() + extra_waits * extra_time_;
    return step;
}

void Levels::give_up(const Error& why) {
    host_ranks_->give_up(why);
    all_->give_up(why);
}

}  // namespace dlaunch::worker::hierarchy
