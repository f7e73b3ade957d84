/// What the backends can do is the worker library's to say. It is loaded for this command alone: the launcher needs
/// nothing of it, and starts faster without.

#include "launcher/backends_command.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::launcher {
namespace {

constexpr const char* kHelp =
    R"(Usage: dlaunch backends

Prints what each backend of libdlaunch, the library for C++ workers, can do, for buffers in the host's
memory and in a GPU's, and whether this machine has what it needs.

Exit status: 0 printed; 1 libdlaunch is not where it should be; 2 wrong usage
More: man libdlaunch
)";

int complain(const std::string& text, int status) {
    const std::string line = fmt::format("dlaunch: backends: {}\n", text);
    [[maybe_unused]] const auto ignored = write(STDERR_FILENO, line.data(), line.size());
    return status;
}

/// The library of this version: as it lies in a build folder, as it is installed, or where the loader finds it.
void* load_library() {
    std::string self(4096, '\0');
    const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
    self.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    const std::string folder = self.substr(0, self.rfind('/') + 1);
    for (const std::string& path : {folder + "../lib/", folder + "../" DLAUNCH_LIBDIR "/", std::string()})
        if (void* library = dlopen((path + DLAUNCH_LIBRARY).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    return nullptr;
}

}  // namespace

int run_backends(const std::vector<std::string>& arguments) {
    if (!arguments.empty() && (arguments[0] == "-h" || arguments[0] == "--help"))
        return std::fputs(kHelp, stdout) < 0 || std::fflush(stdout) != 0;
    if (!arguments.empty())
        return complain(fmt::format("{}, expected nothing more", arguments[0]), exit_status::kUsage);
    void* library = load_library();
    using Print = int (*)();
    const auto print = library ? reinterpret_cast<Print>(dlsym(library, "dlaunch_print_backends")) : nullptr;
    if (!print) {
        const char* why = dlerror();
        return complain(fmt::format("{}; install libdlaunch beside dlaunch", why ? why : DLAUNCH_LIBRARY), 1);
    }
    return print();
}

}  // namespace dlaunch::launcher
