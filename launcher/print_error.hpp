#pragma once

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Writes "dlaunch: " and the error's text to stderr, without a buffer. Returns its status.
int print_error(const base::Error& error);

}  // namespace dlaunch::launcher
