#pragma once
// What the CUDA twins share: how they end where there is no GPU.

#include <dlaunch/dlaunch.hpp>

#include <cstdio>

/// main()'s status: `body`'s end, or the one line that says why it could not be done here.
inline int on_gpu(void (*body)()) {
    try {
        body();
        return 0;
    } catch (const dlaunch::Error& error) {
        std::fprintf(stderr, "no result: %s\n", error.what());
        return 1;
    }
}
