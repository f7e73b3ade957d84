#define DLAUNCH_KERNELS baseline
#include "worker_lib/src/reduce/kernel_source.hpp"
