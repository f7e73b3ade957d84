#include "rendezvous/store/relay/relay.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "rendezvous/base/address.hpp"
#include "rendezvous/store/relay/proxy.hpp"
#include "rendezvous/store/server/server.hpp"

namespace dlaunch::store {
namespace {

/// Bytes for the store that wait; with more, no further requests are taken.
constexpr std::size_t kMostUnsent = 1 << 20;
constexpr std::chrono::milliseconds kLookEvery{2};  // while it drains; requests have been read within it

}  // namespace

struct Relay::Impl {
    Impl(base::Loop& the_loop, TrunkTarget target, std::function<void(const std::string&)> the_warn)
        : loop(the_loop),
          place(base::endpoint_text(target.host, target.port)),
          warn(std::move(the_warn)),
          link(loop, std::move(target),
               {.opened = [this] { flush(); },
                .received =
                    [this](const wire::TrunkFrame& frame) {
                        const bool is_fine = proxy.received(frame);
                        act();
                        flush_soon();
                        return is_fine;
                    },
                .drained = [this] { review_hold(); },
                .lost = [this](const std::string& problem) { on_lost(problem); }}) {}

    ServerHooks hooks(std::function<bool(int)> admits) {
        ServerHooks all;
        all.admits = std::move(admits);
        all.request = [this](ConnectionId from, const wire::Request& request, wire::Numbering numbering) {
            const bool is_fine = proxy.request(from, request, numbering);
            act();
            flush_soon();
            return is_fine;
        };
        all.finished = [this](ConnectionId client) {
            proxy.finished(client);
            act();
            flush_soon();
        };
        all.closed = [this](ConnectionId client, bool) {
            proxy.closed(client);
            flush_soon();
        };
        all.drained = [this](ConnectionId client) {
            proxy.drained(client);
            flush_soon();
        };
        return all;
    }

    void act() {
        for (const Proxy::Action& action : proxy.take_actions()) {
            if (const auto* deliver = std::get_if<Proxy::Deliver>(&action))
                server->send(deliver->to, deliver->bytes);
            else if (const auto* drop = std::get_if<Proxy::Drop>(&action))
                server->close(drop->client);
            else if (const auto* hold = std::get_if<Proxy::Hold>(&action))
                server->hold(hold->client, hold->on);
        }
    }

    /// Later in this turn of the loop: requests that arrive together leave together.
    void flush_soon() {
        if (!proxy.has_frames() || std::exchange(flushes, true)) return;
        loop.post([this, living = std::weak_ptr<const bool>(alive)] {
            if (!living.expired()) flush();
        });
    }

    void flush() {
        flushes = false;
        if (proxy.has_frames()) link.open();
        if (proxy.has_frames() && link.is_open()) link.send(proxy.take_frames());
        review_hold();
    }

    void review_hold() { server->hold_all(link.unsent() + proxy.frame_bytes() > kMostUnsent); }

    void drain(base::Time until, const std::function<void()>& done) {
        draining = loop.after(kLookEvery, [this, until, done] {
            const bool is_sent = !flushes && !proxy.has_frames() && link.unsent() == 0;
            if (is_sent || base::Clock::now() >= until) return done();
            drain(until, done);
        });
    }

    void on_lost(const std::string& problem) {
        if (!problem.empty() && warn)
            warn(fmt::format(
                "the round's store at {} cannot be reached: {}; the connections of this node's workers to it "
                "are closed",
                place, problem));
        proxy.lost();
        act();
        review_hold();
    }

    base::Loop& loop;
    const std::string place;
    const std::function<void(const std::string&)> warn;
    Proxy proxy;
    TrunkLink link;
    std::unique_ptr<Server> server;
    bool flushes = false;  ///< a flush is posted
    base::Timer draining;
    std::shared_ptr<const bool> alive = std::make_shared<const bool>(true);
};

Relay::Relay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Relay::~Relay() = default;

base::Result<std::unique_ptr<Relay>> Relay::serve(base::Loop& loop, base::UniqueFd listener, TrunkTarget target,
                                                  std::function<bool(int)> admits,
                                                  std::function<void(const std::string&)> warn) {
    auto impl = std::make_unique<Impl>(loop, std::move(target), std::move(warn));
    auto server = Server::adopt(loop, std::move(listener), impl->hooks(std::move(admits)));
    if (!server) return server.error();
    impl->server = std::move(*server);
    return std::unique_ptr<Relay>(new Relay(std::move(impl)));
}

int Relay::port() const { return impl_->server->port(); }

void Relay::drain(base::Duration most, std::function<void()> done) { impl_->drain(base::Clock::now() + most, done); }

}  // namespace dlaunch::store
