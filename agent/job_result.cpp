#include "agent/job_result.hpp"

#include <unistd.h>

#include <algorithm>

#include "agent/process/window_size.hpp"

namespace dlaunch::agent {
namespace {

/// Whether --stdin could give this rank of several workers an input that it lacks.
bool lacks_input(const Plan& plan, int rank) {
    switch (plan.standard_input.mode) {
        case StdinPlan::Mode::all: return false;
        case StdinPlan::Mode::none: return true;
        case StdinPlan::Mode::rank: return rank != plan.standard_input.rank;
        case StdinPlan::Mode::automatic: break;
    }
    const bool is_mpi = plan.contexts.front().program.mpi != MpiFamily::none;
    const bool is_lone = plan.workers() == 1 && plan.rendezvous.max_nodes == 1;
    return !is_lone && !(is_mpi && rank == 0);
}

}  // namespace

void set_times(double seconds, JobResult& to) {
    to.seconds = seconds;
    to.ended = std::chrono::system_clock::now();
    to.started = to.ended - std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                std::chrono::duration<double>(seconds));
}

void describe_job(const Plan& plan, double seconds, JobResult& to) {
    to.job_id = plan.rendezvous.job_id;
    to.program = plan.program_names();
    to.command_line = plan.command_line;
    set_times(seconds, to);
    to.is_python = std::ranges::any_of(plan.contexts, [](const Context& each) { return each.program.is_python; });
    to.lacks_input = !to.failures.empty() && lacks_input(plan, to.failures.front().rank);
}

ReportStyle report_style(const Plan& plan) {
    if (isatty(STDERR_FILENO) != 1) return {};
    return {.columns = window_size(STDERR_FILENO).value_or(WindowSize()).columns, .highlight = plan.logs.colours};
}

}  // namespace dlaunch::agent
