#pragma once
/// Ports that PyTorch's tools use where none is given.

namespace dlaunch::base {

inline constexpr int kElasticPort = 29400;  ///< of torchrun's elastic rendezvous
inline constexpr int kStorePort = 29500;    ///< of a TCPStore, and of torchrun's static rendezvous: MASTER_PORT

}  // namespace dlaunch::base
