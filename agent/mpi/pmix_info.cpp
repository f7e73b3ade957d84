#include "agent/mpi/pmix_info.hpp"

#include <cstring>
#include <utility>

namespace dlaunch::agent {

pmix_value_t& PmixInfos::add_value(const char* key, pmix_data_type_t type) {
    pmix_info_t& info = infos_.emplace_back();
    std::memset(&info, 0, sizeof info);
    std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
    info.value.type = type;
    return info.value;
}

char* PmixInfos::keep(std::string text) { return texts_.emplace_back(std::move(text)).data(); }

void PmixInfos::add(const char* key, std::string value) {
    add_value(key, PMIX_STRING).data.string = keep(std::move(value));
}

void PmixInfos::add(const char* key, std::uint32_t value) { add_value(key, PMIX_UINT32).data.uint32 = value; }

void PmixInfos::add_short(const char* key, std::uint16_t value) { add_value(key, PMIX_UINT16).data.uint16 = value; }

void PmixInfos::add_rank(const char* key, pmix_rank_t value) { add_value(key, PMIX_PROC_RANK).data.rank = value; }

void PmixInfos::add_list(const char* key, std::string value) {
    pmix_value_t& added = add_value(key, PMIX_REGEX);
    added.data.bo.size = value.size() + 1;
    added.data.bo.bytes = keep(std::move(value));
}

void PmixInfos::add(const char* key, PmixInfos value) {
    PmixInfos& kept = nested_.emplace_back(std::move(value));
    pmix_data_array_t& array = arrays_.emplace_back();
    array.type = PMIX_INFO;
    array.size = kept.size();
    array.array = kept.data();
    add_value(key, PMIX_DATA_ARRAY).data.darray = &array;
}

}  // namespace dlaunch::agent
