#include <mutex>
#include <optional>

#include "worker_lib/src/nccl/backend.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// Combines a backend for host memory with an nccl backend that the first collective on device memory creates.
class WithDeviceMemory final : public Backend {
public:
    WithDeviceMemory(std::unique_ptr<Backend> host, const GroupParts& parts) : host_(std::move(host)), parts_(parts) {}

    [[nodiscard]] std::string name() const override { return host_->name(); }
    [[nodiscard]] Support supports(Feature feature, Device device) const override {
        return device == Device::cpu ? host_->supports(feature, device) : dlaunch::supports("auto", feature, device);
    }

    void run(const Call& call) override { (call.device == Device::cpu ? *host_ : connected(call)).run(call); }
    std::shared_ptr<WorkState> enqueue(const Call& call) override {
        return call.device == Device::cpu ? nullptr : connected(call).enqueue(call);
    }

    std::shared_ptr<WorkState> post(const Transfer& transfer) override { return post(std::span(&transfer, 1)).front(); }
    std::vector<std::shared_ptr<WorkState>> post(std::span<const Transfer> transfers) override {
        std::vector<std::shared_ptr<WorkState>> states(transfers.size());
        std::vector<Transfer> on_device;
        for (const Transfer& one : transfers)
            if (one.device != Device::cpu) on_device.push_back(one);
        // First: it may refuse its memory, and then nothing is to be sent.
        if (!on_device.empty()) {
            auto theirs = device_for_messages().post(on_device);
            for (std::size_t i = 0, next = 0; i < transfers.size(); ++i)
                if (transfers[i].device != Device::cpu) states[i] = std::move(theirs[next++]);
        }
        for (std::size_t i = 0; i < transfers.size(); ++i)
            if (transfers[i].device == Device::cpu) states[i] = host_->post(transfers[i]);
        return states;
    }

    void* native_handle(std::string_view backend) override {
        if (backend != "nccl") return host_->native_handle(backend);
        const std::lock_guard lock(mutex_);
        return device_ ? device_->native_handle(backend) : nullptr;
    }

    void abort(const std::string& why) override { give_up(aborted(parts_.info(), why)); }
    void give_up(const Error& why) override {
        host_->give_up(why);
        const std::lock_guard lock(mutex_);
        if (!why_) why_ = why;
        if (device_) device_->give_up(why);
    }

private:
    /// Creates the nccl backend in the first collective on device memory, which all ranks call. The ranks compare it on
    /// the host first: a rank with host memory in this call would never come to connect.
    Backend& connected(const Call& call) {
        {
            const std::lock_guard lock(mutex_);
            if (device_) return *device_;
        }
        Call announcement;
        announcement.announced = &call;
        announcement.deadline = call.deadline;
        announcement.sequence = call.sequence;
        host_->run(announcement);
        // Without the lock: connecting may take long and abort() must not wait for it. Collectives never overlap.
        auto made = nccl::make_backend(parts_, call.deadline.at());
        const std::lock_guard lock(mutex_);
        device_ = std::move(made);
        if (why_) device_->give_up(*why_);
        return *device_;
    }
    Backend& device_for_messages() {
        const std::lock_guard lock(mutex_);
        if (!device_)
            throw Error(ErrorCode::invalid_argument,
                        "send and recv in group " + parts_.name +
                            ": under auto the first call with device memory must "
                            "be a collective, in which all ranks connect; or use the backend nccl",
                        {}, {"", 0, parts_.name});
        return *device_;
    }

    const std::unique_ptr<Backend> host_;
    const GroupParts parts_;
    std::mutex mutex_;
    std::optional<Error> why_;
    std::unique_ptr<Backend> device_;
};

}  // namespace

std::unique_ptr<Backend> with_device_memory(std::unique_ptr<Backend> host, const GroupParts& parts) {
    return std::make_unique<WithDeviceMemory>(std::move(host), parts);
}

}  // namespace dlaunch::worker::nccl
