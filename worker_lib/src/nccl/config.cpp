#include "worker_lib/src/nccl/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include <dlaunch/error.hpp>

namespace dlaunch::worker::nccl {

Config config_of(const NcclOptions& options, int loaded) {
    Config config;
    const auto set = [&](auto& field, const auto& value, const char* name, unsigned since) {
        if (loaded < static_cast<int>(since))
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format("the option {} needs NCCL {}, and {} is loaded: leave it unset, or load a newer one", name,
                            version_text(static_cast<int>(since)), version_text(loaded)));
        field = value;
        config.version = std::max(config.version, since);
        config.size = config.version < 21800 ? offsetof(Config, split_share) : sizeof(Config);
    };
    if (options.min_ctas) set(config.min_ctas, *options.min_ctas, "min_ctas", 21700);
    if (options.max_ctas) set(config.max_ctas, *options.max_ctas, "max_ctas", 21700);
    if (options.cga_cluster_size) set(config.cga_cluster_size, *options.cga_cluster_size, "cga_cluster_size", 21700);
    if (!options.net_name.empty()) set(config.net_name, options.net_name.c_str(), "net_name", 21700);
    if (options.split_share) set(config.split_share, *options.split_share ? 1 : 0, "split_share", 21800);
    if (options.traffic_class) set(config.traffic_class, *options.traffic_class, "traffic_class", 22500);
    return config;
}

}  // namespace dlaunch::worker::nccl
