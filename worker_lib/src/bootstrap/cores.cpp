#include "worker_lib/src/bootstrap/cores.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "rendezvous/base/host.hpp"
#include "worker_lib/src/bootstrap/bootstrap.hpp"

namespace dlaunch::worker {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr int kPerDigit = 4;

}  // namespace

std::string usable_core_mask() {
    std::vector<unsigned> groups;
    for (const int core : base::usable_core_numbers()) {
        const auto group = static_cast<std::size_t>(core / kPerDigit);
        groups.resize(std::max(groups.size(), group + 1));
        groups[group] |= 1U << core % kPerDigit;
    }
    std::string mask;
    for (const unsigned group : groups) mask += kDigits[group];
    return mask;
}

bool have_core_each(std::span<const Member> members, const std::string& host_id) {
    std::vector<unsigned> groups;
    int ranks = 0, cores = 0;
    for (const Member& member : members) {
        if (member.host_id != host_id) continue;
        ++ranks;
        groups.resize(std::max(groups.size(), member.cores.size()));
        for (std::size_t i = 0; i < member.cores.size(); ++i)
            if (const std::size_t digit = kDigits.find(member.cores[i]); digit != std::string_view::npos)
                groups[i] |= static_cast<unsigned>(digit);
    }
    for (const unsigned group : groups) cores += std::popcount(group);
    return ranks <= cores;
}

}  // namespace dlaunch::worker
