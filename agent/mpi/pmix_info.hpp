#pragma once
/// Arrays of pmix_info_t with the memory of their values.

#include <pmix_common.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace dlaunch::agent {

/// The library copies what it is given; the arrays have to live until its call is complete.
class PmixInfos {
public:
    void add(const char* key, std::string value);
    void add(const char* key, std::uint32_t value);
    void add_short(const char* key, std::uint16_t value);
    void add_rank(const char* key, pmix_rank_t value);
    /// A list of nodes or ranks, as the library has encoded it.
    void add_list(const char* key, std::string value);
    void add(const char* key, PmixInfos value);

    [[nodiscard]] pmix_info_t* data() { return infos_.data(); }
    [[nodiscard]] std::size_t size() const { return infos_.size(); }

private:
    pmix_value_t& add_value(const char* key, pmix_data_type_t type);
    char* keep(std::string text);

    std::vector<pmix_info_t> infos_;
    std::deque<std::string> texts_;
    std::deque<PmixInfos> nested_;
    std::deque<pmix_data_array_t> arrays_;
};

}  // namespace dlaunch::agent
