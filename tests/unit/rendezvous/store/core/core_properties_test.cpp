// The core beside a simple, slow model: after any requests of any clients both have sent every client the same replies.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <set>

#include "tests/unit/rendezvous/store/core/core_fixture.hpp"

namespace dlaunch::store {
namespace {

using wire::le64;

/// One step of a random sequence of requests. Each letter of `keys` is a key.
struct Step {
    Slot client;
    StoreOperation operation;
    std::string keys, value, desired;
    std::int64_t integer;
};

void showValue(const Step& step, std::ostream& out) {
    out << "client " << step.client << " message " << static_cast<int>(step.operation) << " keys " << step.keys
        << " value " << step.value << " desired " << step.desired << " integer " << step.integer << "\n";
}

class Model {
public:
    std::map<Slot, std::string> replies;

    void clear() {
        values_.clear();
        queues_.clear();
    }

    [[nodiscard]] std::size_t kept_bytes() const {
        std::size_t sum = 0;
        for (const auto& [key, value] : values_) sum += Core::kKeyCost + key.size() + value.size();
        for (const auto& [key, queue] : queues_) {
            if (!queue.empty()) sum += Core::kQueueCost + key.size();
            for (const std::string& item : queue) sum += Core::kItemCost + item.size();
        }
        return sum;
    }

    /// False: refused.
    bool take(const Step& step) {
        const std::string key = step.keys.substr(0, 1);
        std::string& reply = replies[step.client];
        switch (step.operation) {
            case StoreOperation::set: store(key, step.value); break;
            case StoreOperation::compare_set: {
                const bool missing = !values_.contains(key);
                if (missing ? step.value.empty() : values_[key] == step.value) {
                    store(key, step.desired);
                    reply += vec(step.desired);
                } else {
                    reply += vec(missing ? step.value : values_[key]);
                }
                break;
            }
            case StoreOperation::get: reply += vec(values_.contains(key) ? values_[key] : ""); break;
            case StoreOperation::add: {
                if (!is_number(key)) return false;
                const auto sum = number(key) + step.integer;
                store(key, std::to_string(sum));
                reply += le64(static_cast<std::uint64_t>(sum));
                break;
            }
            case StoreOperation::check: reply += static_cast<char>(missing(step.keys).empty() ? 0 : 1); break;
            case StoreOperation::wait: {
                auto lacks = missing(step.keys);
                if (lacks.empty())
                    reply += '\0';
                else
                    waits_.push_back({step.client, std::move(lacks)});
                break;
            }
            case StoreOperation::num_keys: reply += le64(values_.size()); break;
            case StoreOperation::delete_key: reply += le64(values_.erase(key)); break;
            case StoreOperation::append: store(key, values_[key] + step.value); break;
            case StoreOperation::multi_get:
                for (const char name : step.keys) {
                    const std::string one(1, name);
                    reply += vec(values_.contains(one) ? values_[one] : "");
                }
                break;
            case StoreOperation::multi_set:
                for (const char name : step.keys) store(std::string(1, name), step.value);
                break;
            case StoreOperation::cancel_wait:
                waits_.remove_if([&](const Wait& wait) { return wait.client == step.client; });
                reply += '\1';
                break;
            case StoreOperation::queue_push: push(key, step.value); break;
            case StoreOperation::queue_pop:
                reply += le64(queues_[key].size());
                if (!queues_[key].empty()) {
                    reply += vec(queues_[key].front());
                    queues_[key].pop_front();
                }
                break;
            case StoreOperation::queue_len: reply += le64(queues_[key].size()); break;
            case StoreOperation::barrier:
                if (!is_number(key)) return false;
                values_[key] = std::to_string(number(key) + 1);
                if (number(key) >= step.integer) {
                    came(key);
                    reply += '\0';
                } else {
                    waits_.push_back({step.client, {key}});
                }
                break;
            default: break;
        }
        return true;
    }

private:
    struct Wait {
        Slot client;
        std::set<std::string> lacks;
    };

    void store(const std::string& key, const std::string& value) {
        values_[key] = value;
        came(key);
    }

    void came(const std::string& key) {
        for (auto& wait : waits_) wait.lacks.erase(key);
        waits_.remove_if([&](const Wait& wait) {
            if (wait.lacks.empty()) replies[wait.client] += '\0';
            return wait.lacks.empty();
        });
    }

    void push(const std::string& key, const std::string& value) {
        queues_[key].push_back(value);
        const auto first =
            std::find_if(waits_.begin(), waits_.end(), [&](const Wait& wait) { return wait.lacks == std::set{key}; });
        if (first != waits_.end()) {
            replies[first->client] += '\0';
            waits_.erase(first);
        }
        for (auto& wait : waits_)
            if (wait.lacks.size() > 1) wait.lacks.erase(key);
    }

