#include "launcher/mpi/mpi4py.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "launcher/cli/split.hpp"
#include "launcher/mpi/file_paths.hpp"
#include "launcher/mpi/python_installation.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {
namespace {

/// Files "MPI.*.so" of a folder; none: there is no such folder.
std::vector<std::string> modules_in(const std::string& folder, const OpenFile& open) {
    base::UniqueFd file = open(folder);
    if (!file) return {};
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(file.get()), &::closedir);
    if (!list) return {};
    static_cast<void>(file.release());
    std::vector<std::string> found;
    while (const dirent* entry = ::readdir(list.get())) {
        const std::string_view name = entry->d_name;
        if (name.starts_with("MPI.") && name.ends_with(".so")) found.push_back(fmt::format("{}/{}", folder, name));
    }
    return found;
}

/// As mpi4py spells it.
std::string normal(const std::string& abi) {
    std::string text = base::in_lower_case(abi);
    std::erase_if(text, [](char c) { return c == ' ' || c == '-' || c == '_'; });
    return text == "impi" ? "mpich" : text;
}

/// The ABI that mpi4py's module _mpiabi chooses. `folders`: where it looks for a library before the dynamic linker
/// does.
std::string abi_of(const PythonFiles& python, const std::vector<std::string>& folders, const NameOfLibrary& name_of) {
    if (!python.mpi_abi.empty()) return normal(python.mpi_abi);
    std::vector<std::string> libraries;
    const auto add_folder = [&](const std::string& folder) {
        for (const char* name : {"libmpi.so", "libmpi.so.12", "libmpi.so.40"})
            libraries.push_back(folder.empty() ? name : folder + "/" + name);
    };
    if (python.mpi_library.empty()) {
        for (const std::string& each : folders) add_folder(each);
        add_folder("");
    } else {
        for (const std::string_view each : split(python.mpi_library, ':')) {
            add_folder(std::string(each));
            if (!each.empty()) libraries.emplace_back(each);
        }
    }
    for (const std::string& library : libraries)
        if (const std::string name = name_of(library); !name.empty())
            return family_of(name) == agent::MpiFamily::pmix ? "openmpi" : "mpich";
    return {};
}

/// The first folder, then those of PYTHONPATH.
std::vector<std::string> search_folders(const std::string& first, const std::string& search_path,
                                        const std::string& folder) {
    std::vector<std::string> folders{first};
    if (search_path.empty()) return folders;
    for (const std::string_view each : split(search_path, ':')) folders.push_back(path_of(std::string(each), folder));
    return folders;
}

}  // namespace

Import uses_mpi4py(const PythonFiles& python, const std::string& folder, const OpenFile& open) {
    const PythonProgram& program = python.program;
    if (!program.code.empty()) return imports_mpi4py(program.code);
    if (program.module.empty()) {
        const std::string path = path_of(program.script, folder);
        const std::string text = text_at(path, open);
        return imports_mpi4py(text.empty() ? text_at(path + "/__main__.py", open) : text);
    }
    if (const Import itself = imports_mpi4py("import " + program.module); itself != Import::none) return itself;
    std::string place = program.module;
    std::ranges::replace(place, '.', '/');
    for (const std::string& each : search_folders(folder, python.search_path, folder))
        for (const char* file : {".py", "/__main__.py"})
            if (const std::string text = text_at(each + "/" + place + file, open); !text.empty())
                return imports_mpi4py(text);
    return Import::none;
}

std::string mpi4py_module(const std::string& interpreter, const PythonFiles& python, const std::string& folder,
                          const OpenFile& open, const NameOfLibrary& name_of) {
    const std::string& script = python.program.script;
    const auto installation = installation_of(interpreter, python.home, open);
    auto folders =
        search_folders(script.empty() ? folder : folder_of(path_of(script, folder)), python.search_path, folder);
    folders.insert(folders.end(), installation.modules.begin(), installation.modules.end());
    for (const std::string& each : folders) {
        const auto modules = modules_in(each + "/mpi4py", open);
        if (modules.empty()) continue;
        if (modules.size() == 1) return modules.front();
        const std::string start = each + "/mpi4py/MPI." + abi_of(python, installation.libraries, name_of) + ".";
        const auto chosen =
            std::ranges::find_if(modules, [&](const std::string& module) { return module.starts_with(start); });
        return chosen == modules.end() ? std::string() : *chosen;
    }
    return {};
}

}  // namespace dlaunch::launcher
