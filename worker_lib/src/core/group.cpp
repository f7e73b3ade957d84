#include "worker_lib/src/core/group.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlaunch::worker {

std::shared_ptr<Group> Group::make(GroupParts parts, Time deadline) {
    std::shared_ptr<Group> group(new Group(std::move(parts)));
    if (group->is_member()) group->backend_ = make_backend(group->parts_, deadline);
    return group;
}

Group::~Group() = default;

Time Group::deadline(const std::optional<std::chrono::milliseconds>& timeout) const {
    return Clock::now() + timeout.value_or(parts_.timeout);
}

void Group::run(Call& call, const std::optional<std::chrono::milliseconds>& timeout) {
    if (!is_member()) return;
    check(call, parts_);
    call.deadline = deadline(timeout);
    lane_.run([&] {
        call.sequence = ++sequence_;
        backend_->run(call);
    });
}

Work Group::start(Call call, const std::optional<std::chrono::milliseconds>& timeout) {
    if (!is_member()) return {};
    check(call, parts_);
    call.deadline = deadline(timeout);
    auto state = std::make_shared<WorkState>();
    state->abort = [weak = weak_from_this()] {
        if (const auto group = weak.lock()) group->abort("a Work was destroyed by an exception");
    };
    lane_.start(state, [this, call = std::move(call)]() mutable {
        call.sequence = ++sequence_;
        backend_->run(call);
    });
    return Work(std::move(state));
}

std::shared_ptr<WorkState> Group::post(Transfer transfer, const std::optional<std::chrono::milliseconds>& timeout) {
    check(transfer, parts_);
    transfer.deadline = deadline(timeout);
    return backend_->post(transfer);
}

void Group::abort(const std::string& why) {
    if (backend_) backend_->abort(why);
}

std::shared_ptr<Group> Group::make_subgroup(std::span<const int> ranks, const GroupOptions& options) {
    const int number = ++subgroups_;
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorCode::invalid_argument, "new_group: " + what, {}, {"new_group", 0, parts_.name});
    };
    GroupParts parts{.name = options.name.empty() ? fmt::format("{}/{}", parts_.name, number) : options.name,
                     .backend = options.backend.empty() ? parts_.backend : options.backend,
                     .timeout = options.timeout.value_or(parts_.timeout),
                     .store = parts_.store.below(fmt::format("group/{}", number)),
                     .host = parts_.host};
    if (ranks.empty()) refuse("no ranks are given");
    for (const int rank : ranks) {
        if (rank < 0 || rank >= size()) refuse(fmt::format("rank {} is not in a group of {}", rank, size()));
        if (std::count(ranks.begin(), ranks.end(), rank) > 1) refuse(fmt::format("rank {} is given twice", rank));
        if (rank == parts_.rank) parts.rank = static_cast<int>(parts.ranks.size());
        parts.ranks.push_back(parts_.ranks[static_cast<std::size_t>(rank)]);
        parts.members.push_back(parts_.members[static_cast<std::size_t>(rank)]);
    }
    return make(std::move(parts), Clock::now() + parts_.timeout);
}

}  // namespace dlaunch::worker
