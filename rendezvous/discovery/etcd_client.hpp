#pragma once
/// A client of an etcd cluster. Blocks, up to a second for each member that does not answer: for background threads. An
/// error's text names the member, as "etcd node1:2379: Connection refused", and never a password.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/discovery/etcd_wire.hpp"
#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/net/http.hpp"

namespace dlaunch::rendezvous {

/// Calls may overlap; they are carried out one after the other. A request whose reply is lost may have been carried out
/// all the same, once or twice: transactions must be such that the second one fails.
class EtcdClient {
public:
    explicit EtcdClient(EtcdPlace at) : at_(std::move(at)) {}

    /// Reads the files for https. An error in them is the user's; a later call would return it, too.
    [[nodiscard]] base::Result<void> prepare();
    [[nodiscard]] base::Result<std::vector<etcd::KeyValue>> keys_of(const std::string& prefix);
    /// Whether the compares held.
    [[nodiscard]] base::Result<bool> commit(const etcd::Transaction& transaction);
    [[nodiscard]] base::Result<std::int64_t> grant(std::int64_t seconds);
    /// False: the lease has ended.
    [[nodiscard]] base::Result<bool> keep_alive(std::int64_t lease);
    /// Ends the lease and deletes its keys, if etcd answers; else it ends by itself.
    void revoke(std::int64_t lease);

private:
    [[nodiscard]] base::Result<std::string> call(const char* path, const std::string& body);
    [[nodiscard]] base::Result<std::string> call_member(HttpClient& member, const char* path, const std::string& body);
    [[nodiscard]] base::Result<void> authenticate(HttpClient& member, Time deadline);
    [[nodiscard]] base::Result<void> connect();

    const EtcdPlace at_;
    std::mutex mutex_;
    std::vector<HttpClient> members_;  ///< empty: connect() has not succeeded yet
    std::size_t next_ = 0;             ///< the member that has answered last
    std::string token_;                ///< of the user's session; empty: none yet
};

}  // namespace dlaunch::rendezvous
