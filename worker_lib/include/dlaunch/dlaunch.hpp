#pragma once
/// All of the library.

#include <dlaunch/distributed.hpp>
#include <dlaunch/spawn.hpp>
#include <dlaunch/worker.hpp>
