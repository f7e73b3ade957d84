#include "rendezvous/base/host.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace dlaunch::base {

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

int usable_cores() { return std::max(1, static_cast<int>(usable_core_numbers().size())); }

std::vector<int> usable_core_numbers() {
    std::vector<int> numbers;
    for (int processors = 1024; processors <= 1 << 20; processors *= 4) {  // until the kernel's mask fits
        cpu_set_t* set = CPU_ALLOC(processors);
        const std::size_t size = CPU_ALLOC_SIZE(processors);
        const bool known = sched_getaffinity(0, size, set) == 0;
        const bool too_small = !known && errno == EINVAL;
        for (int number = 0; known && number < processors; ++number)
            if (CPU_ISSET_S(number, size, set)) numbers.push_back(number);
        CPU_FREE(set);
        if (!too_small) break;
    }
    return numbers;
}

std::vector<std::pair<std::string, std::string>> environment() {
    std::vector<std::pair<std::string, std::string>> variables;
    for (char** at = environ; at && *at; ++at) {
        const std::string_view entry(*at);
        const std::size_t equals = entry.find('=');
        if (equals != std::string_view::npos) variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return variables;
}

}  // namespace dlaunch::base
