#include "agent/services/store_relay.hpp"

#include <unistd.h>

#include <semaphore>
#include <system_error>
#include <utility>

#include "rendezvous/base/peer_uid.hpp"
#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::agent {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::chrono::milliseconds kMayTakeToSend{100};  // a round's last requests; the control loop waits
constexpr std::chrono::milliseconds kFormerServes{1'000};

}  // namespace

bool is_of_own_user(int socket) { return base::peer_uid(socket) == geteuid(); }

/// The thread is started before the relay is made, because a relay that has accepted clients cannot change its loop.
class StoreRelay::Serving {
public:
    explicit Serving(base::Loop& without_thread) {
        try {
            const base::SignalsBlocked for_the_new_thread;
            thread_ = std::thread([this] {
                begin_.acquire();
                if (relay_) own_.run();
            });
        } catch (const std::system_error&) {
            loop_ = &without_thread;
        }
    }
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;
    /// A service of this node may just have published in the store why it ends.
    ~Serving() {
        if (relay_ && thread_.joinable())
            own_.post([this] { relay_->drain(kMayTakeToSend, [this] { own_.stop(); }); });
        else
            own_.stop();
        begin_.release();
        if (thread_.joinable()) thread_.join();
    }

    base::Result<void> serve(base::UniqueFd socket, store::TrunkTarget target, Warn warn) {
        auto relay = store::Relay::serve(*loop_, std::move(socket), std::move(target), is_of_own_user, std::move(warn));
        if (!relay) return relay.error();
        relay_ = std::move(*relay);
        begin_.release();
        return {};
    }

private:
    base::Loop own_;
    base::Loop* loop_ = &own_;
    std::unique_ptr<store::Relay> relay_;
    std::counting_semaphore<2> begin_{0};  ///< `relay_` is set, or there will be none
    std::thread thread_;
};

base::Result<int> StoreRelay::listen() {
    auto listener = store::open_listener(kLoopback, 0);
    if (!listener) return listener.error().within("the relay to the round's store");
    listener_ = std::move(*listener);
    return listener_.port;
}

base::Result<void> StoreRelay::start(const store::TrunkTarget& target, Warn warn) {
    former_.reset();
    auto serving = std::make_shared<Serving>(loop_);
    if (auto served = serving->serve(std::move(listener_.socket), target, std::move(warn)); !served)
        return served.error().within("the relay to the round's store");
    serving_ = std::move(serving);
    return {};
}

void StoreRelay::stop() {
    listener_ = {};
    if (!serving_) return;
    former_ = std::move(serving_);
    former_ends_ = loop_.after(kFormerServes, [this] { former_.reset(); });
}

}  // namespace dlaunch::agent
