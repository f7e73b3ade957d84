#pragma once
/// A node's proxy, and the store at the other end of its trunk.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/store/relay/proxy.hpp"
#include "rendezvous/wire/frames.hpp"
#include "tests/unit/rendezvous/store/core/core_fixture.hpp"

namespace dlaunch::store {

/// Executes frames as the server does, but for its flow control.
class Upstream {
public:
    struct Reply {
        wire::Channel channel;
        std::string bytes;  ///< empty: the store has closed the channel
    };

    void take(std::string_view bytes) {
        wire::Frames frames(wire::kMostPiece + 4);
        frames.feed(bytes);
        for (wire::Frame frame; frames.next(frame) == wire::Frames::Outcome::frame;)
            execute(*wire::decode_trunk(frame.number, frame.payload));
    }
    std::vector<Reply> take_replies() { return std::exchange(replies_, {}); }
    std::size_t requests = 0;
    std::map<wire::Channel, std::size_t> credits;
    [[nodiscard]] std::size_t channels() const { return decoders_.size(); }

private:
    void execute(const wire::TrunkFrame& frame) {
        using Kind = wire::TrunkFrame::Kind;
        if (frame.kind == Kind::credit) credits[frame.channel] += frame.credit;
        if (frame.kind == Kind::join) core_.join(frame.channel);
        if (frame.kind == Kind::leave) core_.leave(frame.channel);
        if (frame.kind == Kind::close) {
            core_.close(frame.channel);
            decoders_.erase(frame.channel);
            ended_.erase(frame.channel);
        }
        if (frame.kind != Kind::data || ended_.contains(frame.channel)) return;
        auto& decoder = decoders_[frame.channel];
        if (!decoder) {
            decoder = std::make_unique<wire::Decoder>();
            decoder->feed(wire::kGreeting);
            decoder->keep();
        }
        decoder->feed(frame.bytes);
        for (wire::Request request; decoder->next(request) == wire::Decoder::Outcome::request;) {
            ++requests;
            Output output;
            const auto verdict = core_.handle(frame.channel, request, output);
            for (const Core::Woken& woken : core_.woken())
                replies_.push_back({woken.connection, std::string(1, !woken.by_item  ? '\0'
                                                                     : woken.is_over ? '\3'
                                                                                     : '\2')});
            core_.clear_woken();
            if (!output.empty()) replies_.push_back({frame.channel, output.text()});
            if (verdict == Core::Verdict::changed || verdict == Core::Verdict::unchanged) continue;
            core_.close(frame.channel);
            ended_.insert(frame.channel);
            replies_.push_back({frame.channel, ""});
            break;
        }
        decoder->keep();
    }

    Core core_;
    std::map<wire::Channel, std::unique_ptr<wire::Decoder>> decoders_;
    std::set<wire::Channel> ended_;
    std::vector<Reply> replies_;
};

/// Workers behind a proxy.
class Node {
public:
    explicit Node(Upstream& store) : store_(store) {}

    void ask(Proxy::Local worker, const wire::Request& request, wire::Numbering numbering = wire::Numbering::newest) {
        if (!proxy.request(worker, request, numbering)) proxy.finished(worker);
        act();
    }
    void set(Proxy::Local worker, std::string_view key, std::string_view value) {
        ask(worker, wire::about(StoreOperation::set, key, value));
    }
    void add(Proxy::Local worker, std::string_view key, std::int64_t share) {
        ask(worker, wire::with_integer(StoreOperation::add, key, share));
    }
    void get(Proxy::Local worker, std::string_view key) { ask(worker, wire::about(StoreOperation::get, key)); }
    void wait(Proxy::Local worker, std::vector<std::string_view> keys) {
        ask(worker, wire::with_words(StoreOperation::wait, keys));
    }
    void cancel(Proxy::Local worker) { ask(worker, wire::about(StoreOperation::cancel_wait)); }

    /// Sends all frames and receives all replies, in pieces of at most `piece` bytes. `late`: a channel whose replies
    /// come last, as one without credit.
    void flush(std::size_t piece = SIZE_MAX, wire::Channel late = 0) {
        while (proxy.has_frames()) {
            store_.take(proxy.take_frames());
            auto replies = store_.take_replies();
            std::stable_partition(replies.begin(), replies.end(),
                                  [&](const auto& each) { return each.channel != late; });
            for (const Upstream::Reply& reply : replies) receive(reply, piece);
        }
    }
    void receive(const Upstream::Reply& reply, std::size_t piece = SIZE_MAX) {
        using Kind = wire::TrunkFrame::Kind;
        if (reply.bytes.empty()) {
            EXPECT_TRUE(proxy.received({Kind::close, reply.channel, {}, 0}));
        }
        for (std::string_view rest = reply.bytes; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size())))
            EXPECT_TRUE(proxy.received({Kind::data, reply.channel, rest.substr(0, piece), 0}));
        act();
    }
    /// The replies of a worker since the last call.
    std::string replies(Proxy::Local worker) { return std::exchange(replies_[worker], {}); }

    Proxy proxy;
    std::set<Proxy::Local> dropped, on_hold;

private:
    void act() {
        for (const Proxy::Action& action : proxy.take_actions()) {
            if (const auto* deliver = std::get_if<Proxy::Deliver>(&action)) {
                replies_[deliver->to] += deliver->bytes;
                proxy.drained(deliver->to);
            } else if (const auto* drop = std::get_if<Proxy::Drop>(&action)) {
                dropped.insert(drop->client);
            } else {
                const auto& hold = std::get<Proxy::Hold>(action);
                hold.on ? void(on_hold.insert(hold.client)) : void(on_hold.erase(hold.client));
            }
        }
    }

    Upstream& store_;
    std::map<Proxy::Local, std::string> replies_;
};

}  // namespace dlaunch::store
