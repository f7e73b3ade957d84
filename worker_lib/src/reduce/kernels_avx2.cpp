#define DLAUNCH_KERNELS avx2
#include "worker_lib/src/reduce/kernel_source.hpp"
