#include "agent/mpi/pmix_names.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace dlaunch::agent {
namespace {

using Kind = PmixMessage::Kind;
using Infos = std::span<const pmix_info_t>;

/// A call about several names: one request to the agent for each.
struct Call {
    std::size_t unanswered = 0;
    pmix_status_t status = PMIX_SUCCESS;
    std::vector<std::pair<std::string, std::string>> found;  ///< names and values
};

const pmix_info_t* find(Infos infos, std::string_view key) {
    for (const pmix_info_t& info : infos)
        if (info.key == key) return &info;
    return nullptr;
}

/// Keys of the standard are no names. Their values are no strings; a user's name may begin as they do.
bool is_directive(const pmix_info_t& info) {
    return std::string_view(info.key).starts_with("pmix.") && info.value.type != PMIX_STRING;
}

bool is_set(const pmix_info_t* info) { return info && (info->value.type != PMIX_BOOL || info->value.data.flag); }

bool is_for_one_reader(const pmix_info_t* persistence) {
    return persistence && persistence->value.type == PMIX_PERSIST &&
           persistence->value.data.persist == PMIX_PERSIST_FIRST_READ;
}

/// Removes the digits at the end and `before` in front of them. False: `text` does not end so.
bool take_number(std::string_view& text, char before) {
    const std::size_t end = text.find_last_not_of("0123456789");
    if (end == text.npos || end + 1 == text.size() || text[end] != before) return false;
    text = text.substr(0, end);
    return true;
}

bool is_side_of_port(std::string_view name) { return name.ends_with(":accept") || name.ends_with(":connect"); }

/// Both sides of Open MPI's MPI_Comm_connect wait for PORT:connect and PORT:accept, where MPI_Open_port has made the
/// port from a process and a number: SPACE.RANK:NUMBER. Returns SPACE; empty: no rank can open such a port.
std::string_view space_of_port(std::string_view name) {
    std::string_view port = name.substr(0, name.rfind(':'));
    return take_number(port, ':') && take_number(port, '.') ? port : std::string_view();
}

/// No rank will ever publish this name.
bool is_of_no_port(std::string_view name) { return is_side_of_port(name) && space_of_port(name).empty(); }

/// The value of each side begins with a process of its own: SPACE.RANK:... The other side of a port with another SPACE
/// is in another job, or in none: jobs have no names in common.
bool is_of_other_job(const pmix_info_t& side) {
    const std::string_view name = side.key;
    if (!is_side_of_port(name) || side.value.type != PMIX_STRING || !side.value.data.string) return false;
    const std::string_view value = side.value.data.string, space = space_of_port(name);
    std::string_view process = value.substr(0, value.find(':'));
    return !space.empty() && take_number(process, '.') && process != space;
}

std::vector<std::string> list(char** names) {
    std::vector<std::string> all;
    for (char** name = names; name && *name; ++name) all.emplace_back(*name);
    return all;
}

}  // namespace

/// The rank that has published the value, a blank, and the value in the library's own form. Empty: the library refuses
/// it.
std::string PmixNames::encode(pmix_rank_t by, const pmix_value_t& value) const {
    pmix_data_buffer_t packed{};
    std::string bytes;
    if (library_.pack(nullptr, &packed, const_cast<pmix_value_t*>(&value), 1, PMIX_VALUE) == PMIX_SUCCESS)
        bytes = std::to_string(by) + " " + std::string(packed.base_ptr, packed.bytes_used);
    std::free(packed.base_ptr);
    return bytes;
}

/// Has the type PMIX_UNDEF if the library cannot read the bytes.
pmix_pdata_t PmixNames::decode(const std::string& name, const std::string& bytes) const {
    pmix_pdata_t data{};
    const std::size_t blank = bytes.find(' ');
    data.proc.rank = static_cast<pmix_rank_t>(std::strtoul(bytes.c_str(), nullptr, 10));
    name.copy(data.key, PMIX_MAX_KEYLEN);
    std::string packed = bytes.substr(blank + 1);
    pmix_data_buffer_t buffer{packed.data(), packed.data() + packed.size(), packed.data(), packed.size(),
                              packed.size()};
    std::int32_t count = 1;
    if (library_.unpack(nullptr, &buffer, &data.value, &count, PMIX_VALUE) != PMIX_SUCCESS)
        data.value.type = PMIX_UNDEF;
    return data;
}

