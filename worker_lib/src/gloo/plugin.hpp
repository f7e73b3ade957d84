#pragma once
/// Gloo and what it needs are loaded when somebody asks for them: the backend is a library of its own, beside
/// libdlaunch.

#include <memory>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker {

/// The plug-in's one function. Both sides are built from one source, so C++ types may pass.
using MakeGlooBackend = void (*)(const Place& place, const std::vector<Member>& members, const StoreHandle& store,
                                 Time deadline, std::unique_ptr<Backend>& made);
inline constexpr const char* kGlooPlugin = "libdlaunch-gloo.so";
inline constexpr const char* kGlooFunction = "dlaunch_make_gloo_backend";

/// Loads the plug-in if need be; throws Error.
void load_gloo_backend();
[[nodiscard]] std::unique_ptr<Backend> make_gloo_backend(const Place& place, const std::vector<Member>& members,
                                                         const StoreHandle& store, Time deadline);

}  // namespace dlaunch::worker
