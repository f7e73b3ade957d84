#include "rendezvous/auth/openssl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::auth {
namespace {

using base::Error;

constexpr const char* kLibrary = "libssl.so.3";

template <class Function>
bool find(void* library, const char* name, Function& to) {
    to = reinterpret_cast<Function>(::dlsym(library, name));
    return to != nullptr;
}

Error missing(const std::string& why) {
    return {
        fmt::format(
            "a token or https needs {}, which this host lacks: install OpenSSL 3 (Debian: libssl3), or start the job "
            "with --no-token: {}",
            kLibrary, why),
        exit_status::kCannotExecute};
}

base::Result<OpenSsl> load_once() {
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library) return missing(::dlerror());
    OpenSsl found;
#define DLAUNCH_FIND(name) \
    if (!find(library, #name, found.name)) return missing("it has no function " #name);
    DLAUNCH_OPENSSL_FUNCTIONS(DLAUNCH_FIND)
#undef DLAUNCH_FIND
    // Without NO_ATEXIT the library would free its tables at exit, while other threads may still use them.
    if (found.OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) != 1)
        return missing("it cannot be initialized");
    return found;
}

}  // namespace

base::Result<const OpenSsl*> OpenSsl::load() {
    static const base::Result<OpenSsl> loaded = load_once();
    if (!loaded) return loaded.error();
    return &*loaded;
}

}  // namespace dlaunch::auth
