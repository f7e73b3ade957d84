#include "agent/mpi/pmix_job_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace dlaunch::agent {
namespace {

std::uint32_t unsigned_of(std::size_t number) { return static_cast<std::uint32_t>(number); }
std::uint32_t unsigned_of(int number) { return static_cast<std::uint32_t>(number); }

/// The library's short form of a list, as far as that is text. A binary one has a length that only the library knows;
/// in its place the list itself, marked as such.
std::string encoded(decltype(&PMIx_generate_regex) generate, const std::string& list) {
    char* text = nullptr;
    std::string result = "raw:" + list;
    if (generate(list.c_str(), &text) == PMIX_SUCCESS && text && std::string_view(text).starts_with("pmix"))
        result = text;
    std::free(text);
    return result;
}

int most_appnum(const MpiWorld& world) {
    int most = 0;
    for (const NodeRanks& node : world.nodes)
        for (const RankSpan& span : node.spans) most = std::max(most, span.appnum);
    return most;
}

/// Of each context over all nodes.
std::vector<int> ranks_by_app(const MpiWorld& world) {
    std::vector<int> counts(static_cast<std::size_t>(most_appnum(world)) + 1);
    for (const NodeRanks& node : world.nodes)
        for (const RankSpan& span : node.spans) counts[static_cast<std::size_t>(span.appnum)] += span.count;
    return counts;
}

void add_ranks(const PmixJob& job, std::size_t node, const std::string& name, const std::vector<int>& by_app,
               PmixInfos& to) {
    int local_rank = 0;
    for (const RankSpan& span : job.world.nodes[node].spans) {
        int first_of_app = 0;
        for (int app = 0; app < span.appnum; ++app) first_of_app += by_app[static_cast<std::size_t>(app)];
        for (int rank = span.first; rank < span.first + span.count; ++rank, ++local_rank) {
            PmixInfos one;
            one.add_rank(PMIX_RANK, unsigned_of(rank));
            one.add(PMIX_APPNUM, unsigned_of(span.appnum));
            one.add_rank(PMIX_GLOBAL_RANK, unsigned_of(rank));
            one.add_rank(PMIX_APP_RANK, unsigned_of(rank - first_of_app));
            one.add_short(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(local_rank));
            one.add_short(PMIX_NODE_RANK, static_cast<std::uint16_t>(local_rank));
            one.add(PMIX_HOSTNAME, name);
            one.add(PMIX_NODEID, unsigned_of(node));
            one.add(PMIX_PROCDIR, fmt::format("{}/{}", job.folder, rank));
            to.add(PMIX_PROC_DATA, std::move(one));
        }
    }
}

}  // namespace

PmixInfos job_data(const PmixLibrary& library, const PmixJob& job) {
    const MpiWorld& world = job.world;
    const std::vector<std::string> names = node_names(world);
    const std::vector<int> here = ranks_of(world.nodes[static_cast<std::size_t>(world.here)]);
    const std::vector<int> by_app = ranks_by_app(world);
    PmixInfos data;
    data.add_list(PMIX_NODE_MAP, encoded(library.generate_nodes, fmt::format("{}", fmt::join(names, ","))));
    data.add_list(PMIX_PROC_MAP, encoded(library.generate_ranks, ranks_by_node(world)));
    data.add(PMIX_JOBID, job.space);
    data.add(PMIX_TMPDIR, job.folder);
    data.add(PMIX_NSDIR, job.folder);
    for (const char* key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS}) data.add(key, unsigned_of(world.size()));
    data.add(PMIX_JOB_NUM_APPS, unsigned_of(by_app.size()));
    if (by_app.size() == 1) data.add(PMIX_APP_SIZE, unsigned_of(world.size()));
    data.add(PMIX_NUM_NODES, unsigned_of(names.size()));
    data.add(PMIX_LOCAL_SIZE, unsigned_of(here.size()));
    data.add(PMIX_NODE_SIZE, unsigned_of(here.size()));
    data.add(PMIX_LOCAL_PEERS, fmt::format("{}", fmt::join(here, ",")));
    data.add_rank(PMIX_LOCALLDR, unsigned_of(*std::ranges::min_element(here)));
    for (std::size_t node = 0; node < names.size(); ++node) add_ranks(job, node, names[node], by_app, data);
    return data;
}

}  // namespace dlaunch::agent
