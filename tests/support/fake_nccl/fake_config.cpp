/// The configurations of communicators.

#include <cstring>
#include <mutex>
#include <string>

#include "tests/support/fake_nccl/communicator.hpp"

namespace fake {
namespace {

std::mutex mutex;
Config last;  // of this process's communicators, as NCCL sees it
std::string last_net_name;

}  // namespace

bool is_proper(const Config* config) {
    if (!config || config->size > sizeof(Config) || config->magic != 0xCAFEBEEF || config->blocking != 0) return false;
    Config seen;
    std::memcpy(static_cast<void*>(&seen), config, config->size);
    if (seen.version < 21700) {
        seen.cga_cluster_size = seen.min_ctas = seen.max_ctas = Config::kUnset;
        seen.net_name = nullptr;
    }
    if (seen.version < 22500) seen.traffic_class = Config::kUnset;
    const std::lock_guard lock(mutex);
    last = seen;
    last_net_name = seen.net_name ? seen.net_name : "-";
    return seen.max_ctas == Config::kUnset || seen.max_ctas > 0;
}

/// "version size cga min max net share class" of the last communicator; "-" for a field that is unset.
extern "C" const char* fake_last_config() {
    static std::string text;
    const std::lock_guard lock(mutex);
    const auto show = [](int field) { return " " + (field == Config::kUnset ? "-" : std::to_string(field)); };
    text = std::to_string(last.version) + " " + std::to_string(last.size) + show(last.cga_cluster_size) +
           show(last.min_ctas) + show(last.max_ctas) + " " + last_net_name + show(last.split_share) +
           show(last.traffic_class);
    return text.c_str();
}

}  // namespace fake
