#include "launcher/mpi/python_installation.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "launcher/mpi/file_paths.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kMostScript = std::size_t{1} << 20;

/// `version`: "python3.11".
void add(const std::string& prefix, const std::string& version, PythonInstallation& to) {
    for (const char* place : {"{0}/local/lib/{1}/dist-packages", "{0}/lib64/{1}/site-packages",
                              "{0}/lib/{1}/site-packages", "{0}/lib/{1}/dist-packages"})
        to.modules.push_back(fmt::format(fmt::runtime(place), prefix, version));
    to.modules.push_back(prefix + "/lib/python3/dist-packages");
    if (prefix != "/usr") to.libraries.push_back(prefix + "/lib");
}

}  // namespace

PythonInstallation installation_of(const std::string& interpreter, const std::string& home, const OpenFile& open) {
    PythonInstallation found;
    const std::string real = true_path_of(open(interpreter).get());
    const std::string version = real.substr(real.rfind('/') + 1);
    if (!version.starts_with("python3.")) return found;
    const std::string prefix = folder_of(folder_of(interpreter));
    const std::string about = text_at(prefix + "/pyvenv.cfg", open);
    const bool is_environment = !about.empty();
    if (is_environment) add(prefix, version, found);
    if (is_environment && about.find("include-system-site-packages = true") == std::string::npos) return found;
    if (!home.empty()) {
        found.modules.push_back(fmt::format("{}/.local/lib/{}/site-packages", home, version));
        found.libraries.push_back(home + "/.local/lib");
    }
    if (!is_environment) add(prefix, version, found);
    add(folder_of(folder_of(real)), version, found);
    return found;
}

std::string text_at(const std::string& path, const OpenFile& open) {
    const base::UniqueFd file = open(path);
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
    const auto text = base::read_all(file.get(), kMostScript);
    return text ? *text : std::string();
}

}  // namespace dlaunch::launcher
