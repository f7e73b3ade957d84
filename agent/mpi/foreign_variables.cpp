#include "agent/mpi/foreign_variables.hpp"

#include <algorithm>
#include <array>

namespace dlaunch::agent {
namespace {

constexpr std::array<std::string_view, 10> kPrefixes{
    "PMI_",           "PMI2_",         "PMIX_", "PRTE_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE",
    "OMPI_MCA_orte_", "OMPI_MCA_ess_", "HYDI_"};
/// Names in full: mpirun of Open MPI sets them for each rank.
constexpr std::array<std::string_view, 7> kOfRanks{
    "OMPI_COMMAND",           "OMPI_ARGV",          "OMPI_NUM_APP_CTX",     "OMPI_FIRST_RANKS",
    "OMPI_APP_CTX_NUM_PROCS", "OMPI_FILE_LOCATION", "OMPI_MCA_initial_wdir"};
constexpr std::array<std::string_view, 2> kOfUsers{"PMIX_MCA_", "PRTE_MCA_"};

bool begins_with_any(std::string_view name, const auto& prefixes) {
    return std::ranges::any_of(prefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

bool is_of_other_starter(std::string_view name) {
    if (std::ranges::find(kOfRanks, name) != kOfRanks.end()) return true;
    return begins_with_any(name, kPrefixes) && !begins_with_any(name, kOfUsers);
}

}  // namespace dlaunch::agent
