#include "agent/requeue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <utility>

#include "agent/slurm_job.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

constexpr auto kMayTake = std::chrono::seconds(15);  // SLURM's own commands give up after some 10 s

}  // namespace

void Requeue::after(const JobVerdict& verdict, const JobResult& result, std::function<void(const std::string&)> done) {
    const bool has_failed = !result.failures.empty() && !result.failures.front().collateral;
    const bool is_due =
        !plan_.requeue.order.empty() && verdict.status == exit_status::kSignalBase + SIGTERM && !has_failed;
    if (!is_due) return done({});
    has_asked_ = true;
    run(plan_.requeue.question, [this, done = std::move(done)](const Helper::Result& answer) {
        if (answer.status == 0 && ends_for_good(answer.output))
            return done(
                "the job is not requeued: SLURM ends it for another reason than its time limit or a preemption");
        give_order(done);
    });
}

void Requeue::run(const std::vector<std::string>& command, std::function<void(const Helper::Result&)> done) {
    // SLURM sends its second SIGTERM to every process of the step: a shell that ignores it passes this on.
    std::vector<std::string> words{"/bin/sh", "-c", "trap '' HUP INT QUIT TERM; exec \"$@\"", "sh"};
    words.insert(words.end(), command.begin(), command.end());
    helper_.run(words, plan_.host.environment, kMayTake, std::move(done));
}

void Requeue::give_order(const std::function<void(const std::string&)>& done) {
    run(plan_.requeue.order, [this, done](const Helper::Result& answer) {
        const std::string command = fmt::format("{}", fmt::join(plan_.requeue.order, " "));
        const std::string reason(base::trimmed(answer.output.substr(0, answer.output.find('\n'))));
        if (answer.status == 0) return done(fmt::format("the job runs again later ({})", command));
        if (reason.find("pending execution") != std::string::npos)  // the signal came from a requeue
            return done("the job runs again later (it waits already)");
        done(fmt::format("the job is not requeued: {} ended with {}{}", command, answer.status,
                         reason.empty() ? "" : ": " + reason));
    });
}

}  // namespace dlaunch::agent
