// A SLURM node list: any text is at most 65536 names of at most 255 bytes, or an error.

#include <cstdint>
#include <cstdlib>

#include "launcher/slurm.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto names = dlaunch::launcher::expand_node_list({reinterpret_cast<const char*>(data), size});
    if (!names) return 0;
    if (names->empty() || names->size() > 65'536) std::abort();
    for (const std::string& name : *names)
        if (name.empty() || name.size() > 255) std::abort();
    return 0;
}
