#include "launcher/mpi/mpi4py.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "launcher/cli/split.hpp"
#include "launcher/mpi/file_paths.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kMostScript = std::size_t{1} << 20;

std::string text_at(const std::string& path, const OpenFile& open) {
    const base::UniqueFd file = open(path);
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
    const auto text = base::read_all(file.get(), kMostScript);
    return text ? *text : std::string();
}

/// Folders of an installation with its version, "python3.11", in the order of their search.
void add_folders(const std::string& prefix, const std::string& version, std::vector<std::string>& to) {
    for (const char* place : {"{0}/local/lib/{1}/dist-packages", "{0}/lib64/{1}/site-packages",
                              "{0}/lib/{1}/site-packages", "{0}/lib/{1}/dist-packages"})
        to.push_back(fmt::format(fmt::runtime(place), prefix, version));
    to.push_back(prefix + "/lib/python3/dist-packages");
}

/// A virtual environment's folders; those of the user and of its base only where it says so.
void add_all_folders(const std::string& interpreter, const PythonFiles& python, const OpenFile& open,
                     std::vector<std::string>& to) {
    const std::string real = true_path_of(open(interpreter).get());
    const std::string version = real.substr(real.rfind('/') + 1);
    if (!version.starts_with("python3.")) return;
    const std::string prefix = folder_of(folder_of(interpreter));
    const std::string about = text_at(prefix + "/pyvenv.cfg", open);
    const bool is_alone = !about.empty() && about.find("include-system-site-packages = true") == std::string::npos;
    if (!about.empty()) add_folders(prefix, version, to);
    if (is_alone) return;
    if (!python.home.empty()) to.push_back(fmt::format("{}/.local/lib/{}/site-packages", python.home, version));
    if (about.empty()) add_folders(prefix, version, to);
    add_folders(folder_of(folder_of(real)), version, to);
}

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
                          const OpenFile& open) {
    const std::string& script = python.program.script;
    auto folders =
        search_folders(script.empty() ? folder : folder_of(path_of(script, folder)), python.search_path, folder);
    add_all_folders(interpreter, python, open, folders);
    for (const std::string& each : folders) {
        const auto modules = modules_in(each + "/mpi4py", open);
        if (!modules.empty()) return modules.size() == 1 ? modules.front() : std::string();
    }
    return {};
}

}  // namespace dlaunch::launcher
