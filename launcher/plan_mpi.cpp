#include "launcher/plan_mpi.hpp"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "agent/group/environment.hpp"
#include "launcher/mpi/wrapped.hpp"
#include "launcher/program_files.hpp"

namespace dlaunch::launcher {
namespace {

using agent::MpiFamily;
using base::Error;
using base::Result;

/// "./a", "train.py"
std::string name_of(const agent::Program& program) {
    const auto python = python_program(program.command);
    if (!python) return program.command.front();
    return !python->script.empty() ? python->script : !python->module.empty() ? python->module : "the program";
}

/// "./a is linked with libmpi.so.40, a library of Open MPI"
std::string text_of(const agent::Context& context, const Linked& linked) {
    return fmt::format("{} {} {}, {}", name_of(context.program),
                       linked.by_mpi4py ? "imports mpi4py, which is linked with" : "is linked with", linked.library,
                       linked.family == MpiFamily::pmix ? "a library of Open MPI" : "MPICH's or one with its ABI");
}

bool has_several_workers(const agent::Plan& plan) { return plan.workers() > 1 || plan.rendezvous.max_nodes > 1; }

/// mpi4py may be where dlaunch does not look for it, or may choose its library at its import.
void warn_unknown(const agent::Context& context, std::vector<std::string>& warnings) {
    warnings.push_back(
        fmt::format("{} imports mpi4py, whose MPI library was not found: name its protocol with "
                    "--mpi=pmix (Open MPI) or --mpi=pmi1 (MPICH), or each process is rank 0 of 1",
                    name_of(context.program)));
}

/// What the program starts does not join a world, without an error.
void warn_wrapped(const Deps& deps, const agent::Plan& plan, std::vector<std::string>& warnings) {
    for (const agent::Context& context : plan.contexts) {
        const auto& command = context.program.command;
        if (context.program.is_python) continue;
        for (const std::string& name : names_behind(command, deps.shell_script(files_of(plan, context)))) {
            const Linked linked = deps.linked_with(files_of(plan, context, name));
            if (linked.family == MpiFamily::none) continue;
            warnings.push_back(
                fmt::format("{} behind {} is linked with {}: with --mpi={} its processes are one world; "
                            "without, each is rank 0 of 1",
                            name, command.front(), linked.library, agent::name(linked.family)));
            return;
        }
    }
}

Error not_the_named(const Settings& settings, const agent::Context& context, const Linked& linked) {
    return {fmt::format("{}: expected {} or auto, as {}", settings.spelling("mpi"), agent::name(linked.family),
                        text_of(context, linked))};
}

/// The family that the programs have in common; none: no program has one.
Result<MpiFamily> common_family(const Settings& settings, const Deps& deps, const agent::Plan& plan,
                                std::vector<std::string>& warnings) {
    MpiFamily common = settings.mpi.value_or(MpiFamily::none);
    std::string first;
    for (const agent::Context& context : plan.contexts) {
        const Linked linked = deps.linked_with(files_of(plan, context));
        const bool is_unknown = linked.by_mpi4py && linked.family == MpiFamily::none;
        if (is_unknown && !settings.mpi && has_several_workers(plan)) warn_unknown(context, warnings);
        if (linked.family == MpiFamily::none) continue;
        if (settings.mpi && linked.family != common) return not_the_named(settings, context, linked);
        if (common != MpiFamily::none && linked.family != common)
            return Error{fmt::format("{}, but {}; expected programs of one MPI library in a job", first,
                                     text_of(context, linked))};
        common = linked.family;
        first = text_of(context, linked);
    }
    return common;
}

/// Without a process manager each MPI process is rank 0 of 1, without an error. `none` in a variable may be a site's
/// default that the user of this program does not know.
Result<void> check_singletons(const Settings& settings, const Deps& deps, const agent::Plan& plan,
                              std::vector<std::string>& warnings) {
    const std::string spelling = settings.spelling("mpi");
    if (!has_several_workers(plan)) return {};
    for (const agent::Context& context : plan.contexts) {
        const Linked linked = deps.linked_with(files_of(plan, context));
        if (linked.family == MpiFamily::none) continue;
        if (!spelling.starts_with("--"))
            return Error{fmt::format("{}: expected auto or one worker, as {}: several would each be rank 0 of 1",
                                     spelling, text_of(context, linked))};
        warnings.push_back(fmt::format("{}: each MPI process is rank 0 of 1, as {}; --mpi=auto makes them one world",
                                       spelling, text_of(context, linked)));
        return {};
    }
    return {};
}

}  // namespace

Result<void> plan_mpi(const Settings& settings, const Deps& deps, agent::Plan& plan,
                      std::vector<std::string>& warnings) {
    if (settings.mpi == MpiFamily::none) return check_singletons(settings, deps, plan, warnings);
    if (plan.forks && settings.mpi)
        return Error{fmt::format("{}: expected spawn as --start-method, because MPI cannot be forked",
                                 settings.spelling("mpi"))};
    if (plan.forks) return {};
    auto family = common_family(settings, deps, plan, warnings);
    if (!family) return family.error();
    for (agent::Context& context : plan.contexts) context.program.mpi = *family;
    if (*family == MpiFamily::none && has_several_workers(plan)) warn_wrapped(deps, plan, warnings);
    return {};
}

}  // namespace dlaunch::launcher
