#pragma once

#include <vector>

#include "launcher/start/front_plan.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// For a front end that listens at these places. Reads this program's file for --copy.
[[nodiscard]] base::Result<StarterPlan> make_starter_plan(const FrontPlan& plan,
                                                          const std::vector<store::Listener>& listeners);

}  // namespace dlaunch::launcher
