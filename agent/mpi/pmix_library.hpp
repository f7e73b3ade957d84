#pragma once
/// libpmix, loaded when a job wants it: dlaunch itself does not need it.

#include <pmix.h>
#include <pmix_server.h>

#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// Functions of the library, which stays loaded.
struct PmixLibrary {
    decltype(&PMIx_server_init) init = nullptr;
    decltype(&PMIx_server_register_nspace) register_space = nullptr;
    decltype(&PMIx_server_register_client) register_client = nullptr;
    decltype(&PMIx_server_setup_fork) setup_fork = nullptr;
    decltype(&PMIx_server_dmodex_request) request_data = nullptr;
    decltype(&PMIx_generate_regex) generate_nodes = nullptr;
    decltype(&PMIx_generate_ppn) generate_ranks = nullptr;
    decltype(&PMIx_Data_pack) pack = nullptr;
    decltype(&PMIx_Data_unpack) unpack = nullptr;
    decltype(&PMIx_Value_destruct) destruct_value = nullptr;  ///< since PMIx 4.2
    decltype(&PMIx_Error_string) error_text = nullptr;

    /// Searches as the dynamic linker does. The error names the library.
    [[nodiscard]] static base::Result<PmixLibrary> load();
};

}  // namespace dlaunch::agent
