#pragma once
/// The wire protocol of PyTorch's TCPStore: encodes and decodes requests. No I/O.
///
/// A request is one byte, its number, and then the fields of that message back to back, without a frame. Integers are
/// little-endian; a string is `u64 length` and its bytes; a list is `u64 count` and its strings. Replies carry no type:
/// the request determines it.
///
/// Two numberings exist. The newest opens with VALIDATE, `00 CE F7 85 3C`; torch 1.13's has no handshake. The first
/// message distinguishes them: a SET of 1.13 also begins with 00, but the magic as its length would be over a gigabyte.
/// Numbers from 0x40 up are dlaunch's extensions: `u8 number, u32 length` and as many bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::wire {

/// Numbered as in the newest protocol.
enum class StoreOperation : std::uint8_t {
    validate,
    set,
    compare_set,
    get,
    add,
    check,
    wait,
    num_keys,
    delete_key,
    append,
    multi_get,
    multi_set,
    cancel_wait,
    ping,
    queue_push,
    queue_pop,
    queue_len,
    list_keys,
    barrier,
    extension = 0x40,  ///< and every number above it
};

enum class Numbering : std::uint8_t { newest, torch_1_13 };

inline constexpr std::uint32_t kMagic = 0x3C85F7CE;
inline constexpr std::uint8_t kReady = 0, kNotReady = 1;            ///< replies to CHECK
inline constexpr std::uint8_t kStopWaiting = 0, kWaitCanceled = 1;  ///< replies to WAIT, BARRIER and to CANCEL_WAIT

inline constexpr std::size_t kMaxKeyBytes = 8 << 10;
inline constexpr std::size_t kMaxValueBytes = 8 << 20;  ///< also of an extension's payload
inline constexpr std::size_t kMaxKeys = 128 << 10;      ///< in one message
/// A request is executed when its last byte has arrived; its bytes are held until then. The longest single request is a
/// COMPARE_SET of two of the largest values; longer lists must be sent in parts.
inline constexpr std::size_t kMaxMessageBytes = 2 * kMaxValueBytes + kMaxKeyBytes + 25;

/// One request. The message determines which members are set; other members are empty. The views own nothing.
struct Request {
    StoreOperation operation = StoreOperation::ping;
    std::uint8_t number = 0;   ///< of an extension
    std::string_view key;      ///< where the message has one
    std::string_view value;    ///< SET, APPEND, QUEUE_PUSH; the expected value of COMPARE_SET; an extension's payload
    std::string_view desired;  ///< COMPARE_SET
    std::int64_t integer = 0;  ///< ADD: delta; BARRIER: world size; PING: nonce, 32 bits of it
    std::span<const std::string_view> words;  ///< CHECK, WAIT, MULTI_GET: keys; MULTI_SET: key, value, key, value...
};

/// Splits the bytes of one client into requests. Bytes may arrive in any pieces; the decoder keeps those of an
/// incomplete request and reads none twice, so the cost is linear. It allocates for bytes that arrived, never for a
/// claimed length, and refuses a field over its limit as soon as the length is known.
///
///     decoder.feed(bytes);
///     while (decoder.next(request) == Decoder::Outcome::request) serve(request);
///     decoder.keep();                        // `bytes` may go now
class Decoder {
public:
    enum class Outcome : std::uint8_t {
        request,
        more,     ///< no complete request is left
        refused,  ///< not the protocol, or over a limit: close this connection; there is no next request
    };

    /// The accepted numbers; a request with another number is refused before its fields are read.
    enum class Takes : std::uint8_t {
        requests,    ///< of the store
        extensions,  ///< from 0x40 up, behind the newest handshake
        both,
        frames,  ///< extensions without a handshake, as the coordinator sends them to a member
    };

    explicit Decoder(Takes takes = Takes::requests, std::size_t message_limit = kMaxMessageBytes)
        : takes_(takes), message_limit_(message_limit) {
        if (takes == Takes::frames) numbering_ = Numbering::newest;
    }
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    /// Adds bytes. They must stay where they are until keep().
    void feed(std::string_view bytes);
    /// The views in `request` are valid until the next call of any member.
    [[nodiscard]] Outcome next(Request& request);
    /// Copies the bytes that next() has not used, so that the caller may reuse those given to feed().
    void keep();
    /// Sets the longest payload of an extension from now on.
    void limit_payload(std::size_t bytes) { payload_limit_ = bytes; }

    /// Bytes fed that no request has used so far.
    [[nodiscard]] std::size_t pending() const { return view_.size() - start_; }
    /// The client's numbering; none until the first message shows it.
    [[nodiscard]] std::optional<Numbering> numbering() const { return numbering_; }

private:
    enum class Field : std::uint8_t { none, key, value, integer, nonce, keys, pairs, payload };
    using Layout = std::array<Field, 3>;
    struct Piece {  // relative to the message's first byte
        std::uint32_t offset, size;
    };
    static Layout layout_of(StoreOperation operation);
    friend void encode(const Request&, std::string&, Numbering);

    Outcome greet();
    Outcome begin();
    Outcome step(Field field);
    Outcome step_list(bool pairs);
    Outcome take(std::size_t prefix_bytes, std::size_t limit);
    Outcome take_fixed(std::size_t size);
    void fill(Request& request);
    [[nodiscard]] std::string_view text(Piece piece) const { return view_.substr(start_ + piece.offset, piece.size); }
    [[nodiscard]] std::uint64_t integer_at(std::size_t offset, std::size_t size) const;
    [[nodiscard]] std::size_t rest() const { return view_.size() - at_; }

    const Takes takes_;
    const std::size_t message_limit_;
    std::size_t payload_limit_ = kMaxValueBytes;
    std::optional<Numbering> numbering_;
    std::string held_;                         // bytes of earlier feeds that are still in use
    std::string_view view_;                    // all bytes there are: in held_, or the caller's
    std::size_t start_ = 0, at_ = 0;           // first byte of the current message, next byte to read
    std::optional<StoreOperation> operation_;  // the current one
    std::uint8_t number_ = 0;
    std::size_t field_ = 0;                // which of its fields comes next
    std::optional<std::size_t> left_;      // strings still missing of the current list
    std::vector<Piece> pieces_;            // the fields so far
    std::vector<std::string_view> words_;  // of the latest request
};

/// Appends the request's bytes. 1.13's numbering has no numbers for the newer messages; the caller must not send them.
void encode(const Request& request, std::string& out, Numbering numbering = Numbering::newest);

/// The first five bytes of a client of the newest protocol, and of a member: VALIDATE.
inline constexpr std::string_view kGreeting{"\x00\xCE\xF7\x85\x3C", 5};

/// Integers are little-endian on the wire.
void put_u32(std::string& out, std::uint32_t number);
void put_u64(std::string& out, std::uint64_t number);
/// `u64 length` and the bytes.
void put_vector(std::string& out, std::string_view bytes);
/// Decodes the first 8 bytes of `bytes`, which must be at least as long.
[[nodiscard]] std::uint64_t get_u64(std::string_view bytes);

}  // namespace dlaunch::wire
