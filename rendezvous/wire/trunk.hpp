#pragma once
/// The frames of a trunk: one connection that carries the conversations of a node's workers with the round's store,
/// each in a channel of its own. The node's relay opens it, behind kGreeting. No I/O.
///
///     hello   key                 the first frame: the round whose store the relay wants
///     data    u32 channel, bytes  requests in the newest numbering to the store, replies back; the first opens it
///     close   u32 channel         by either side; the relay answers the store's close with one of its own
///     credit  u32 channel, u32 n  the relay has room for n further bytes of replies
///     join    u32 channel         one worker more waits for the channel's pending WAIT
///     leave   u32 channel         one less
///
/// The store sends at most kWindow bytes of a channel ahead of its credits, so that a worker that does not read delays
/// no other worker of its node. Requests need no credit: a relay bounds those whose replies it awaits. The store
/// executes the requests of all channels in the order of their frames.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::wire {

using Channel = std::uint32_t;

/// Answers to a WAIT that an item of a queue has woken, instead of kStopWaiting: for one of its workers only. After
/// kItemCame its other workers wait on; after kLastItemCame the WAIT is over.
inline constexpr std::uint8_t kItemCame = 2, kLastItemCame = 3;

inline constexpr std::size_t kWindow = 256 << 10;
inline constexpr std::size_t kMostPiece = 32 << 10;  ///< of a channel's bytes in one frame

struct TrunkFrame {
    enum class Kind : std::uint8_t { hello = 0x70, data, close, credit, join, leave };
    Kind kind = Kind::hello;
    Channel channel = 0;
    std::string_view bytes;  ///< data; the key of a hello
    std::uint32_t credit = 0;
};

/// Whether a frame's number is one of a trunk's.
[[nodiscard]] bool is_of_trunk(std::uint8_t number);
/// None: no frame of a trunk.
[[nodiscard]] std::optional<TrunkFrame> decode_trunk(std::uint8_t number, std::string_view payload);

/// Identifies a round's store. Numbers of rounds are never used twice in a job, so a relay of an earlier round reaches
/// no later store at the same port.
[[nodiscard]] std::string trunk_key(std::string_view version, std::string_view job_id, int round);

void put_hello(std::string& out, std::string_view key);
/// In as many frames as the bytes need.
void put_data(std::string& out, Channel channel, std::string_view bytes);
/// The head of one frame with `size` bytes, at most kMostPiece, which must follow.
void put_data_head(std::string& out, Channel channel, std::size_t size);
void put_close(std::string& out, Channel channel);
void put_join(std::string& out, Channel channel);
void put_leave(std::string& out, Channel channel);
void put_credit(std::string& out, Channel channel, std::uint32_t bytes);

}  // namespace dlaunch::wire
