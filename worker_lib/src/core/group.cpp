#include "worker_lib/src/core/group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "worker_lib/src/core/agent_link.hpp"
#include "worker_lib/src/core/coalesce.hpp"
#include "worker_lib/src/core/liveness_check.hpp"

namespace dlaunch::worker {
namespace {

NcclOptions inherited(NcclOptions own, const NcclOptions& parents) {
    const auto inherit = [](auto& field, const auto& parents_field) {
        if (!field) field = parents_field;
    };
    inherit(own.min_ctas, parents.min_ctas);
    inherit(own.max_ctas, parents.max_ctas);
    inherit(own.cga_cluster_size, parents.cga_cluster_size);
    if (own.net_name.empty()) own.net_name = parents.net_name;
    inherit(own.split_share, parents.split_share);
    inherit(own.traffic_class, parents.traffic_class);
    return own;
}

}  // namespace

/// Skips the destructor in a forked child: it would leave the group in the parent's name and join threads that the
/// child does not have.
std::shared_ptr<Group> Group::hold(GroupParts parts) {
    return {new Group(std::move(parts)), [](Group* group) {
                if (group->generation_ == generation()) delete group;
            }};
}

std::shared_ptr<Group> Group::make(GroupParts parts, Time deadline) {
    auto group = hold(std::move(parts));
    if (group->is_member()) group->adopt(make_backend(group->parts_, deadline));
    return group;
}

Group::~Group() = default;

void Group::adopt(std::unique_ptr<Backend> backend) {
    backend_ = std::move(backend);
    for (int device = 0; device < 2; ++device)
        for (int feature = 0; feature < kFeatures; ++feature)
            refused_[device][feature] =
                backend_->supports(static_cast<Feature>(feature), static_cast<Device>(device)) == Support::no;
    if (size() > 1 && parts_.in_job) AgentLink::instance().subscribe(shared_from_this());
}

void Group::refuse(const std::string& op, Feature feature, Device device) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} in group {}: {}", op, parts_.name, refusal(backend_->name(), feature, device)), {},
                {op, 0, parts_.name});
}

void Group::refuse_copy(const char* op) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} in group {}: this process is a fork of rank {}, and only that one is in the group", op,
                            parts_.name, parts_.names()[rank()]),
                {}, {op, 0, parts_.name});
}

/// all_reduce() and all_reduce_async() are one operation, and so is the part that fills in for a template.
void Group::refuse_outsider(const char* function) const {
    std::string op = function;
    for (const std::string_view ending : {"_async", "_by"})
        if (op.ends_with(ending)) op.resize(op.size() - ending.size());
    const std::string members = parts_.ranks.empty()
                                    ? "nobody is one"
                                    : list_ranks(parts_.ranks) + (parts_.ranks.size() == 1 ? " is one" : " are");
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} in group {}: rank {} of the world is not a member, {}; ask is_member() before a call",
                            op, parts_.name, parts_.world_rank, members),
                {}, {op, 0, parts_.name});
}

Time Group::deadline(const std::optional<std::chrono::milliseconds>& timeout) const {
    return after(timeout.value_or(parts_.timeout));
}

template <class Where, class F>
auto Group::carry_out(Where&& call, F&& f) -> decltype(f()) {
    try {
        return f();
    } catch (const Error&) {
        throw;
    } catch (const std::exception& thrown) {
        const Error error = failure(ErrorCode::backend, call(), {rank()},
                                    fmt::format("rank {}: {}", parts_.names()[rank()], one_line(thrown.what())));
        backend_->give_up(error);
        throw Error(error);
    }
}

void Group::run(Call& call, const std::optional<std::chrono::milliseconds>& timeout) {
    check_process(name_of(call.op));
    check(call, parts_);
    check_support(call);
    call.deadline = Deadline(timeout.value_or(parts_.timeout));
    executor_.run(
        call.deadline, [&] { run_next(call); },
        [&] { return end_late(where(call, parts_.name), timeout.value_or(parts_.timeout)); });
}

/// Runs in the executor.
void Group::run_next(Call& call) {
    if (!call.pieces || call.device != Device::cpu) return run_one(call);
    coalesce(call, [this](Call& batch) { run_one(batch); });
}

/// A refused call (invalid_argument) gets no sequence number, because the other ranks never see it.
void Group::run_one(Call& call) {
    call.sequence = sequence_ + 1;
    try {
        carry_out([&] { return where(call, parts_.name); }, [&] { backend_->run(call); });
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) ++sequence_;
        throw;
    }
    ++sequence_;
}

