#pragma once
// Shared by the cuda_* programs: error handling, in particular without a GPU.

#include <dlaunch/dlaunch.hpp>

#include <cstdio>

/// Runs `body` and returns main()'s exit status; prints an Error as one line.
inline int on_gpu(void (*body)()) {
    try {
        body();
        return 0;
    } catch (const dlaunch::Error& error) {
        std::fprintf(stderr, "no result: %s\n", error.what());
        return 1;
    }
}
