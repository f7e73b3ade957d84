#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include <dlaunch/error.hpp>
#include "worker_lib/src/core/build_id.hpp"
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

struct Plugin {
    MakeGlooBackend make = nullptr;
    std::string why;  // it cannot be used
};

Plugin load() {
    const std::string path = path_beside_library(kGlooPlugin);
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* why = dlerror();
        return {nullptr, fmt::format("{}; build dlaunch with libgloo-dev", why ? why : path)};
    }
    const auto id = reinterpret_cast<BuildIdOfPlugin>(dlsym(library, kGlooBuildId));
    const auto make = reinterpret_cast<MakeGlooBackend>(dlsym(library, kGlooFunction));
    if (id && make && id() == std::string_view(build_id())) return {make, {}};
    const std::string theirs = id ? id() : "before 0.1.0";
    return {nullptr, fmt::format("{} is of build {}, and libdlaunch of build {}: install both from one build", path,
                                 theirs, build_id())};
}

/// Loads the plug-in on the first call and returns its function; throws Error.
MakeGlooBackend loaded() {
    static const Plugin plugin = load();
    if (!plugin.make) throw Error(ErrorCode::backend, fmt::format("the gloo backend cannot be loaded: {}", plugin.why));
    return plugin.make;
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
