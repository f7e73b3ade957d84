#include "agent/membership/solo.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include "agent/errors/failure_record.hpp"
#include "rendezvous/base/address.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

rendezvous::Restarts::Limits limits_of(const RestartPlan& plan) {
    return {plan.max_restarts, plan.first, plan.most, plan.healthy, plan.crash_loop};
}

std::string master_address(const RendezvousPlan& plan) {
    if (!plan.master_addr.empty()) return plan.master_addr;
    if (!plan.local_addr.empty()) return plan.local_addr;
    if (plan.standalone || plan.backend == Backend::fixed_address) return "127.0.0.1";
    return base::reachable_address();
}

}  // namespace

SoloMembership::SoloMembership(base::Loop& loop, const Plan& plan) : loop_(loop), restarts_(limits_of(plan.restarts)) {
    next_.world_size = next_.local_world_size = next_.role_world_size = plan.workers;
    next_.max_restarts = plan.restarts.max_restarts;
    next_.master_addr = master_address(plan.rendezvous);
}

base::Result<std::unique_ptr<SoloMembership>> SoloMembership::make(base::Loop& loop, const Plan& plan) {
    std::unique_ptr<SoloMembership> solo(new SoloMembership(loop, plan));
    auto listener = store::open_listener(solo->next_.master_addr, plan.rendezvous.master_port.value_or(0));
    if (!listener) return base::Error{cannot_serve(listener.error().text), listener.error().status};
    solo->next_.master_port = listener->port;
    solo->next_.agent_store = true;
    solo->listener_ = std::move(*listener);
    return solo;
}

void SoloMembership::join(Orders orders) {
    orders_ = std::move(orders);
    start_round({});
}

void SoloMembership::start_round(std::string reason) {
    next_.restart_reason = std::move(reason);
    round_runs_ = true;
    first_client_ = loop_.readable(listener_.socket.get(), [this] { serve_store(); });
    loop_.post([this] {
        if (!leaving_) return orders_.start(next_);
        round_runs_ = false;
        orders_.end(*leaving_);
    });
}

/// The listener stays ours: the next round's store listens at the same port, and a client that comes between waits.
void SoloMembership::serve_store() {
    first_client_ = {};
    auto server = store::ThreadedServer::adopt(base::UniqueFd(fcntl(listener_.socket.get(), F_DUPFD_CLOEXEC, 0)));
    if (server)
        store_ = std::move(*server);
    else
        orders_.tell("the worker store: " + server.error().text);
}

void SoloMembership::end_job(JobVerdict verdict) {
    loop_.post([this, verdict = std::move(verdict)] { orders_.end(verdict); });
}

void SoloMembership::round_over(const RoundEnd& end) {
    round_runs_ = false;
    first_client_ = {};
    store_.reset();
    if (leaving_) return end_job(*leaving_);
    if (end.succeeded || end.failures.empty()) return end_job({});
    restart_or_end(end);
}

void SoloMembership::restart_or_end(const RoundEnd& end) {
    using Kind = rendezvous::RestartDecision::Kind;
    const Failure& cause = end.failures.front();
    const auto decision = restarts_.on_failure({end.lasted, kind_of(cause), cause.permanent});
    if (decision.kind == Kind::crash_loop) return end_job({exit_status::kGiveUp, restarts_.told(decision)});
    if (decision.kind != Kind::restart) return end_job({cause.exit_status(), {}});

    ++next_.round;
    next_.restart_count = restarts_.used();
    orders_.tell(restarts_.told(decision));
    pause_ = loop_.after(decision.pause,
                         [this, reason = fmt::format("rank {} failed", cause.rank)] { start_round(reason); });
}

void SoloMembership::failed(const Failure&) { failure_ends_job_ = !leaving_ && restarts_.spent(); }

/// After the failure that ends the job its status stands: who interrupts then only makes it end sooner.
void SoloMembership::leave(int status, const std::string& reason, bool) {
    if (failure_ends_job_) return;
    if (!leaving_) leaving_ = JobVerdict{status, reason};
    pause_ = {};
    if (!round_runs_) end_job(*leaving_);
}

}  // namespace dlaunch::agent
