#pragma once
/// The core with numbered clients, and the replies to each since the last look.

#include <map>
#include <string>
#include <vector>

#include "rendezvous/store/core/core.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::store {

using wire::StoreOperation;

class Clients {
public:
    using Verdict = Core::Verdict;

    Verdict ask(Slot client, const wire::Request& request) {
        Output output;
        const auto verdict = core_.handle(client, request, output);
        replies_[client] += output.text();
        for (const Core::Woken& woken : core_.woken()) replies_[woken.connection] += '\0';
        core_.clear_woken();
        return verdict;
    }

    Verdict set(Slot client, std::string_view key, std::string_view value) {
        return ask(client, wire::about(StoreOperation::set, key, value));
    }
    Verdict add(Slot client, std::string_view key, std::int64_t delta) {
        return ask(client, wire::with_integer(StoreOperation::add, key, delta));
    }
    Verdict barrier(Slot client, std::string_view key, std::int64_t size) {
        return ask(client, wire::with_integer(StoreOperation::barrier, key, size));
    }
    Verdict wait(Slot client, std::vector<std::string_view> keys) {
        return ask(client, wire::with_words(StoreOperation::wait, keys));
    }
    Verdict push(Slot client, std::string_view key) {
        return ask(client, wire::about(StoreOperation::queue_push, key, "item"));
    }
    Verdict cancel(Slot client) { return ask(client, wire::about(StoreOperation::cancel_wait)); }

    /// The bytes sent to a client since the last call.
    std::string replies(Slot client) { return std::exchange(replies_[client], {}); }
    bool woken(Slot client) { return replies(client) == std::string(1, '\0'); }

    /// A value, as another client sees it; "missing" without one.
    std::string value(std::string_view key) {
        constexpr Slot kReader = 1000;
        const std::vector<std::string_view> keys{key};
        ask(kReader, wire::with_words(StoreOperation::check, keys));
        if (replies(kReader) == "\1") return "missing";
        ask(kReader, wire::about(StoreOperation::get, key));
        return replies(kReader).substr(8);
    }

    Core& core() { return core_; }

private:
    Core core_;
    std::map<Slot, std::string> replies_;
};

/// A reply of one vector.
inline std::string vec(std::string_view bytes) {
    std::string text;
    wire::put_vector(text, bytes);
    return text;
}

}  // namespace dlaunch::store
