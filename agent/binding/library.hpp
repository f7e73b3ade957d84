#pragma once
/// An optional shared library, loaded at run time.

#include <dlfcn.h>

#include <string>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::agent {

class Library {
public:
    explicit Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (handle_) return;
        const char* why = ::dlerror();
        error_ = why ? why : "cannot be loaded";
    }
    ~Library() {
        if (handle_) ::dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    explicit operator bool() const { return error_.empty(); }

    /// The loader's error; empty if the library is usable.
    [[nodiscard]] const std::string& error() const { return error_; }

    /// Sets `function` to the symbol; a missing one makes the library unusable.
    template <class Function>
    void load(Function*& function, const char* symbol) {
        if (!handle_) return;
        function = reinterpret_cast<Function*>(::dlsym(handle_, symbol));
        if (!function && error_.empty()) error_ = std::string("has no function ") + symbol;
    }

private:
    base::SignalsBlocked for_threads_of_the_library_;
    void* handle_;
    std::string error_;
};

}  // namespace dlaunch::agent
