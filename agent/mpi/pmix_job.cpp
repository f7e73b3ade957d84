#include "agent/mpi/pmix_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace dlaunch::agent {

PmixMessage to_message(const PmixJob& job) {
    PmixMessage message{PmixMessage::Kind::job, {job.space, job.folder, job.memory, std::to_string(job.world.here)}};
    for (const NodeRanks& node : job.world.nodes) message.fields.push_back(encode(node));
    return message;
}

PmixJob to_job(const PmixMessage& message) {
    constexpr std::size_t kBeforeNodes = 4;
    PmixJob job{message.text(0), message.text(1), message.text(2), {message.number(3), {}}};
    for (std::size_t at = kBeforeNodes; at < message.fields.size(); ++at)
        job.world.nodes.push_back(decode(message.fields[at]).value_or(NodeRanks{}));
    return job;
}

std::vector<std::string> node_names(const MpiWorld& world) {
    std::map<std::string, int> agents;
    for (const NodeRanks& node : world.nodes) ++agents[node.host];
    std::vector<std::string> names;
    for (const NodeRanks& node : world.nodes)
        names.push_back(agents[node.host] == 1 ? node.host : fmt::format("{}-{}", node.host, names.size()));
    return names;
}

std::string ranks_by_node(const MpiWorld& world) {
    std::vector<std::string> lists;
    for (const NodeRanks& node : world.nodes) lists.push_back(fmt::format("{}", fmt::join(ranks_of(node), ",")));
    return fmt::format("{}", fmt::join(lists, ";"));
}

std::vector<int> ranks_of(const NodeRanks& node) {
    std::vector<int> ranks;
    for (const RankSpan& span : node.spans)
        for (int rank = span.first; rank < span.first + span.count; ++rank) ranks.push_back(rank);
    return ranks;
}

}  // namespace dlaunch::agent
