#pragma once
/// Workers per device: the words of --nproc-per-node that stand for devices, --virtual-local-rank, and --include.

#include <cstdint>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"
#include "launcher/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Sets the variables of the node's vendor to the devices that a front end has chosen: the workers inherit them.
void choose_devices(const Settings& settings, const Deps& deps, agent::Host& host);

/// The number of devices that the context's workers see, for gpu, xpu, hpu, npu and auto. An error if there is none.
[[nodiscard]] base::Result<std::int64_t> count_devices(const Settings& settings, const agent::Plan& plan,
                                                       const agent::Context& context, const Deps& deps);

/// Whose devices virtual local ranks distribute: the first vendor of the word, or of all, that has a device here; else
/// NVIDIA.
[[nodiscard]] agent::Vendor device_vendor(const Settings& settings, const agent::Plan& plan, const Deps& deps);

/// On a node of a front end: an error if the workers that were counted here exceed the slots of the host.
[[nodiscard]] base::Result<void> check_slots(const std::vector<ContextRequest>& contexts, const agent::Plan& plan);

/// With --virtual-local-rank and without a list of the user: makes the list of Habana's devices that the workers see.
void name_modules(const Deps& deps, agent::Plan& plan);

/// With --virtual-local-rank: an error if a list of devices is too short for the workers.
[[nodiscard]] base::Result<void> check_devices(const Settings& settings, const agent::Plan& plan);

}  // namespace dlaunch::launcher
