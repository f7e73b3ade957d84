#pragma once
/// Requests to etcd's JSON gateway (API v3), and its replies. Pure: text in, text out. In this JSON numbers of 64 bits
/// are strings, keys and values are in base64, and a field that has its default is missing.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::rendezvous::etcd {

struct KeyValue {
    std::string key, value;
    std::int64_t create_revision = 0;  ///< of the store, when the key was made; never used twice
    std::int64_t mod_revision = 0;     ///< likewise, when the value was put
    std::int64_t lease = 0;            ///< 0: the key stays
    bool operator==(const KeyValue&) const = default;
};

/// A condition of a transaction. Of a key that is missing, both revisions are 0.
struct Compare {
    enum class What : std::uint8_t { create_revision, mod_revision, value } what;
    std::string key;
    std::int64_t revision = 0;
    std::string value;
};
struct Put {
    std::string key, value;
    std::int64_t lease = 0;
};

/// Puts and deletes all, if all compares hold; else nothing.
struct Transaction {
    std::vector<Compare> compares;
    std::vector<Put> puts;
    std::vector<std::string> deletes;
};

/// All keys that begin with `prefix`.
[[nodiscard]] std::string range_request(std::string_view prefix);
[[nodiscard]] base::Result<std::vector<KeyValue>> range_reply(std::string_view body);

[[nodiscard]] std::string transaction_request(const Transaction& transaction);
/// Whether the compares held.
[[nodiscard]] base::Result<bool> transaction_reply(std::string_view body);

/// A new lease of so many seconds.
[[nodiscard]] std::string grant_request(std::int64_t seconds);
[[nodiscard]] base::Result<std::int64_t> grant_reply(std::string_view body);

/// For a revocation as well as to keep a lease alive.
[[nodiscard]] std::string lease_request(std::int64_t lease);
/// The lease's new seconds; 0: it has ended.
[[nodiscard]] base::Result<std::int64_t> keep_alive_reply(std::string_view body);

[[nodiscard]] std::string authenticate_request(std::string_view name, std::string_view password);
/// The token for later requests.
[[nodiscard]] base::Result<std::string> authenticate_reply(std::string_view body);

/// A reply with another HTTP status than 200.
struct Refusal {
    int code = -1;     ///< gRPC's; -1: unknown
    std::string text;  ///< etcd's, as "etcdserver: authentication failed, invalid user ID or password"
    /// The token of the request has expired, or the request had none.
    [[nodiscard]] bool wants_authentication() const;
};
[[nodiscard]] Refusal refusal_of(int http_status, std::string_view body);

}  // namespace dlaunch::rendezvous::etcd
