#include "worker_lib/src/core/refusal.hpp"

#include <fmt/format.h>

#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker {
namespace {

const std::string kKey = "cannot be made";
constexpr std::chrono::seconds kPatience{2};

}  // namespace

void Refusal::look() const {
    const Time soon = after(kPatience);
    if (store_.check(std::span(&kKey, 1), soon)) throw unpack_error(store_.get(kKey, soon), where_);
}

void Refusal::say(const Error& why) const {
    if (why.code() == ErrorCode::invalid_argument) throw Error(why);  // the others see it, too
    const bool own = why.ranks().empty();
    const Error said{why.code(), own ? fmt::format("rank {}: {}", rank_, why.what()) : why.what(),
                     own ? std::vector<int>{rank_} : why.ranks(), where_};
    std::string first, ours = pack_error(said);
    try {
        first = store_.compare_set(kKey, "", ours, after(kPatience));
    } catch (const Error&) {
        throw said;  // the others wait in vain
    }
    if (first == ours) throw said;
    throw unpack_error(first, where_);
}

}  // namespace dlaunch::worker
