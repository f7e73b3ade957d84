#include "agent/requeue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

constexpr auto kMayTake = std::chrono::seconds(15);  // SLURM's own commands give up after some 10 s

}  // namespace

void Requeue::after(const JobVerdict& verdict, const JobResult& result, std::function<void(const std::string&)> done) {
    const bool has_failed = !result.failures.empty() && !result.failures.front().collateral;
    const bool is_due = !plan_.requeue.empty() && verdict.status == exit_status::kSignalBase + SIGTERM && !has_failed;
    if (!is_due) return done({});
    has_asked_ = true;
    helper_.run(plan_.requeue, plan_.host.environment, kMayTake,
                [this, done = std::move(done)](const Helper::Result& answer) {
                    const std::string command = fmt::format("{}", fmt::join(plan_.requeue, " "));
                    const std::string reason(base::trimmed(answer.output.substr(0, answer.output.find('\n'))));
                    if (answer.status == 0) return done(fmt::format("the job runs again later ({})", command));
                    if (reason.find("pending execution") != std::string::npos)  // the signal came from a requeue
                        return done("the job runs again later (it waits already)");
                    done(fmt::format("the job is not requeued: {} ended with {}{}", command, answer.status,
                                     reason.empty() ? "" : ": " + reason));
                });
}

}  // namespace dlaunch::agent
