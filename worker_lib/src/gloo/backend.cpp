#include <fmt/format.h>

#include "worker_lib/src/core/build_id.hpp"
#include "worker_lib/src/gloo/messages.hpp"
#include "worker_lib/src/gloo/plugin.hpp"

namespace dlaunch::worker::gloo_backend {
namespace {

class GlooBackend final : public Backend {
public:
    GlooBackend(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store, Time deadline)
        : group_(group), mesh_(group, members, store, deadline), messages_(std::make_shared<Messages>(mesh_)) {}
    ~GlooBackend() override {
        messages_->close(
            {ErrorCode::aborted, fmt::format("group {} was destroyed", group_.name), {}, {"", 0, group_.name}});
    }

    [[nodiscard]] std::string name() const override { return "gloo"; }

    void run(const Call& call) override {
        mesh_.check_usable();
        try {
            run_collective(all_ranks_, call);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::mismatch) throw;
            messages_->close(error);
            mesh_.give_up(error);
            throw;
        }
    }

    std::shared_ptr<WorkState> post(const Transfer& transfer) override {
        try {
            mesh_.check_usable();
        } catch (const Error&) {
            auto ended = std::make_shared<WorkState>();
            ended->finish(std::current_exception());
            return ended;
        }
        return messages_->post(transfer);
    }

    void abort(const std::string& why) override { give_up(aborted(group_, why)); }

    void give_up(const Error& why) override {
        mesh_.interrupt(why);
        messages_->close(why);
        mesh_.give_up(why);
    }

    void* native_handle(std::string_view backend) override { return backend == "gloo" ? mesh_.context() : nullptr; }

    Runner subset(const std::vector<int>& ranks) override {
        return [this, subset = RankSubset(mesh_, ranks, kSubsetSlots)](const Call& call) {
            mesh_.check_usable();
            run_collective(subset, call);
        };
    }

private:
    const GroupInfo group_;
    Mesh mesh_;
    const RankSubset all_ranks_{mesh_};
    const std::shared_ptr<Messages> messages_;
};

}  // namespace
}  // namespace dlaunch::worker::gloo_backend

extern "C" __attribute__((visibility("default"))) const char* dlaunch_gloo_build_id() {
    return dlaunch::worker::build_id();
}

extern "C" __attribute__((visibility("default"))) void dlaunch_make_gloo_backend(
    const dlaunch::worker::GroupInfo& group, const std::vector<dlaunch::worker::Member>& members,
    const dlaunch::worker::StoreHandle& store, dlaunch::worker::Time deadline,
    std::unique_ptr<dlaunch::worker::Backend>& made) {
    made = std::make_unique<dlaunch::worker::gloo_backend::GlooBackend>(group, members, store, deadline);
}
