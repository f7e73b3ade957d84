#include "worker_lib/src/mesh/backend.hpp"

#include <fmt/format.h>

#include "worker_lib/src/mesh/messages.hpp"

namespace dlaunch::worker::mesh {
namespace {

class MeshBackend final : public Backend {
public:
    MeshBackend(std::string name, std::unique_ptr<Mesh> mesh)
        : name_(std::move(name)), mesh_(std::move(mesh)), messages_(std::make_shared<Messages>(*mesh_)) {}
    ~MeshBackend() override {
        const GroupInfo& group = mesh_->group();
        messages_->close(
            {ErrorCode::aborted, fmt::format("group {} was destroyed", group.name), {}, {"", 0, group.name}});
    }

    [[nodiscard]] std::string name() const override { return name_; }

    void run(const Call& call) override {
        mesh_->check_usable();
        try {
            run_collective(all_ranks_, call);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::mismatch) throw;
            messages_->close(error);
            mesh_->give_up(error);
            throw;
        }
    }

    std::shared_ptr<WorkState> post(const Transfer& transfer) override {
        try {
            mesh_->check_usable();
        } catch (const Error&) {
            auto ended = std::make_shared<WorkState>();
            ended->finish(std::current_exception());
            return ended;
        }
        return messages_->post(transfer);
    }

    void abort(const std::string& why) override { give_up(aborted(mesh_->group(), why)); }

    void give_up(const Error& why) override {
        mesh_->interrupt(why);
        messages_->close(why);
        mesh_->give_up(why);
    }

    void* native_handle(std::string_view backend) override { return mesh_->native_handle(backend); }

    Runner subset(const std::vector<int>& ranks) override {
        return [this, subset = RankSubset(*mesh_, ranks, kSubsetSlots)](const Call& call) {
            mesh_->check_usable();
            run_collective(subset, call);
        };
    }

private:
    const std::string name_;
    const std::unique_ptr<Mesh> mesh_;
    const RankSubset all_ranks_{*mesh_};
    const std::shared_ptr<Messages> messages_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::string name, std::unique_ptr<Mesh> mesh) {
    return std::make_unique<MeshBackend>(std::move(name), std::move(mesh));
}

}  // namespace dlaunch::worker::mesh
