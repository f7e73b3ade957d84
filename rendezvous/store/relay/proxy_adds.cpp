// ADDs of a node's workers to one key leave as their sum. Nothing is sent twice: if the trunk ends, the workers that
// wait for a reply lose their connections, as those of a store that ends.

#include <utility>

#include "rendezvous/store/relay/proxy.hpp"

namespace dlaunch::store {

using wire::Channel;
using wire::StoreOperation;

/// A call's reply would have to wait for the replies that are due before it: such an ADD travels alone.
void Proxy::add(Local from, Client& client, const wire::Request& request) {
    if (client.adds || !client.due.empty()) {
        send_adds();
        return pass_on(from, client, request);
    }
    adds_.push_back({from, std::string(request.key), static_cast<std::uint64_t>(request.integer)});
    client.adds = true;
    if (adds_.size() == kMostAdds) send_adds();
}

void Proxy::send_adds() {
    for (std::size_t each = 0; each < adds_.size(); ++each)
        if (!adds_[each].is_sent) send_sum(each);
    adds_.clear();
}

/// Of all ADDs to one key. A lone one travels in its worker's own channel, which costs less than a call.
void Proxy::send_sum(std::size_t first) {
    wire::Request request{.operation = StoreOperation::add, .key = adds_[first].key};
    std::uint64_t sum = 0;
    std::vector<Caller> callers;
    for (std::size_t each = first; each < adds_.size(); ++each) {
        Add& add = adds_[each];
        if (add.is_sent || add.key != request.key) continue;
        add.is_sent = true;
        sum += add.share;
        callers.push_back({add.from, sum});
    }
    request.integer = static_cast<std::int64_t>(sum);
    for (const Caller& caller : callers) clients_.at(caller.client).adds = false;
    const Local from = callers.front().client;
    if (callers.size() == 1) return pass_on(from, clients_.at(from), request);
    std::string bytes;
    wire::encode(request, bytes);
    const Channel channel = begin_call(from, request, std::move(bytes));
    for (const Caller& caller : callers) {
        Client& client = clients_.at(caller.client);
        client.call = channel;
        client.due.push_back(
            {.source = Due::Source::call, .reader = wire::ReplyReader(request), .sent = client.sent, .text = {}});
    }
    Call& call = calls_.at(channel);
    call.callers = std::move(callers);
    call.sum = sum;
}

bool Proxy::take_sum(Channel channel, Call& call, std::string_view bytes) {
    if (call.reader.take(bytes) != bytes.size()) return false;
    call.reply += bytes;
    if (!call.reader.done()) return true;
    const std::uint64_t sum_before = wire::get_u64(call.reply) - call.sum;
    for (const Caller& caller : call.callers) {
        std::string reply;
        wire::put_u64(reply, sum_before + caller.sum);
        deliver(caller.client, reply);
        if (!end_reply(caller.client, clients_.at(caller.client))) return false;
    }
    end_call(channel);
    return true;
}

}  // namespace dlaunch::store
