#include <fmt/format.h>

#include "worker_lib/src/gloo/messages.hpp"
#include "worker_lib/src/gloo/plugin.hpp"

namespace dlaunch::worker::gloo_backend {
namespace {

class GlooBackend final : public Backend {
public:
    GlooBackend(const Place& place, const std::vector<Member>& members, const StoreHandle& store, Time deadline)
        : place_(place), mesh_(place, members, store, deadline), messages_(std::make_shared<Messages>(mesh_)) {}
    ~GlooBackend() override {
        messages_->close(
            {ErrorCode::aborted, fmt::format("group {} was destroyed", place_.group), {}, {"", 0, place_.group}});
    }

    [[nodiscard]] std::string name() const override { return "gloo"; }

    void run(const Call& call) override {
        mesh_.check_going();
        try {
            run_collective(everybody_, call);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::mismatch) throw;
            messages_->close(error);
            mesh_.give_up(error);
            throw;
        }
    }

    std::shared_ptr<WorkState> post(const Transfer& transfer) override {
        try {
            mesh_.check_going();
        } catch (const Error&) {
            auto ended = std::make_shared<WorkState>();
            ended->finish(std::current_exception());
            return ended;
        }
        return messages_->post(transfer);
    }

    void abort(const std::string& why) override {
        give_up(
            {ErrorCode::aborted, fmt::format("rank {}: {}", place_.rank, why), {place_.rank}, {"", 0, place_.group}});
    }

    void give_up(const Error& why) override {
        mesh_.interrupt(why);
        messages_->close(why);
        mesh_.give_up(why);
    }

    Runner subset(const std::vector<int>& ranks) override {
        return [this, part = Part(mesh_, ranks, kSubsetSlots)](const Call& call) {
            mesh_.check_going();
            run_collective(part, call);
        };
    }

private:
    const Place place_;
    Mesh mesh_;
    const Part everybody_{mesh_};
    const std::shared_ptr<Messages> messages_;
};

}  // namespace
}  // namespace dlaunch::worker::gloo_backend

extern "C" __attribute__((visibility("default"))) void dlaunch_make_gloo_backend(
    const dlaunch::worker::Place& place, const std::vector<dlaunch::worker::Member>& members,
    const dlaunch::worker::StoreHandle& store, dlaunch::worker::Time deadline,
    std::unique_ptr<dlaunch::worker::Backend>& made) {
    made = std::make_unique<dlaunch::worker::gloo_backend::GlooBackend>(place, members, store, deadline);
}
