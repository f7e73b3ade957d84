#include "worker_lib/src/core/setup_failure.hpp"

#include <fmt/format.h>

#include "worker_lib/src/bootstrap/bootstrap.hpp"

namespace dlaunch::worker {
namespace {

const std::string kKey = "cannot be made";
constexpr std::chrono::seconds kStoreTimeout{2};

}  // namespace

void SetupFailure::check() const {
    const Time soon = after(kStoreTimeout);
    if (store_.check(std::span(&kKey, 1), soon)) throw unpack_error(store_.get(kKey, soon), where_);
}

void SetupFailure::publish(const Error& why) const {
    if (why.code() == ErrorCode::invalid_argument) throw Error(why);  // every rank finds the same argument invalid
    const bool own = why.ranks().empty();
    const Error published{why.code(), own ? fmt::format("rank {} cannot join: {}", named_, why.what()) : why.what(),
                          own ? std::vector<int>{rank_} : why.ranks(), where_};
    std::string first, ours = pack_error(published);
    try {
        first = store_.compare_set(kKey, "", ours, after(kStoreTimeout));
    } catch (const Error&) {
        throw published;  // the store is gone; the other ranks time out
    }
    if (first == ours) throw published;
    throw unpack_error(first, where_);
}

}  // namespace dlaunch::worker
