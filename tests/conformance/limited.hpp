#pragma once

#include <sys/resource.h>

namespace dlaunch::conformance {

/// Sets a resource limit of this process for the guard's lifetime.
class Limited {
public:
    Limited(__rlimit_resource_t resource, rlim_t most) : resource_(resource) {
        getrlimit(resource_, &before_);
        const rlimit limit{most, before_.rlim_max};
        setrlimit(resource_, &limit);
    }
    ~Limited() { setrlimit(resource_, &before_); }
    Limited(const Limited&) = delete;
    Limited& operator=(const Limited&) = delete;

private:
    const __rlimit_resource_t resource_;
    rlimit before_{};
};

}  // namespace dlaunch::conformance
