#pragma once
// Kernels for the GPU without CUDA's compiler and headers: PTX text, which CUDA's driver compiles for the GPU in use.

#include <dlaunch/dlaunch.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <string>

/// A function of CUDA's driver; throws dlaunch::Error if the driver has none.
template <class Function>
Function* of_cuda(const char* name) {
    const char* const given = std::getenv("DLAUNCH_CUDA_LIBRARY");
    const char* const path = given ? given : "libcuda.so.1";
    void* const library = dlopen(path, RTLD_NOW);
    void* const found = library ? dlsym(library, name) : nullptr;
    if (!found)
        throw dlaunch::Error(dlaunch::ErrorCode::backend, std::string("cuda: ") + path + " has no function " + name);
    return reinterpret_cast<Function*>(found);
}

/// An entry of a module, loaded into the worker's GPU.
class Kernel {
public:
    Kernel(const char* ptx, const char* entry) {
        dlaunch::use_device();
        void* module = nullptr;
        check(of_cuda<int(void**, const void*)>("cuModuleLoadData")(&module, ptx), "compile the kernel");
        check(of_cuda<int(void**, void*, const char*)>("cuModuleGetFunction")(&function_, module, entry),
              "find the kernel");
    }

    /// Runs it on at least columns x rows threads, in the order of the stream. `arguments`: their addresses.
    void launch(unsigned columns, unsigned rows, void* stream, void** arguments) const {
        constexpr unsigned kAcross = 32, kDown = 8;
        check(launch_(function_, (columns + kAcross - 1) / kAcross, (rows + kDown - 1) / kDown, 1, kAcross, kDown, 1, 0,
                      stream, arguments, nullptr),
              "launch the kernel");
    }

private:
    using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                       void**);

    static void check(int result, const char* what) {
        if (result != 0)
            throw dlaunch::Error(dlaunch::ErrorCode::backend,
                                 std::string("cuda: cannot ") + what + ": CUDA error " + std::to_string(result));
    }

    void* function_ = nullptr;
    Launch* launch_ = of_cuda<Launch>("cuLaunchKernel");
};
