#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/host_list.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// Hosts that come and go: --host-discovery-script. Decides which to start, to start again and to end. A host that
/// failed, or whose agent was lost, is started again after a pause that doubles. No I/O, no clock.
class DiscoveredHosts {
public:
    /// The script runs every second: the ends of the first pauses are not at the time of a run, so that the tries
    /// follow after one run, two, three, six, ...
    static constexpr std::chrono::milliseconds kFirstPause{700}, kMostPause{60'000};

    struct Change {
        enum class Kind : unsigned char {
            add,    ///< a new host, with the next index: `host`
            again,  ///< start the host `index` again
            leave,  ///< the host `index` is not listed any more
        };
        Kind kind = Kind::add;
        int index = -1;
        HostEntry host{};
        bool operator==(const Change&) const = default;
    };

    /// The hosts that are present now.
    [[nodiscard]] std::vector<Change> listed(const std::vector<HostEntry>& hosts, base::Time now);
    /// The start of a host failed, or what ran there has ended.
    void ended(int index, base::Time now);

private:
    struct Known {
        std::string name;
        bool is_listed = true, runs = true;
        std::chrono::milliseconds pause = kFirstPause;
        base::Time again_at{};
    };
    std::vector<Known> known_;
};

}  // namespace dlaunch::launcher
