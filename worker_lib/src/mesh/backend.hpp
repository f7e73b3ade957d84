#pragma once

#include "worker_lib/src/mesh/mesh.hpp"

namespace dlaunch::worker::mesh {

/// The backend `name` over a connected mesh.
[[nodiscard]] std::unique_ptr<Backend> make_backend(std::string name, std::unique_ptr<Mesh> mesh);

}  // namespace dlaunch::worker::mesh
