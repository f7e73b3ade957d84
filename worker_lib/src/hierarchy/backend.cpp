#include "worker_lib/src/hierarchy/backend.hpp"

#include <fmt/format.h>

#include <mutex>

#include "worker_lib/src/hierarchy/arrivals.hpp"
#include "worker_lib/src/hierarchy/collectives.hpp"

namespace dlaunch::worker::hierarchy {
namespace {

class HierarchyBackend final : public Backend {
public:
    HierarchyBackend(const Place& place, const std::vector<Member>& members, const StoreHandle& store, Time deadline)
        : place_(place), levels_(place, members, store, deadline), arrivals_(place, store) {}

    [[nodiscard]] std::string name() const override { return "auto"; }

    void run(const Call& call) override {
        check_going();
        if (call.monitored) arrivals_.come(call);
        try {
            run_collective(levels_, call, place_.group);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::mismatch) throw;
            const bool asks = call.monitored && error.code() == ErrorCode::timeout;
            const Error why = asks ? arrivals_.name_all(call, error) : error;
            give_up(why);
            throw why;
        }
    }

    std::shared_ptr<WorkState> post(const Transfer& transfer) override { return levels_.post(transfer); }

    void abort(const std::string& why) override {
        give_up(
            {ErrorCode::aborted, fmt::format("rank {}: {}", place_.rank, why), {place_.rank}, {"", 0, place_.group}});
    }

    void give_up(const Error& why) override {
        {
            const std::lock_guard lock(mutex_);
            if (why_) return;
            why_ = std::make_unique<Error>(why);
        }
        levels_.give_up(why);
    }

private:
    void check_going() {
        const std::lock_guard lock(mutex_);
        if (why_) throw ended_before(*why_, place_.group);
    }

    const Place place_;
    Levels levels_;
    Arrivals arrivals_;
    std::mutex mutex_;
    std::unique_ptr<Error> why_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const Place& place, const std::vector<Member>& members, const StoreHandle& store,
                                      Time deadline) {
    return std::make_unique<HierarchyBackend>(place, members, store, deadline);
}

}  // namespace dlaunch::worker::hierarchy
