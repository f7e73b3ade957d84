#include "worker_lib/src/reduce/kernels.hpp"

namespace dlaunch::worker {
namespace baseline {
extern const KernelTable kTable;
}
#ifdef DLAUNCH_X86_KERNELS
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
#endif

const KernelTable& kernels() {
#ifdef DLAUNCH_X86_KERNELS
    static const KernelTable& chosen = __builtin_cpu_supports("avx512bw") ? avx512::kTable
                                       : __builtin_cpu_supports("avx2")   ? avx2::kTable
                                                                          : baseline::kTable;
    return chosen;
#else
    return baseline::kTable;
#endif
}

}  // namespace dlaunch::worker
