#include "launcher/plan_mpi.hpp"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "agent/group/environment.hpp"
#include "launcher/program_files.hpp"

namespace dlaunch::launcher {
namespace {

using agent::MpiFamily;
using base::Error;
using base::Result;

/// "./a is linked with libmpi.so.40, a library of Open MPI"
std::string text_of(const agent::Context& context, const Linked& linked) {
    return fmt::format("{} is linked with {}, {}", context.program.command.front(), linked.library,
                       linked.family == MpiFamily::pmix ? "a library of Open MPI" : "MPICH's or one with its ABI");
}

Error not_the_named(const Settings& settings, const agent::Context& context, const Linked& linked) {
    return {fmt::format("{}: expected {} or auto, as {}", settings.spelling("mpi"), agent::name(linked.family),
                        text_of(context, linked))};
}

/// The family that the programs have in common; none: no program has one.
Result<MpiFamily> common_family(const Settings& settings, const Deps& deps, const agent::Plan& plan) {
    MpiFamily common = settings.mpi.value_or(MpiFamily::none);
    std::string first;
    for (const agent::Context& context : plan.contexts) {
        if (context.program.is_python) continue;
        const Linked linked = deps.linked_with(files_of(plan, context));
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
    if (plan.workers() == 1 && plan.rendezvous.max_nodes == 1) return {};
    for (const agent::Context& context : plan.contexts) {
        if (context.program.is_python) continue;
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
    auto family = common_family(settings, deps, plan);
    if (!family) return family.error();
    for (agent::Context& context : plan.contexts) context.program.mpi = *family;
    return {};
}

}  // namespace dlaunch::launcher
