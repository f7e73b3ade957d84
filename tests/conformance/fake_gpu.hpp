#pragma once
/// Calls of the fake CUDA driver by the tests of the nccl backend, as programs call the real one.

#include <dlfcn.h>

#include <vector>

#include <dlaunch/device.hpp>
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {

/// Calls a function of the fake; returns CUDA's result.
template <class... Args>
int call_fake(const char* name, Args... args) {
    void* const library = dlopen(DLAUNCH_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
    check(library != nullptr, "the fake is loaded");
    const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    check(function != nullptr, name);
    const int result = function(args...);
    dlclose(library);
    return result;
}

/// One float in device memory, on a stream of its own.
struct OneFloat {
    explicit OneFloat(float value = 1) : buffer(std::vector<float>{value}, stream.handle()) {}
    [[nodiscard]] float value() const { return buffer.to_host()[0]; }
    DeviceStream stream;
    DeviceBuffer<float> buffer;
};

}  // namespace dlaunch::conformance
