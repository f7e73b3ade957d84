#pragma once
/// A client of the round's store for the agents' own use, on the loop: a call returns at once, and its callback runs
/// when the store has replied. The worker store is served by group rank 0's node, see worker_store.hpp.
///
/// Calls are carried out one after the other. If the connection breaks, the client connects again and repeats the
/// present call from its start: all calls have the same effect when they are repeated. Rounds follow each other at one
/// port where the user has fixed it, so keys should hold the round's number.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/background.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// Destroying it closes the connection and drops all callbacks. The loop must outlive it.
class StoreClient {
public:
    using Values = std::vector<std::string>;
    /// The error of a store that could not be reached for kPatience; all later calls fail with it, too.
    using Done = std::function<void(const base::Result<Values>&)>;

    static constexpr auto kPatience = std::chrono::seconds(30);
    static constexpr std::size_t kMostValueBytes = 8U << 20;  ///< the store refuses longer ones

    /// `host` is a name or an address; the connection is made with the first call.
    StoreClient(base::Loop& loop, std::string host, int port);
    StoreClient(const StoreClient&) = delete;
    StoreClient& operator=(const StoreClient&) = delete;

    /// No values.
    void set(std::string_view key, std::string_view value, Done done);
    /// Sets the key, waits without a limit until all `keys` exist, and gets their values.
    void exchange(std::string_view key, std::string_view value, const std::vector<std::string>& keys, Done done);
    /// Waits without a limit until all `keys` exist, and gets their values.
    void get(const std::vector<std::string>& keys, Done done);
    /// The key's value at once; no value: the key does not exist.
    void find(std::string_view key, Done done);
    /// Sets the key unless it exists. The key's value afterwards.
    void set_if_missing(std::string_view key, std::string_view value, Done done);
    /// The number of removed keys: "1" or "0", also "0" if the connection broke after the key was removed.
    void remove(std::string_view key, Done done);

private:
    enum class Reply : std::uint8_t { none, byte, number, values };
    struct Step {
        std::string request;
        Reply reply = Reply::none;
        std::size_t values = 0;  ///< of Reply::values
    };
    struct Call {
        std::vector<Step> steps;
        Done done;
        bool finds = false;  ///< the value kMissing stands for none
        std::size_t at = 0;  ///< the step in progress
    };

    void add(Call call);
    void connect();
    void dial(const std::string& address);
    void retry(const std::string& why);
    void begin_call();
    void send_step();
    void flush();
    void read();
    /// False: the reply is incomplete.
    [[nodiscard]] bool take_reply();
    [[nodiscard]] bool take_values(std::size_t count);
    void end_step(Values values);
    void fail(const std::string& why);

    base::Loop& loop_;
    const std::string host_;
    const int port_;
    std::string address_;  ///< numeric; empty: not looked up yet
    base::Background look_up_;
    base::UniqueFd socket_;
    base::Watch watch_;
    base::Timer again_;
    base::Time patience_ends_{};  ///< while there is no connection
    std::deque<Call> calls_;      ///< the first one is in progress
    std::string unsent_, received_;
    Values values_;         ///< of the reply in progress
    std::string lost_;      ///< why the store is given up; empty: it is not
    bool greeted_ = false;  ///< the connection has replied to the greeting
    bool awaited_ = false;  ///< a reply is due
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  ///< expires with this object
};

}  // namespace dlaunch::agent
