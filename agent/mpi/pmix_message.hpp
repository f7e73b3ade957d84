#pragma once
/// Messages between the agent and its PMIx server, a process of its own (pmix_server.hpp): both are of one build, on
/// one machine.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

struct PmixMessage {
    /// With the fields in their order.
    enum class Kind : unsigned char {
        // From the agent:
        job,         ///< the round: see PmixJob
        fence_done,  ///< number of the fence, the bytes of all nodes
        wanted,      ///< another node asks for data of ranks: send `data` for each rank of this node
        found,       ///< number of the question, the bytes
        named,       ///< number of the publish, look_up or unpublish, "1": it is done, the name's value
        // From the server:
        failed,     ///< a line of text: no rank can be served
        variables,  ///< local rank, then NAME=value for each variable of the rank
        ready,      ///< all variables were sent; the folder for shared memory, or nothing
        connected,  ///< local rank: MPI_Init
        finalized,  ///< local rank: MPI_Finalize
        aborted,    ///< local rank, code
        spawns,     ///< local rank: it called MPI_Comm_spawn, which was refused
        fence,      ///< number, name, group ranks of the nodes, ascending and separated by commas, this node's bytes
        data,       ///< rank, bytes: what the rank has published
        question,   ///< number, rank of another node whose data a rank of this node wants
        publish,    ///< number, rank, name, value, "1": for one reader
        look_up,    ///< number, rank, name, "1": wait until it is published, at most so many seconds (0: no limit)
        unpublish,  ///< number, rank, name
    } kind = Kind::job;
    std::vector<std::string> fields;

    /// A field as a number, 0 if it is none; an absent field is empty.
    [[nodiscard]] int number(std::size_t at) const;
    [[nodiscard]] const std::string& text(std::size_t at) const;

    bool operator==(const PmixMessage&) const = default;
};

[[nodiscard]] std::string encode(const PmixMessage& message);

/// Takes bytes as they arrive. Not a check of hostile input: a damaged message ends the stream.
class PmixMessages {
public:
    void add(std::string_view bytes) { bytes_ += bytes; }
    /// The next complete message.
    [[nodiscard]] std::optional<PmixMessage> next();

private:
    std::string bytes_;
    std::size_t at_ = 0;  ///< bytes before it are handled
};

}  // namespace dlaunch::agent
