#include "launcher/slurm/cpu_masks.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "launcher/cli/split.hpp"
#include "launcher/cli/values.hpp"

namespace dlaunch::launcher {
namespace {

constexpr int kMostCores = 65'536;
constexpr int kBitsOfDigit = 4;

/// -1: no hexadecimal digit.
int value_of(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(digit)));
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<std::vector<int>> parse_core(std::string_view text) {
    const auto core = whole_number(text, 0, kMostCores - 1);
    return core ? std::optional(std::vector{static_cast<int>(*core)}) : std::nullopt;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_mask(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    if (text.empty() || text.size() > kMostCores / kBitsOfDigit) return std::nullopt;
    std::vector<int> cores;
    for (int digit = 0; digit < static_cast<int>(text.size()); ++digit) {
        const int value = value_of(text[text.size() - 1 - static_cast<std::size_t>(digit)]);
        if (value < 0) return std::nullopt;
        for (int bit = 0; bit < kBitsOfDigit; ++bit)
            if (((value >> bit) & 1) != 0) cores.push_back(digit * kBitsOfDigit + bit);
    }
    return cores;
}

std::vector<int> cores_of_tasks(const agent::Host& host, int tasks) {
    const std::string type = host.variable("SLURM_CPU_BIND_TYPE").value_or("");
    const bool has_masks = type.starts_with("mask_cpu"), has_cores = type.starts_with("map_cpu");
    const std::string list = host.variable("SLURM_CPU_BIND_LIST").value_or("");
    const auto items = split(list, ',');
    if ((!has_masks && !has_cores) || items.size() != static_cast<std::size_t>(tasks)) return {};
    std::set<int> all;
    for (std::string_view item : items) {
        const auto cores = has_masks ? parse_cpu_mask(item) : parse_core(item);
        if (!cores) return {};
        all.insert(cores->begin(), cores->end());
    }
    return {all.begin(), all.end()};
}

}  // namespace dlaunch::launcher
