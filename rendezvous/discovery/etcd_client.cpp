#include "rendezvous/discovery/etcd_client.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "rendezvous/auth/tls_context.hpp"

namespace dlaunch::rendezvous {
namespace {

using base::Error;
using base::Result;

/// A frozen member does not answer; the next member must be tried before a lease ends.
constexpr auto kAnswersIn = Milliseconds(1'000);
constexpr int kOk = 200;

Error of_member(const HttpClient& member, const Error& error) { return error.within("etcd " + member.server().text()); }

}  // namespace

Result<void> EtcdClient::connect() {
    if (!members_.empty()) return {};
    auth::TlsContextPtr tls;
    if (at_.https) {
        auto context = auth::TlsContext::of(auth::HttpsFiles{at_.authorities, at_.certificate, at_.key});
        if (!context) return context.error().within("--rdzv-conf");
        tls = std::move(*context);
    }
    for (const Endpoint& member : at_.members) members_.emplace_back(member, tls);
    return {};
}

Result<void> EtcdClient::authenticate(HttpClient& member, Time deadline) {
    const std::size_t colon = at_.user.find(':');
    const std::string name = at_.user.substr(0, colon);
    const std::string password = colon == std::string::npos ? "" : at_.user.substr(colon + 1);
    auto reply = member.post("/v3/auth/authenticate", etcd::authenticate_request(name, password), {}, deadline);
    if (!reply) return reply.error();
    if (reply->status != kOk) return Error{etcd::refusal_of(reply->status, reply->body).text};
    auto token = etcd::authenticate_reply(reply->body);
    if (!token) return token.error();
    token_ = std::move(*token);
    return {};
}

/// A session ends after some minutes, and with the member that keeps it: then the user authenticates again.
Result<std::string> EtcdClient::call_member(HttpClient& member, const char* path, const std::string& body) {
    const Time deadline = std::chrono::steady_clock::now() + kAnswersIn;
    for (bool again = false;; again = true) {
        if (!at_.user.empty() && token_.empty())
            if (auto known = authenticate(member, deadline); !known) return known.error();
        auto reply = member.post(path, body, token_, deadline);
        if (!reply) return reply.error();
        if (reply->status == kOk) return base::text_result(std::move(reply->body));
        const auto refusal = etcd::refusal_of(reply->status, reply->body);
        token_.clear();
        if (again || at_.user.empty() || !refusal.wants_authentication()) return Error{refusal.text};
    }
}

Result<void> EtcdClient::prepare() {
    const std::lock_guard lock(mutex_);
    return connect();
}

/// Tries the members in turn, beginning with the member that has answered last. The error is the first member's.
Result<std::string> EtcdClient::call(const char* path, const std::string& body) {
    const std::lock_guard lock(mutex_);
    if (auto done = connect(); !done) return done.error();
    std::optional<Error> first;
    for (std::size_t tried = 0; tried < members_.size(); ++tried) {
        HttpClient& member = members_[next_];
        auto reply = call_member(member, path, body);
        if (reply) return reply;
        if (!first) first = of_member(member, reply.error());
        next_ = (next_ + 1) % members_.size();
    }
    return first.value_or(Error{"etcd: no member"});
}

Result<std::vector<etcd::KeyValue>> EtcdClient::keys_of(const std::string& prefix) {
    const auto reply = call("/v3/kv/range", etcd::range_request(prefix));
    return reply ? etcd::range_reply(*reply) : Result<std::vector<etcd::KeyValue>>(reply.error());
}

Result<bool> EtcdClient::commit(const etcd::Transaction& transaction) {
    const auto reply = call("/v3/kv/txn", etcd::transaction_request(transaction));
    return reply ? etcd::transaction_reply(*reply) : Result<bool>(reply.error());
}

Result<std::int64_t> EtcdClient::grant(std::int64_t seconds) {
    const auto reply = call("/v3/lease/grant", etcd::grant_request(seconds));
    return reply ? etcd::grant_reply(*reply) : Result<std::int64_t>(reply.error());
}

Result<bool> EtcdClient::keep_alive(std::int64_t lease) {
    const auto reply = call("/v3/lease/keepalive", etcd::lease_request(lease));
    if (!reply) return reply.error();
    const auto seconds = etcd::keep_alive_reply(*reply);
    return seconds ? Result<bool>(*seconds > 0) : Result<bool>(seconds.error());
}

void EtcdClient::revoke(std::int64_t lease) { static_cast<void>(call("/v3/lease/revoke", etcd::lease_request(lease))); }

}  // namespace dlaunch::rendezvous
