// Workers behind a proxy beside workers of the store itself: all get the same bytes.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/rendezvous/store/relay/proxy_fixture.hpp"

namespace dlaunch::store {
namespace {

struct Step {
    Proxy::Local worker;
    StoreOperation operation;
    std::string keys, value, desired;
    std::int64_t integer;
    bool flushes;
    std::size_t piece;
};

void showValue(const Step& step, std::ostream& out) {
    out << "worker " << step.worker << " message " << static_cast<int>(step.operation) << " keys " << step.keys
        << " value " << step.value.substr(0, 5) << " desired " << step.desired.substr(0, 5) << " integer "
        << step.integer << (step.flushes ? " flushes" : "") << "\n";
}

rc::Gen<Step> any_step() {
    const auto keys = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'd')));
    const auto value = rc::gen::element<std::string>("", "x", "1", "2", "-3", std::string(5000, 'y'));
    const auto operation =
        rc::gen::map(rc::gen::inRange(1, 19), [](int number) { return static_cast<StoreOperation>(number); });
    return rc::gen::apply(
        [](Proxy::Local worker, StoreOperation what, std::string names, std::string one, std::string other,
           std::int64_t number, bool flushes, std::size_t piece) {
            return Step{worker, what, std::move(names), std::move(one), std::move(other), number, flushes, piece};
        },
        rc::gen::inRange<Proxy::Local>(0, 4), operation, keys, value, value, rc::gen::inRange<std::int64_t>(-2, 5),
        rc::gen::arbitrary<bool>(), rc::gen::element<std::size_t>(1, 7, 1000, SIZE_MAX));
}

/// `at_once`: each request is answered before the next one comes. Else outcomes that depend on messages in flight are
/// not compared: CANCEL_WAIT, items of queues, the order of answers and replies for one worker, and the answers of
/// WAITs beside a BARRIER that is refused.
void compare(bool at_once) {
    Clients direct;
    Upstream store;
    Node node(store);
    std::set<Proxy::Local> gone, uncompared;
    for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
        if (gone.contains(step.worker) || step.operation == StoreOperation::list_keys) continue;
        const bool waits = step.operation == StoreOperation::wait || step.operation == StoreOperation::barrier;
        const bool is_timely =
            step.operation == StoreOperation::cancel_wait || step.operation == StoreOperation::queue_push;
        if (!at_once && (is_timely || waits != (step.worker < 2))) continue;
        std::vector<std::string_view> words;
        const auto request = wire::request_of(step, words);
        node.ask(step.worker, request);
        const auto verdict = direct.ask(static_cast<Slot>(step.worker), request);
        if (at_once || step.flushes) node.flush(step.piece, at_once ? 0 : static_cast<wire::Channel>(step.integer + 2));
        if (verdict != Core::Verdict::refused) continue;
        node.flush();
        RC_ASSERT(node.dropped.contains(step.worker));
        direct.core().close(static_cast<Slot>(step.worker));
        gone.insert(step.worker);
        if (!at_once && waits) uncompared.insert(step.worker);
    }
    node.flush();
    for (Proxy::Local worker = 0; worker < 4; ++worker)
        if (!uncompared.contains(worker)) RC_ASSERT(node.replies(worker) == direct.replies(static_cast<Slot>(worker)));
    RC_ASSERT(node.on_hold.empty());
}

RC_GTEST_PROP(ProxyProperties, workers_get_what_the_store_alone_would_answer, ()) { compare(true); }

RC_GTEST_PROP(ProxyProperties, also_if_many_requests_leave_together, ()) { compare(false); }

}  // namespace
}  // namespace dlaunch::store
