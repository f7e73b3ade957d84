#pragma once
/// Published names of PMIx (PMIx_Publish, PMIx_Lookup, PMIx_Unpublish): the arguments of the library's callbacks, as
/// questions to the agent, which keeps the names (published_names.hpp). All ranges are the job.

#include <pmix_server.h>

#include <functional>
#include <string>
#include <vector>

#include "agent/mpi/pmix_library.hpp"
#include "agent/mpi/pmix_message.hpp"

namespace dlaunch::agent {

/// Of one server. The functions are called from the library's thread, replies come in another. The result of each call
/// goes to `call`, errors included: a client would wait for ever for one that is returned (seen with PMIx 4.2).
class PmixNames {
public:
    /// Sends a request to the agent: its kind, its fields but the number, and the handler of the reply.
    using Ask = std::function<void(PmixMessage::Kind, std::vector<std::string> fields,
                                   std::function<void(const PmixMessage& reply)>)>;

    /// The library must outlive this object.
    PmixNames(const PmixLibrary& library, Ask ask) : library_(library), ask_(std::move(ask)) {}

    void publish(const pmix_proc_t& by, const pmix_info_t* infos, std::size_t count, pmix_op_cbfunc_t call, void* data);
    /// `names` ends with a null pointer; so below.
    void look_up(const pmix_proc_t& by, char** names, const pmix_info_t* infos, std::size_t count,
                 pmix_lookup_cbfunc_t call, void* data);
    void unpublish(const pmix_proc_t& by, char** names, pmix_op_cbfunc_t call, void* data);

private:
    [[nodiscard]] std::string encode(pmix_rank_t by, const pmix_value_t& value) const;
    [[nodiscard]] pmix_pdata_t decode(const std::string& name, const std::string& bytes) const;

    const PmixLibrary& library_;
    const Ask ask_;
};

}  // namespace dlaunch::agent
