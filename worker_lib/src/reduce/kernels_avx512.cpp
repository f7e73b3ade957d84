#define DLAUNCH_KERNELS avx512
#include "worker_lib/src/reduce/kernel_source.hpp"
