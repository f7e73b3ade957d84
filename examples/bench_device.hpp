#pragma once
/// The buffers of collective_bench in the memory of a GPU.

#include <dlaunch/device.hpp>

#include "examples/bench_pattern.hpp"

#include <algorithm>
#include <vector>

/// Copies of a Pattern's buffers; fetch() copies the results back into the Pattern.
class OnDevice {
public:
    explicit OnDevice(Pattern& pattern)
        : pattern_(pattern), in_(pattern.in_bytes(), stream_.handle()), out_(pattern.out_bytes(), stream_.handle()) {}
    [[nodiscard]] dlaunch::ConstBuffer in() const {
        const dlaunch::ConstBuffer host = pattern_.in();
        return {in_.span().data, host.count, host.type, dlaunch::Device::cuda, stream_.handle()};
    }
    [[nodiscard]] dlaunch::MutableBuffer out() {
        const dlaunch::MutableBuffer host = pattern_.out();
        return {out_.span().data, host.count, host.type, dlaunch::Device::cuda, stream_.handle()};
    }
    void synchronize() const { stream_.synchronize(); }
    void fetch() const { std::ranges::copy(out_.to_host(), pattern_.out_bytes().begin()); }

private:
    Pattern& pattern_;
    dlaunch::DeviceStream stream_;
    dlaunch::DeviceBuffer<std::byte> in_, out_;
};
