#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include <dlaunch/error.hpp>
#include "worker_lib/src/gloo/plugin.hpp"

namespace dlaunch::worker {
namespace {

/// Path of a file in the directory of the library that contains this code.
std::string path_beside_library(const char* name) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&make_gloo_backend), &info) == 0 || !info.dli_fname) return name;
    const std::string path = info.dli_fname;
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

/// Loads the plug-in on the first call and returns its function; throws Error.
MakeGlooBackend loaded() {
    static void* const library = dlopen(path_beside_library(kGlooPlugin).c_str(), RTLD_NOW | RTLD_LOCAL);
    static const auto make = library ? reinterpret_cast<MakeGlooBackend>(dlsym(library, kGlooFunction)) : nullptr;
    if (!make) {
        const char* why = dlerror();
        throw Error(ErrorCode::backend,
                    fmt::format("the gloo backend cannot be loaded: {}; build dlaunch with libgloo-dev",
                                why ? why : kGlooPlugin));
    }
    return make;
}

}  // namespace

void load_gloo_backend() { loaded(); }

std::unique_ptr<Backend> make_gloo_backend(const GroupInfo& group, const std::vector<Member>& members,
                                           const StoreHandle& store, Time deadline) {
    std::unique_ptr<Backend> made;
    loaded()(group, members, store, deadline, made);
    return made;
}

}  // namespace dlaunch::worker
