#pragma once
/// Includes all public headers.

#include <dlaunch/mistakes.hpp>  // first: compile errors show a short chain of headers

#include <dlaunch/backends.hpp>
#include <dlaunch/device.hpp>
#include <dlaunch/distributed.hpp>
#include <dlaunch/spawn.hpp>
#include <dlaunch/worker.hpp>