/// A skipped call breaks the common order of calls on all ranks, so the group ends.
Error Group::end_late(const Error::Where& call, std::chrono::milliseconds timeout) {
    Error error = failure(ErrorCode::timeout, call, {},
                          fmt::format("rank {} waited {} for its turn, an earlier call is not done",
                                      parts_.names()[rank()], describe(timeout)));
    backend_->give_up(error);
    return error;
}

Work Group::start(Call call, const std::optional<std::chrono::milliseconds>& timeout) {
    check_process(name_of(call.op));
    check(call, parts_);
    check_support(call);
    call.deadline = deadline(timeout);
    std::shared_ptr<WorkState> state;
    if (call.device != Device::cpu)
        executor_.run(
            call.deadline,
            [&] {
                call.sequence = sequence_ + 1;
                try {
                    state = backend_->enqueue(call);
                } catch (const Error& error) {
                    if (error.code() == ErrorCode::mismatch) ++sequence_;  // all ranks have counted this call
                    throw;
                }
                if (state) ++sequence_;
            },
            [&] { return end_late(where(call, parts_.name), timeout.value_or(parts_.timeout)); });
    if (state) return Work(std::move(state), shared_from_this());
    state = std::make_shared<WorkState>();
    auto job = [this, call]() mutable { run_next(call); };
    carry_out([&] { return where(call, parts_.name); }, [&] { executor_.start(state, std::move(job)); });
    return Work(std::move(state), shared_from_this());
}

std::shared_ptr<WorkState> Group::post(Transfer transfer, const std::optional<std::chrono::milliseconds>& timeout) {
    check_process(transfer.sends ? "send" : "recv");
    check(transfer, parts_);
    check_support(transfer);
    transfer.began = Clock::now();
    transfer.deadline = deadline(timeout);
    return carry_out(
        [&] {
            return Error::Where{transfer.sends ? "send" : "recv", 0, parts_.name};
        },
        [&] { return backend_->post(transfer); });
}

std::vector<Work> Group::post(std::vector<Transfer> transfers,
                              const std::optional<std::chrono::milliseconds>& timeout) {
    check_process("batch_isend_irecv");
    for (Transfer& transfer : transfers) {
        check(transfer, parts_);
        check_support(transfer);
        transfer.began = Clock::now();
        transfer.deadline = deadline(timeout);
    }
    std::vector<Work> works;
    auto states = carry_out(
        [&] {
            return Error::Where{"batch_isend_irecv", 0, parts_.name};
        },
        [&] { return backend_->post(transfers); });
    for (auto& state : states) works.emplace_back(std::move(state), shared_from_this());
    return works;
}

void Group::abort(const std::string& why) {
    if (backend_ && generation_ == generation()) backend_->abort(why);
}

void Group::fail_lost(int first, int count, const std::string& reason) {
    std::vector<int> lost;
    for (int r = 0; r < size(); ++r) {
        const int in_world = parts_.ranks[static_cast<std::size_t>(r)];
        if (r != rank() && in_world >= first && in_world - first < count) lost.push_back(r);
    }
    if (lost.empty()) return;
    const std::string text =
        fmt::format("{} {} gone: {}", parts_.names().list(lost), lost.size() == 1 ? "is" : "are", reason);
    try {
        backend_->give_up({ErrorCode::peer_lost, text, lost, {"", 0, parts_.name}});
    } catch (const std::exception&) {
        // Connections cannot be closed; the transport detects the loss by itself.
    }
}

void Group::agree_on(int number, std::span<const int> ranks, const GroupParts& subgroup, Time deadline) const {
    const Error::Where where{"new_group", 0, parts_.name};
    const RankNames names = parts_.names();
    const auto liveness = std::make_shared<LivenessCheck>(
        "new_group", LivenessCheck::Group{.name = parts_.name,
                                          .rank = subgroup.rank,
                                          .ranks = ranks,
                                          .names = names,
                                          .in_job = subgroup.in_job ? subgroup.ranks : std::vector<int>{},
                                          .members = subgroup.members});
    const auto received =
        roll_call(LivenessCheck::guarded(subgroup.store, liveness), where, ranks, rank(), names,
                  fmt::format("{} of {}", subgroup.backend, fmt::join(subgroup.ranks, ", ")), deadline);
    // Compare with the lowest rank, so that the error text is the same on all ranks whatever the order of `ranks`.
    const auto first = std::min_element(ranks.begin(), ranks.end());
    const std::string& expected = received[static_cast<std::size_t>(first - ranks.begin())];
    int odd = -1;
    std::string requested;
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (received[i] != expected && (odd < 0 || ranks[i] < odd)) odd = ranks[i], requested = received[i];
    if (odd < 0) return;
    throw Error(ErrorCode::mismatch,
                fmt::format("mismatch in group {}: as new_group #{} rank {} called for {}, rank {} for {}", parts_.name,
                            number, names[*first], expected, names[odd], requested),
                {*first, odd}, where);
}

