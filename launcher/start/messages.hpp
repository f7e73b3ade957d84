#pragma once
/// Messages between the front end, which starts all nodes, and the agent on each of them (`dlaunch agent`). No I/O.
///
/// The agent connects and sends `hello`. The front end answers with `welcome`, and with `begin` when enough agents are
/// there. From then on the agent sends the output of its node, as far as `taken` allows, and at last `ended`. After
/// `reads` the front end sends `input`, as far as `taken` allows. Both sides send a `beat` every kBeatEvery; a side
/// that receives nothing for kLease gives up the other one. Frames are those of wire::Frames. Strings
/// are `u64 length` and their bytes.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process/front_notice.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::launcher {

inline constexpr std::chrono::milliseconds kBeatEvery{1'000};
inline constexpr std::chrono::milliseconds kLease{10'000};
/// Bytes of a stream, of each node, that may be sent beyond those that `taken` has acknowledged.
inline constexpr std::size_t kOutputCredit = 256 << 10;
inline constexpr std::size_t kInputCredit = 64 << 10;
inline constexpr std::size_t kMostFrame = 64 << 20;  ///< an environment and a command line
inline constexpr std::size_t kMostHello = 4 << 10;   ///< before the front end knows the agent

enum class FrameKind : std::uint8_t {
    hello = 0x60,  ///< agent: Hello
    welcome,       ///< front end: this connection is the node's
    begin,         ///< front end: NodeOrder
    signal,        ///< front end: one byte, the number of a signal for the node's dlaunch
    beat,          ///< both: empty
    taken,         ///< both: Taken
    input,         ///< front end: bytes for the standard input; none: its end
    output,        ///< agent: bytes of the standard output
    errors,        ///< agent: bytes of the standard error
    data,          ///< agent: bytes of the log file that `file` has named
    file,          ///< agent: path of a log file below its run folder, for --collect-logs
    notice,        ///< agent: agent::FrontNotice
    ended,         ///< agent: NodeEnd, the last frame
};

struct NodeHello {
    std::string version;  ///< of dlaunch
    std::string key;      ///< of an open job, from the front end; empty: TLS proves that the agent has the token
    std::string name;     ///< the node's, as the front end knows it
    bool operator==(const NodeHello&) const = default;
};

/// The command line that the agent runs on its node.
struct NodeOrder {
    std::string name;                    ///< the node's
    std::string order_key;               ///< its place in the list of hosts
    std::string folder;                  ///< working directory
    std::vector<std::string> words;      ///< argv of a dlaunch
    std::vector<std::string> variables;  ///< "NAME=VALUE"
    bool keeps_own_variables = false;    ///< `variables` are added to the node's own; else they replace most of these
    std::uint16_t coordinator_port = 0;  ///< at the address by which the agent reached the front end
    bool prints = false;                 ///< this node prints the messages that all nodes have
    bool has_input = false;              ///< `input` frames may follow
    bool relays_output = false;          ///< `output` has the records of agent/logs/live/relay.hpp
    std::uint8_t terminals = 0;          ///< agent::LogPlan::front_terminals
    bool collects_logs = false;          ///< the log files go to the front end before `ended`
    bool operator==(const NodeOrder&) const = default;
};

/// The receiver has passed on bytes of `input`, `output`, `errors` or `data`.
struct Taken {
    FrameKind stream = FrameKind::output;
    std::uint32_t bytes = 0;
    bool operator==(const Taken&) const = default;
};

struct NodeEnd {
    std::int32_t status = 0;
    std::string reason;  ///< if no dlaunch ran on the node, or it was killed; else empty
    bool operator==(const NodeEnd&) const = default;
};

[[nodiscard]] std::string encode(FrameKind kind, std::string_view payload = {});
[[nodiscard]] std::string encode(const NodeHello& hello);
[[nodiscard]] std::string encode(const NodeOrder& order);
[[nodiscard]] std::string encode(const Taken& taken);
[[nodiscard]] std::string encode(const NodeEnd& end);
[[nodiscard]] std::string encode(const agent::FrontNotice& notice);

/// Each is none unless the payload is complete and has no further bytes.
[[nodiscard]] std::optional<NodeHello> decode_hello(std::string_view payload);
[[nodiscard]] std::optional<NodeOrder> decode_order(std::string_view payload);
[[nodiscard]] std::optional<Taken> decode_taken(std::string_view payload);
[[nodiscard]] std::optional<NodeEnd> decode_end(std::string_view payload);
[[nodiscard]] std::optional<agent::FrontNotice> decode_notice(std::string_view payload);

}  // namespace dlaunch::launcher
