#pragma once
/// Names that ranks publish for ranks of the same job (MPI_Publish_name): seen on all nodes, gone with the round. They
/// lie in the round's store.
///
/// Values of single use serve Open MPI's MPI_Comm_connect and MPI_Comm_accept: each side publishes one and then waits
/// for the other's. Where several ranks connect to one port, they take turns, so that the same two sides find each
/// other's values: a rank's turn with a name lasts from its publish() to the end of its next call.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/membership/assignment.hpp"
#include "agent/services/store_client.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// One per round; destroying it drops all callbacks. The loop must outlive it. No callback runs from the call that was
/// given it; an error is that of a lost store.
class PublishedNames {
public:
    /// How often a published value may be found.
    enum class Use : char { always = 'a', once = '1' };
    /// False: the name was published with another value, or there is no such name.
    using Done = std::function<void(const base::Result<bool>&)>;
    /// No value: there is no such name.
    using Found = std::function<void(const base::Result<std::optional<std::string>>&)>;

    PublishedNames(base::Loop& loop, const Assignment& assignment);

    /// `by` is the rank that calls. A value of single use waits for the rank's turn, and until the name's last value
    /// was found.
    void publish(int by, const std::string& name, const std::string& value, Use use, Done done);
    void unpublish(int by, const std::string& name, Done done);
    /// The same for a value that begins so: in PMIx a value begins with its publisher, and only the publisher may
    /// unpublish it.
    void unpublish_if(int by, const std::string& name, const std::string& beginning, Done done);
    void look_up(int by, const std::string& name, Found found);
    /// Waits until the name is published, or without success for `limit`; zero: as long as the round lasts.
    void await(int by, const std::string& name, base::Duration limit, Found found);

private:
    struct Waiting {
        Waiting(int rank, base::Loop& loop, const std::string& host, int port, Found to_call)
            : by(rank), store(loop, host, port), found(std::move(to_call)) {}

        const int by;
        StoreClient store;  ///< of its own, because the store's reply is awaited
        Found found;        ///< empty: it was called
        base::Timer limit;
    };
    using Place = std::list<Waiting>::iterator;

    void take_turn(int by, const std::string& name, const std::string& stored, Done done);
    void set_when_free(const std::string& name, const std::string& stored, Done done);
    void end_turn(int by);
    void later(std::function<void()> callback);
    void await_value(Place waiting, const std::string& name);
    void end(Place waiting, const base::Result<std::optional<std::string>>& value);
    [[nodiscard]] std::string key(const std::string& name) const { return prefix_ + "name/" + name; }
    [[nodiscard]] std::string turn_key(const std::string& name) const { return prefix_ + "turn/" + name; }

    base::Loop& loop_;
    const std::string prefix_, host_;
    const int port_;
    StoreClient store_;  ///< for calls that do not wait
    std::list<Waiting> waiting_;
    std::map<int, std::string> turns_;  ///< names by the rank whose turn it is
    std::list<base::Timer> again_;
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  ///< expires with this object
};

}  // namespace dlaunch::agent
