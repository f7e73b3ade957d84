#include "agent/mpi/pmix_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "agent/mpi/pmix_server.hpp"

namespace dlaunch::agent {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& to) {
    to = reinterpret_cast<Function>(::dlsym(library, name));
    return to != nullptr;
}

}  // namespace

base::Result<PmixLibrary> PmixLibrary::load() {
    void* library = ::dlopen(kPmixLibrary, RTLD_NOW | RTLD_GLOBAL);  // global: its plug-ins use its symbols
    if (!library)
        return base::Error{
            fmt::format("PMIx cannot be loaded: {}; a program that does without MPI needs --mpi=none", ::dlerror())};
    PmixLibrary found;
    const bool complete =
        find(library, "PMIx_server_init", found.init) &&
        find(library, "PMIx_server_register_nspace", found.register_space) &&
        find(library, "PMIx_server_register_client", found.register_client) &&
        find(library, "PMIx_server_setup_fork", found.setup_fork) &&
        find(library, "PMIx_server_dmodex_request", found.request_data) &&
        find(library, "PMIx_generate_regex", found.generate_nodes) &&
        find(library, "PMIx_generate_ppn", found.generate_ranks) && find(library, "PMIx_Data_pack", found.pack) &&
        find(library, "PMIx_Data_unpack", found.unpack) && find(library, "PMIx_Error_string", found.error_text);
    if (!complete) return base::Error{fmt::format("{} has no functions for servers: {}", kPmixLibrary, ::dlerror())};
    find(library, "PMIx_Value_destruct", found.destruct_value);
    return found;
}

}  // namespace dlaunch::agent
