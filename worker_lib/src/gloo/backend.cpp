#include "worker_lib/src/mesh/backend.hpp"
#include "worker_lib/src/core/build_id.hpp"
#include "worker_lib/src/gloo/gloo_mesh.hpp"
#include "worker_lib/src/gloo/plugin.hpp"

extern "C" __attribute__((visibility("default"))) const char* dlaunch_gloo_build_id() {
    return dlaunch::worker::build_id();
}

extern "C" __attribute__((visibility("default"))) void dlaunch_make_gloo_backend(
    const dlaunch::worker::GroupInfo& group, const std::vector<dlaunch::worker::Member>& members,
    const dlaunch::worker::StoreHandle& store, dlaunch::worker::Time deadline,
    std::unique_ptr<dlaunch::worker::Backend>& made) {
    using namespace dlaunch::worker;
    made = mesh::make_backend("gloo", std::make_unique<gloo_backend::GlooMesh>(group, members, store, deadline));
}
