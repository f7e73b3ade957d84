#pragma once
/// The gloo backend is a plug-in beside libdlaunch, so that Gloo and its dependencies are loaded on first use only.

#include <memory>

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker {

/// The plug-in's functions. Plug-in and library are of one build, see build_id.hpp, hence may exchange C++ types.
using BuildIdOfPlugin = const char* (*)();
using MakeGlooBackend = void (*)(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store,
                                 Time deadline, std::unique_ptr<Backend>& made);
inline constexpr const char* kGlooPlugin = "libdlaunch-gloo.so";
inline constexpr const char* kGlooBuildId = "dlaunch_gloo_build_id";
inline constexpr const char* kGlooFunction = "dlaunch_make_gloo_backend";

/// Loads the plug-in unless it is loaded already; throws Error, also for a plug-in of another build.
void load_gloo_backend();
[[nodiscard]] std::unique_ptr<Backend> make_gloo_backend(const GroupInfo& group, const std::vector<Member>& members,
                                                         const StoreHandle& store, Time deadline);

}  // namespace dlaunch::worker
