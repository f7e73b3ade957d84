#include "agent/process/proc.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "rendezvous/base/files.hpp"

namespace dlaunch::agent {

std::optional<ProcessStat> stat_of(pid_t pid) {
    const std::string text = base::text_of("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = text.rfind(')');  // the name may contain parentheses
    ProcessStat stat;
    if (name_end == std::string::npos ||
        std::sscanf(text.c_str() + name_end, ") %c %d", &stat.state, &stat.parent) != 2)
        return std::nullopt;
    constexpr int kBetween = 20;  // from the end of the name to the start, field 22
    std::size_t at = name_end;
    for (int field = 0; field < kBetween && at != std::string::npos; ++field) at = text.find(' ', at + 1);
    if (at != std::string::npos)
        stat.started =
            std::chrono::milliseconds(std::strtoll(text.c_str() + at, nullptr, 10) * 1000 / sysconf(_SC_CLK_TCK));
    return stat;
}

std::chrono::milliseconds since_boot() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::milliseconds(now.tv_nsec / 1'000'000);
}

std::string name_of(pid_t pid) {
    std::string name = base::text_of("/proc/" + std::to_string(pid) + "/comm");
    if (name.ends_with('\n')) name.pop_back();
    return name;
}

std::uint64_t handled_signals_of(pid_t pid) {
    const std::string text = base::text_of("/proc/" + std::to_string(pid) + "/status");
    const std::size_t at = text.find("SigCgt:");
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 7, nullptr, 16);
}

bool proc_is_ours() {
    std::array<char, 16> shown;
    const ssize_t length = readlink("/proc/self", shown.data(), shown.size());
    return length > 0 && std::string_view(shown.data(), static_cast<std::size_t>(length)) == std::to_string(getpid());
}

}  // namespace dlaunch::agent