void PmixNames::publish(const pmix_proc_t& by, const pmix_info_t* infos, std::size_t count, pmix_op_cbfunc_t call,
                        void* data) {
    const Infos all(infos, count);
    const char* use = is_for_one_reader(find(all, PMIX_PERSISTENCE)) ? "1" : "0";
    std::vector<std::vector<std::string>> questions;
    for (const pmix_info_t& info : all) {
        if (is_directive(info)) continue;
        questions.push_back({std::to_string(by.rank), info.key, encode(by.rank, info.value), use});
        if (questions.back()[2].empty()) return call(PMIX_ERR_NOT_SUPPORTED, data);
    }
    if (questions.empty()) return call(PMIX_ERR_BAD_PARAM, data);
    if (std::ranges::any_of(all, is_of_other_job)) return call(PMIX_ERR_NOT_FOUND, data);
    const auto shared = std::make_shared<Call>(Call{questions.size()});
    for (auto& fields : questions)
        ask_(Kind::publish, std::move(fields), [=](const PmixMessage& reply) {
            if (reply.number(1) == 0) shared->status = PMIX_ERR_DUPLICATE_KEY;
            if (--shared->unanswered == 0) call(shared->status, data);
        });
}

void PmixNames::look_up(const pmix_proc_t& by, char** names, const pmix_info_t* infos, std::size_t count,
                        pmix_lookup_cbfunc_t call, void* data) {
    const Infos all(infos, count);
    const std::vector<std::string> wanted = list(names);
    if (wanted.empty()) return call(PMIX_ERR_BAD_PARAM, nullptr, 0, data);
    const bool waits = is_set(find(all, PMIX_WAIT));
    if (waits && std::ranges::any_of(wanted, is_of_no_port)) return call(PMIX_ERR_NOT_FOUND, nullptr, 0, data);
    const pmix_info_t* limit = find(all, PMIX_TIMEOUT);
    const int seconds = limit && limit->value.type == PMIX_INT ? limit->value.data.integer : 0;
    const auto shared = std::make_shared<Call>(Call{wanted.size()});
    const auto end = [=, this, wished = wanted.size(), space = std::string(by.nspace)] {
        std::vector<pmix_pdata_t> found;
        for (const auto& [name, bytes] : shared->found) {
            found.push_back(decode(name, bytes));
            space.copy(found.back().proc.nspace, PMIX_MAX_NSLEN);
        }
        const pmix_status_t status = found.size() == wished ? PMIX_SUCCESS
                                     : !found.empty()       ? PMIX_ERR_PARTIAL_SUCCESS
                                     : waits                ? PMIX_ERR_TIMEOUT
                                                            : PMIX_ERR_NOT_FOUND;
        call(status, found.data(), found.size(), data);
        if (library_.destruct_value)
            for (pmix_pdata_t& each : found) library_.destruct_value(&each.value);
    };
    for (const std::string& name : wanted)
        ask_(Kind::look_up, {std::to_string(by.rank), name, waits ? "1" : "0", std::to_string(seconds)},
             [=](const PmixMessage& reply) {
                 if (reply.number(1) != 0) shared->found.emplace_back(name, reply.text(2));
                 if (--shared->unanswered == 0) end();
             });
}

/// As other servers do, this one takes an unknown name for one that is gone already.
void PmixNames::unpublish(const pmix_proc_t& by, char** names, pmix_op_cbfunc_t call, void* data) {
    const std::vector<std::string> all = list(names);
    if (all.empty()) return call(PMIX_ERR_NOT_SUPPORTED, data);
    const auto shared = std::make_shared<Call>(Call{all.size()});
    for (const std::string& name : all)
        ask_(Kind::unpublish, {std::to_string(by.rank), name}, [=](const PmixMessage&) {
            if (--shared->unanswered == 0) call(shared->status, data);
        });
}

}  // namespace dlaunch::agent
