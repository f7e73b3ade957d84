#pragma once
/// Names that ranks publish for ranks of the same job (MPI_Publish_name): seen on all nodes, gone with the round. They
/// lie in the round's store.

#include <functional>
#include <list>
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

    /// A value to be found once waits until the name's last value was found.
    void publish(const std::string& name, const std::string& value, Use use, Done done);
    void unpublish(const std::string& name, Done done);
    void look_up(const std::string& name, Found found);
    /// Waits until the name is published, or without success for `limit`; zero: as long as the round lasts.
    void await(const std::string& name, base::Duration limit, Found found);

private:
    struct Waiting {
        Waiting(base::Loop& loop, const std::string& host, int port, Found to_call)
            : store(loop, host, port), found(std::move(to_call)) {}

        StoreClient store;  ///< of its own, because the store's reply is awaited
        Found found;        ///< empty: it was called
        base::Timer limit;
    };
    using Place = std::list<Waiting>::iterator;

    void await_value(Place waiting, const std::string& name);
    void end(Place waiting, const base::Result<std::optional<std::string>>& value);
    [[nodiscard]] std::string key(const std::string& name) const { return prefix_ + name; }

    base::Loop& loop_;
    const std::string prefix_, host_;
    const int port_;
    StoreClient store_;  ///< for calls that do not wait
    std::list<Waiting> waiting_;
    std::list<base::Timer> again_;                                            ///< of values that wait for their name
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  ///< expires with this object
};

}  // namespace dlaunch::agent
