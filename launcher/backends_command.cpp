/// The worker library describes its backends. Only this command loads it: the launcher starts faster without.

#include "launcher/backends_command.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "launcher/print_error.hpp"

namespace dlaunch::launcher {
namespace {

constexpr const char* kHelp =
    R"(Usage: dlaunch backends

Prints the operations of each backend of libdlaunch, the library for C++ workers, for buffers in
host and GPU memory, and whether this machine supports the backend.

Exit status: 0 printed; 1 libdlaunch was not found; 2 wrong usage
More: man libdlaunch
)";

/// Loads the library of this version: from a build folder, from its installed place, or by the loader's search.
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
    if (!arguments.empty()) return print_error({fmt::format("backends: {}, expected nothing more", arguments[0])});
    void* library = load_library();
    using Print = int (*)();
    const auto print = library ? reinterpret_cast<Print>(dlsym(library, "dlaunch_print_backends")) : nullptr;
    if (!print) {
        const char* why = dlerror();
        return print_error(
            {fmt::format("backends: {}; install libdlaunch beside dlaunch", why ? why : DLAUNCH_LIBRARY), 1});
    }
    return print();
}

}  // namespace dlaunch::launcher
