#include "worker_lib/src/shm/backend.hpp"

#include <fmt/format.h>

#include "worker_lib/src/bootstrap/cores.hpp"
#include "worker_lib/src/shm/collectives.hpp"
#include "worker_lib/src/shm/messages.hpp"

namespace dlaunch::worker::shm {
namespace {

class ShmBackend final : public Backend {
public:
    ShmBackend(const std::shared_ptr<Segment>& segment, const GroupInfo& group, bool spins)
        : group_(group),
          exchange_(std::make_shared<Exchange>(segment, group, spins)),
          messages_(std::make_shared<Messages>(segment, exchange_, group)) {}
    ~ShmBackend() override { messages_->close(); }

    Exchange& exchange() { return *exchange_; }
    [[nodiscard]] std::string name() const override { return "shm"; }

    void run(const Call& call) override {
        using Algorithm = void (*)(Exchange&, const Call&);
        static constexpr Algorithm kAlgorithms[] = {barrier,    broadcast,      reduce,     all_reduce, gather, scatter,
                                                    all_gather, reduce_scatter, all_to_all, scan,       exscan};
        exchange_->prefetch_own_line();
        exchange_->check_usable();
        try {
            kAlgorithms[static_cast<int>(call.op)](*exchange_, call);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::mismatch) exchange_->fail(error);
            throw;
        }
    }

    std::shared_ptr<WorkState> post(const Transfer& transfer) override { return messages_->post(transfer); }

    void abort(const std::string& why) override { give_up(aborted(group_, why)); }

    void give_up(const Error& why) override {
        exchange_->abort(why);
        messages_->abort(why);
    }

private:
    const GroupInfo group_;
    const std::shared_ptr<Exchange> exchange_;
    const std::shared_ptr<Messages> messages_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const GroupInfo& group, const std::vector<Member>& members,
                                      const StoreHandle& store, Time deadline) {
    std::vector<int> pids;
    for (const Member& member : members) {
        pids.push_back(member.pid);
        if (member.host_id == members.front().host_id) continue;
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("shm: group {} spans hosts {} and {}; use the backend auto or tcp", group.name,
                                members.front().host, member.host),
                    {}, {"new_group", 0, group.name});
    }
    auto backend = std::make_unique<ShmBackend>(Segment::create_or_join(group, store, deadline), group,
                                                have_core_each(members, members.front().host_id));
    backend->exchange().join(pids, store, deadline);
    return backend;
}

}  // namespace dlaunch::worker::shm