    std::set<std::string> missing(const std::string& keys) {
        std::set<std::string> lacks;
        for (const char name : keys) {
            const std::string key(1, name);
            if (!values_.contains(key) && queues_[key].empty()) lacks.insert(key);
        }
        return lacks;
    }

    bool is_number(const std::string& key) {
        try {
            return number(key), true;
        } catch (const std::exception&) {
            return false;
        }
    }
    std::int64_t number(const std::string& key) { return values_.contains(key) ? std::stoll(values_[key]) : 0; }

    std::map<std::string, std::string> values_;
    std::map<std::string, std::deque<std::string>> queues_;
    std::list<Wait> waits_;
};

rc::Gen<Step> any_step() {
    const auto keys = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'e')));
    const auto value = rc::gen::element<std::string>("", "x", "1", "2", "-3", std::string(5000, 'y'));
    const auto operation =
        rc::gen::map(rc::gen::inRange(1, 19), [](int number) { return static_cast<StoreOperation>(number); });
    return rc::gen::apply(
        [](Slot client, StoreOperation what, std::string names, std::string one, std::string other,
           std::int64_t number) {
            return Step{client, what, std::move(names), std::move(one), std::move(other), number};
        },
        rc::gen::inRange<Slot>(0, 4), operation, keys, value, value, rc::gen::inRange<std::int64_t>(-2, 5));
}

RC_GTEST_PROP(CoreProperties, replies_as_the_model_does, ()) {
    Clients clients;
    Model model;
    for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
        if (step.operation == StoreOperation::list_keys || step.operation == StoreOperation::ping) continue;
        std::vector<std::string_view> words;
        const auto verdict = clients.ask(step.client, wire::request_of(step, words));
        RC_ASSERT(model.take(step) == (verdict != Core::Verdict::refused));
        for (Slot client = 0; client < 4; ++client)
            RC_ASSERT(clients.replies(client) == std::exchange(model.replies[client], {}));
    }
}

RC_GTEST_PROP(CoreProperties, an_unchanged_verdict_leaves_the_store_unchanged, ()) {
    // A second core that executes only the requests that changed the first has the same content. File stores rely on
    // this.
    Clients all, changes;
    for (Step step : *rc::gen::container<std::vector<Step>>(any_step())) {
        std::vector<std::string_view> words;
        const auto request = wire::request_of(step, words);
        if (all.ask(step.client, request) == Core::Verdict::changed) changes.ask(0, request);
    }
    for (const char key : std::string("abcd")) {
        const std::string_view name(&key, 1);
        RC_ASSERT(all.value(name) == changes.value(name));
        for (Clients* clients : {&all, &changes}) {
            clients->replies(9);
            clients->ask(9, wire::about(StoreOperation::queue_len, name));
        }
        RC_ASSERT(all.replies(9) == changes.replies(9));
    }
}

RC_GTEST_PROP(CoreProperties, counts_what_it_keeps_and_stays_within_its_limit, ()) {
    const auto limit = *rc::gen::element<std::size_t>(600, 1500, 6500, 20'000, 1 << 30);
    Clients clients;
    clients.core().limit_kept(limit);
    Model model;
    for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
        if (step.client == 3 && step.integer == 4) {
            clients.core().clear();
            model.clear();
        }
        if (step.operation == StoreOperation::list_keys || step.operation == StoreOperation::ping) continue;
        std::vector<std::string_view> words;
        Model after = model;
        const bool is_valid = after.take(step);
        const bool fits = after.kept_bytes() <= std::max(limit, model.kept_bytes());
        const auto verdict = clients.ask(step.client, wire::request_of(step, words));
        RC_ASSERT((verdict == Core::Verdict::refused) == !is_valid);
        if (step.operation != StoreOperation::multi_set)
            RC_ASSERT((verdict == Core::Verdict::full) == (is_valid && !fits));
        if (is_valid && verdict != Core::Verdict::full) model = std::move(after);
        RC_ASSERT(clients.core().kept_bytes() == model.kept_bytes());
        RC_ASSERT(clients.core().kept_bytes() <= limit);
    }
    for (const char key : std::string("abcd"))
        clients.ask(0, wire::about(StoreOperation::delete_key, std::string(1, key)));
    for (const char key : std::string("abcd"))
        for (int item = 0; item < 100; ++item)
            clients.ask(0, wire::about(StoreOperation::queue_pop, std::string(1, key)));
    RC_ASSERT(clients.core().kept_bytes() == 0U);
}

}  // namespace
}  // namespace dlaunch::store
