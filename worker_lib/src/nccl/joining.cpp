/// Creation of a group's communicator: by rank 0's unique id, exchanged through the store, or by ncclCommSplit of the
/// parent's communicator.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/nccl/backend.hpp"
#include "worker_lib/src/nccl/config.hpp"
#include "worker_lib/src/nccl/nccl_backend.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// Interval at which a rank that waits for the store checks for failure notices.
constexpr auto kPollInterval = std::chrono::milliseconds(200);
constexpr auto kRefusalTimeout = std::chrono::seconds(2);

std::string here_key(int rank) { return fmt::format("here/{}", rank); }

}  // namespace

void NcclBackend::connect(const std::vector<Member>& members, std::unique_ptr<Communicator> made, Time deadline) {
    const Error::Where where{"connect", 0, group_.name};
    const auto adopt = [&](std::unique_ptr<Communicator> communicator) {
        const std::lock_guard lock(mutex_);
        communicator_ = std::move(communicator);
    };
    if (made) adopt(std::move(made));
    notice_.emplace(store_, group_, [this](const Error& why) { report_failure(why); });
    start_watching(members);
    try {
        store_.set(here_key(group_.rank), "here", deadline);
        gpu_.emplace();
        checks_memory_ = !gpu_->reaches_pageable_memory();
        const Gpu::InUse in_use(*gpu_);
        cuda().check(cuda().create_stream(&stream_, kStreamNonBlocking), "make a stream");
        byte_ = std::make_unique<Memory>(1);
        if (communicator_) return;
        const Config config = config_of(options_, nccl().version);
        adopt(std::make_unique<Communicator>(group_.size, exchange_id(deadline), group_.rank, config));
        communicator_->settle(until(deadline, where));
    } catch (const Failure& failure) {
        if (const auto notice = peer_notice())
            throw worker::failure(notice->code(), where, notice->ranks(), notice->what());
        const Error error = translate(failure, where);
        notice_->publish(error);
        throw error;
    } catch (const Error& error) {
        if (is_usable()) notice_->publish(error);
        throw;
    }
}

/// A failure notice of rank 0 ends the wait for its id.
UniqueId NcclBackend::exchange_id(Time deadline) {
    UniqueId id{};
    if (group_.rank == 0) {
        const Result result = nccl().get_unique_id(&id);
        if (result != Result::success) throw Failure(result, error_text(result, nullptr));
        store_.set("id", std::string_view(id.bytes, sizeof(id.bytes)), deadline);
    } else {
        const auto check = until(deadline, {"connect", 0, group_.name});
        const std::vector<std::string> keys{"id"};
        while (!store_.check(keys, deadline)) {
            check();
            try {
                store_.wait(keys, Clock::now() + kPollInterval);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::timeout) throw;
            }
        }
        const std::string bytes = store_.get("id", deadline);
        std::memcpy(id.bytes, bytes.data(), std::min(bytes.size(), sizeof(id.bytes)));
    }
    return id;
}

bool NcclBackend::is_usable() const {
    const std::lock_guard lock(mutex_);
    return !why_;
}

Communicator::Check NcclBackend::unless_ended(const Error::Where& where) const {
    return [this, where] {
        const std::lock_guard lock(mutex_);
        if (!why_) return;
        const bool own = where.op == why_->op() && where.sequence == why_->sequence();
        throw own ? *why_ : failure(why_->code(), where, why_->ranks(), why_->what());
    };
}

Communicator::Check NcclBackend::until(Time deadline, const Error::Where& where) const {
    return [this, deadline, where, check = unless_ended(where), began = Clock::now()] {
        check();
        if (Clock::now() < deadline) return;
        std::vector<int> missing;
        for (int r = 0; r < group_.size; ++r) {
            const std::vector<std::string> keys{here_key(r)};
            if (!store_.check(keys, Clock::now() + std::chrono::seconds(2))) missing.push_back(r);
        }
        const std::string late = missing.empty() ? "NCCL" : group_.names.list(missing);
        throw failure(ErrorCode::timeout, where, missing,
                      fmt::format("{} did not join within {}", late, describe(Clock::now() - began)));
    };
}

bool NcclBackend::await_split(int number, Time deadline, const Error::Where& where) {
    const Time began = Clock::now();
    std::deque<Work> pending;
    {
        const std::lock_guard lock(mutex_);
        pending = pending_;
    }
    try {
        for (const Work& work : pending) {
            if (work->wait_until(deadline)) continue;
            const Error late = failure(ErrorCode::timeout, where, {group_.rank},
                                       fmt::format("earlier calls of rank {} were not done within {}",
                                                   group_.named(group_.rank), describe(Clock::now() - began)));
            refuse_split(number, late);
            throw late;
        }
        std::vector<int> everybody(static_cast<std::size_t>(group_.size));
        std::iota(everybody.begin(), everybody.end(), 0);
        const StoreHandle store = store_.below(fmt::format("split/{}", number));
        (void)roll_call(store.with_liveness_check(kPollInterval, unless_ended(where)), where, everybody, group_.rank,
                        group_.names, "ready", deadline);
    } catch (const Error&) {
        if (is_usable()) throw;
    }
    return is_usable();
}

/// The ranks that `why` names are not waited for either.
void NcclBackend::refuse_split(int number, const Error& why) {
    try {
        Error told = why;
        if (why.ranks().empty()) told = {why.code(), why.what(), {group_.rank}, {why.op(), 0, why.group()}};
        std::set<int> absent(told.ranks().begin(), told.ranks().end());
        absent.insert(group_.rank);
        std::vector<std::pair<std::string, std::string>> values;
        for (const int r : absent) values.emplace_back(std::to_string(r), pack_error(told));
        store_.below(fmt::format("split/{}", number)).multi_set(values, Clock::now() + kRefusalTimeout);
    } catch (const Error&) {
        // The store is gone; the time-out remains.
    }
}

/// The communicator of an ended group cannot be split; nullptr makes the subgroup create a new one.
std::unique_ptr<Backend> NcclBackend::split(const Split& what) {
    const Error::Where where{"new_group", 0, group_.name};
    if (!is_usable() || !nccl().split) return nullptr;
    Config config;
    try {
        config = config_of(what.parts.nccl, nccl().version);
    } catch (const Error& error) {
        refuse_split(what.number, error);
        throw;
    }
    if (!await_split(what.number, what.deadline, where)) return nullptr;
    const auto give_up = [&](const Error& error) {
        if (!is_usable()) return;
        notice_->publish(error);
        end(error);
        throw error;
    };
    try {
        const Gpu::InUse in_use(*gpu_);
        const bool member = what.parts.rank >= 0;
        std::unique_lock turn(launching_);
        auto made = communicator_->split(member ? what.ranks.front() : kNoColor, std::max(what.parts.rank, 0), config,
                                         until(what.deadline, where));
        turn.unlock();
        if (!made) return nullptr;
        auto backend = std::make_unique<NcclBackend>(what.parts);
        backend->connect(what.parts.members, std::move(made), what.deadline);
        return backend;
    } catch (const Failure& failure) {
        give_up(translate(failure, where));
    } catch (const Error& error) {
        give_up(error);
    }
    return nullptr;
}

std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline) {
    auto backend = std::make_unique<NcclBackend>(parts);
    backend->connect(parts.members, nullptr, deadline);
    return backend;
}

}  // namespace dlaunch::worker::nccl
