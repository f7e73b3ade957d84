#include "worker_lib/src/hierarchy/backend.hpp"

#include <fmt/format.h>

#include <mutex>

#include "worker_lib/src/hierarchy/arrivals.hpp"
#include "worker_lib/src/hierarchy/collectives.hpp"

namespace dlaunch::worker::hierarchy {
namespace {

class HierarchyBackend final : public Backend {
public:
    HierarchyBackend(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store,
                     Time deadline)
        : group_(group), levels_(group, members, store, deadline), arrivals_(group, store) {}

    [[nodiscard]] std::string name() const override { return "auto"; }

    void run(const Call& call) override {
        check_usable();
        if (call.monitored) arrivals_.record(call);
        try {
            run_collective(levels_, call, group_);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::mismatch) throw;
            const bool asks = call.monitored && error.code() == ErrorCode::timeout;
            const Error why = asks ? arrivals_.name_missing(call, error) : error;
            give_up(why);
            throw why;
        }
    }

    std::shared_ptr<WorkState> post(const Transfer& transfer) override { return levels_.post(transfer); }

    void* native_handle(std::string_view backend) override { return levels_.native_handle(backend); }

    void abort(const std::string& why) override { give_up(aborted(group_, why)); }

    void give_up(const Error& why) override {
        {
            const std::lock_guard lock(mutex_);
            if (why_) return;
            why_ = std::make_unique<Error>(why);
        }
        levels_.give_up(why);
    }

private:
    void check_usable() {
        const std::lock_guard lock(mutex_);
        if (why_) throw ended_before(*why_, group_.name);
    }

    const GroupInfo group_;
    Levels levels_;
    Arrivals arrivals_;
    std::mutex mutex_;
    std::unique_ptr<Error> why_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const GroupInfo& group, const std::vector<Member>& members,
                                      const StoreHandle& store, Time deadline) {
    return std::make_unique<HierarchyBackend>(group, members, store, deadline);
}

}  // namespace dlaunch::worker::hierarchy
