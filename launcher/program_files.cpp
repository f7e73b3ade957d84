#include "launcher/program_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "agent/group/environment.hpp"
#include "agent/process/program_paths.hpp"
#include "launcher/mpi/file_paths.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

std::string working_folder_of(const agent::Program& program) {
    const std::string& given = program.working_directory;
    if (given.starts_with('/')) return given;
    std::array<char, PATH_MAX> here;
    if (!::getcwd(here.data(), here.size())) return given;
    return given.empty() ? here.data() : fmt::format("{}/{}", here.data(), given);
}

Result<void> check_script(const agent::Program& program, const Deps& deps) {
    const std::string& name = program.command[program.name_index];
    if (program.command[program.name_index - 1] == "-m" || name.find("${") != std::string::npos) return {};
    const std::string folder = working_folder_of(program);
    if (deps.presence(path_of(name, folder)) != Presence::missing) return {};
    return Error{fmt::format("{}: no such file in {}, expected a Python script", name, folder), exit_status::kNotFound};
}

/// The command line that starts what lies in the folder: `dlaunch ring` beside ./ring, or beside ring.py. Empty:
/// neither is there.
std::string way_to_start(const std::string& name, const std::string& folder, const Deps& deps) {
    const auto is_there = [&](const std::string& file) {
        return deps.presence(path_of(file, folder)) == Presence::there;
    };
    if (is_there(name)) return "./" + name;
    return is_there(name + ".py") ? name + ".py" : std::string();
}

Result<void> check_name(const agent::Plan& plan, const agent::Context& context, const Deps& deps) {
    const std::string& name = context.program.command.front();
    if (name.find('/') != std::string::npos) return {};
    const std::string way = way_to_start(name, working_folder_of(context.program), deps);
    if (way.empty()) return {};
    const ProgramFiles files = files_of(plan, context);
    const auto is_missing = [&](const std::string& path) { return deps.presence(path) == Presence::missing; };
    if (!std::ranges::all_of(files.candidates, is_missing)) return {};
    return Error{fmt::format("{}: not found in PATH, but there is {}{}: expected dlaunch {}", name,
                             way.starts_with("./") ? "" : "./", way, way),
                 exit_status::kNotFound};
}

}  // namespace

ProgramFiles files_of(const agent::Plan& plan, const agent::Context& context, const std::string& name) {
    ProgramFiles files;
    files.folder = working_folder_of(context.program);
    for (const std::string& path :
         agent::candidates(name, agent::given_variable(plan, context, "PATH").value_or("/usr/bin:/bin")))
        files.candidates.push_back(path.starts_with('/') ? path : fmt::format("{}/{}", files.folder, path));
    files.library_path = agent::given_variable(plan, context, "LD_LIBRARY_PATH").value_or("");
    return files;
}

ProgramFiles files_of(const agent::Plan& plan, const agent::Context& context) {
    const agent::Program& program = context.program;
    ProgramFiles files = files_of(plan, context, program.command.front());
    if (auto python = python_program(program.command))
        files.python = {std::move(*python), agent::given_variable(plan, context, "PYTHONPATH").value_or(""),
                        agent::given_variable(plan, context, "HOME").value_or(""),
                        agent::given_variable(plan, context, "MPI4PY_MPIABI").value_or(""),
                        agent::given_variable(plan, context, "MPI4PY_LIBMPI").value_or("")};
    return files;
}

Result<void> check_programs(const agent::Plan& plan, const Deps& deps, bool with_scripts) {
    for (const agent::Context& context : plan.contexts) {
        if (!context.program.wraps.empty() || (context.program.is_python && !with_scripts)) continue;
        auto checked =
            context.program.is_python ? check_script(context.program, deps) : check_name(plan, context, deps);
        if (!checked) return checked;
    }
    return {};
}

}  // namespace dlaunch::launcher