void* Group::native_handle(std::string_view backend) const {
    return backend_ ? backend_->native_handle(backend.empty() ? backend_->name() : backend) : nullptr;
}

std::shared_ptr<Group> Group::make_subgroup(std::span<const int> ranks, const GroupOptions& options) {
    check_process("new_group");
    const int number = ++subgroups_;
    if (ranks.empty())
        throw Error(ErrorCode::invalid_argument, "new_group: no ranks are given", {}, {"new_group", 0, parts_.name});
    return make_subgroup(ranks, options, number, std::to_string(number), after(parts_.timeout));
}

/// The ranks exchange colors and keys through the store, so that each computes its own group.
std::shared_ptr<Group> Group::split(int color, int key, const GroupOptions& options) {
    check_process("split");
    const Error::Where where{"split", 0, parts_.name};
    if (color < kNoColor)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("split in group {}: color {} is neither 0 or more nor kNoColor", parts_.name, color),
                    {}, where);
    const int number = ++subgroups_;
    const Time deadline = after(parts_.timeout);
    std::vector<int> everybody(parts_.ranks.size());
    std::iota(everybody.begin(), everybody.end(), 0);
    const auto liveness = std::make_shared<LivenessCheck>(
        "split", LivenessCheck::Group{.name = parts_.name,
                                      .rank = rank(),
                                      .ranks = everybody,
                                      .names = parts_.names(),
                                      .in_job = parts_.in_job ? parts_.ranks : std::vector<int>{},
                                      .members = parts_.members});
    const StoreHandle store = parts_.store.below(fmt::format("split/{}", number));
    const auto received = roll_call(LivenessCheck::guarded(store, liveness), where, everybody, rank(), parts_.names(),
                                    fmt::format("{} {}", color, key), deadline);
    std::vector<std::pair<int, int>> mine;  // key, rank
    for (const int r : everybody) {
        std::istringstream words(received[static_cast<std::size_t>(r)]);
        int its_color = kNoColor, its_key = 0;
        words >> its_color >> its_key;
        if (its_color == color) mine.emplace_back(its_key, r);
    }
    std::sort(mine.begin(), mine.end());
    std::vector<int> ranks;
    for (const auto& [its_key, r] : mine)
        if (color != kNoColor) ranks.push_back(r);
    return make_subgroup(ranks, options, number, fmt::format("{}.{}", number, color), deadline);
}

std::shared_ptr<Group> Group::make_subgroup(std::span<const int> ranks, const GroupOptions& options, int number,
                                            const std::string& label, Time deadline) {
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorCode::invalid_argument, "new_group: " + what, {}, {"new_group", 0, parts_.name});
    };
    GroupParts parts{.name = options.name.empty() ? fmt::format("{}/{}", parts_.name, label) : options.name,
                     .world_rank = parts_.world_rank,
                     .backend = options.backend.empty() ? parts_.backend : options.backend,
                     .timeout = options.timeout.value_or(parts_.timeout),
                     .store = parts_.store.below("group/" + label),
                     .host = parts_.host,
                     .in_job = parts_.in_job,
                     .nccl = inherited(options.nccl, parts_.nccl)};
    for (const int rank : ranks) {
        if (rank < 0 || rank >= size()) refuse(fmt::format("rank {} is not in a group of {}", rank, size()));
        if (std::count(ranks.begin(), ranks.end(), rank) > 1) refuse(fmt::format("rank {} is given twice", rank));
        if (rank == parts_.rank) parts.rank = static_cast<int>(parts.ranks.size());
        parts.ranks.push_back(parts_.ranks[static_cast<std::size_t>(rank)]);
        parts.members.push_back(parts_.members[static_cast<std::size_t>(rank)]);
    }
    const bool splits = backend_ && parts.backend == parts_.backend;
    if (parts.rank >= 0) {
        try {
            agree_on(number, ranks, parts, deadline);
        } catch (const Error& error) {
            if (splits) backend_->refuse_split(number, error);
            throw;
        }
    }
    auto group = hold(std::move(parts));
    std::unique_ptr<Backend> made;
    if (splits)
        executor_.run(
            deadline,
            [&] {
                made = backend_->split({ranks, group->parts_, number, deadline});
            },
            [&] {
                return end_late({"new_group", 0, parts_.name}, parts_.timeout);
            });
    if (group->is_member()) group->adopt(made ? std::move(made) : make_backend(group->parts_, deadline));
    return group;
}

}  // namespace dlaunch::worker
