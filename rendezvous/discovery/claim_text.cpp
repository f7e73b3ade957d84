#include "rendezvous/discovery/claim_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "rendezvous/base/random.hpp"
#include "rendezvous/discovery/claim.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::size_t kLongestName = 100;
constexpr std::int64_t kEpochsStart_ms = 1'704'067'200'000;  // 2024-01-01, 0:00 UTC

}  // namespace

std::string claim_text(const Endpoint& place, const std::string& host_name, std::uint64_t epoch) {
    return fmt::format("{}\nhost {}\npid {}\nclaim {:016x}\nepoch {}\n", place.text(), host_name, getpid(),
                       base::random_number(), epoch);
}

Endpoint place_in(std::string_view claim) {
    const auto place = parse_endpoints(claim.substr(0, claim.find('\n')), 0);
    return place && place->places.size() == 1 ? place->places.front() : Endpoint{};
}

std::uint64_t epoch_in(std::string_view claim) {
    constexpr std::string_view kLine = "\nepoch ";
    const std::size_t at = claim.find(kLine);
    std::uint64_t epoch = 0;
    if (at != std::string_view::npos)
        std::from_chars(claim.data() + at + kLine.size(), claim.data() + claim.size(), epoch);
    return epoch;
}

std::uint64_t epoch_after(std::uint64_t seen, std::int64_t now_ms) {
    const auto since_start = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms - kEpochsStart_ms, 0));
    return epoch_of_claim(std::max(claim_of_epoch(seen) + 1, since_start));
}

std::string file_name_of_job(const std::string& job_id) {
    std::string name;
    std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
    for (const char c : job_id) {
        const auto byte = static_cast<unsigned char>(c);
        hash = (hash ^ byte) * 1'099'511'628'211U;
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        name += plain ? std::string(1, c) : fmt::format("-{:02x}", byte);
    }
    if (name.size() <= kLongestName) return name;
    return fmt::format("{}-{:016x}", name.substr(0, kLongestName), hash);
}

}  // namespace dlaunch::rendezvous
