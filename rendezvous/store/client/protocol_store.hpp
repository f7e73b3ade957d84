#pragma once

#include <functional>

#include "rendezvous/store/client/store.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {

/// Implements Store with the wire protocol's messages; a subclass transports them. Checks the limits first, because a
/// server closes the connection for a request beyond them.
class ProtocolStore : public Store {
public:
    Result<void> set(std::string_view key, std::string_view value, Time deadline) final;
    Result<std::string> get(std::string_view key, Time deadline) final;
    Result<std::int64_t> add(std::string_view key, std::int64_t delta, Time deadline) final;
    Result<std::string> compare_set(std::string_view key, std::string_view expected, std::string_view desired,
                                    Time deadline) final;
    Result<bool> check(Keys keys, Time deadline) final;
    Result<void> wait(Keys keys, Time deadline) final;
    Result<bool> delete_key(std::string_view key, Time deadline) final;
    Result<void> append(std::string_view key, std::string_view bytes, Time deadline) final;
    Result<std::vector<std::string>> multi_get(Keys keys, Time deadline) final;
    Result<void> multi_set(Pairs pairs, Time deadline) final;
    Result<void> queue_push(std::string_view key, std::string_view value, Time deadline) final;
    Result<std::string> queue_pop(std::string_view key, Time deadline) final;
    Result<std::int64_t> queue_len(std::string_view key, Time deadline) final;
    Result<std::vector<std::string>> list_keys(Time deadline) final;
    Result<std::int64_t> num_keys(Time deadline) final;
    Result<void> barrier(std::string_view key, std::int64_t world_size, Time deadline) final;

protected:
    /// Executes a request that has an immediate reply; returns its bytes.
    virtual Result<std::string> exchange(const wire::Request& request, Time deadline) = 0;
    /// Executes a WAIT or BARRIER; returns when it is answered. Cancels it at the deadline.
    virtual Result<void> await(const wire::Request& request, Time deadline) = 0;

    /// Reads the bytes of the reply to `request` from a source of the next n bytes.
    using Take = std::function<Result<std::string>(std::size_t bytes)>;
    static Result<std::string> collect_reply(const wire::Request& request, const Take& take);

private:
    Result<std::string> ask(const wire::Request& request, Time deadline);
    Result<void> post(const wire::Request& request, Time deadline);
    Result<std::int64_t> ask_integer(const wire::Request& request, Time deadline);
    Result<void> wait_for(std::span<const std::string_view> keys, Time deadline);
};

/// The error of every store after a time-out: "store: wait for /a, /b: timed out".
[[nodiscard]] base::Error late(const wire::Request& request);

}  // namespace dlaunch::store
