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
    Message message;
    std::string keys, value, desired;
    std::int64_t integer;
};

void showValue(const Step& step, std::ostream& out) {
    out << "client " << step.client << " message " << static_cast<int>(step.message) << " keys " << step.keys
        << " value " << step.value << " desired " << step.desired << " integer " << step.integer << "\n";
}

wire::Request request_of(const Step& step, std::vector<std::string_view>& words) {
    wire::Request request =
        wire::about(step.message, std::string_view(step.keys).substr(0, 1), step.value, step.desired);
    request.integer = step.integer;
    for (std::size_t i = 0; i < step.keys.size(); ++i) {
        words.push_back(std::string_view(step.keys).substr(i, 1));
        if (step.message == Message::multi_set) words.push_back(step.value);
    }
    request.words = words;
    return request;
}

class Model {
public:
    std::map<Slot, std::string> told;

    /// False: refused.
    bool take(const Step& step) {
        const std::string key = step.keys.substr(0, 1);
        std::string& reply = told[step.client];
        switch (step.message) {
            case Message::set: store(key, step.value); break;
            case Message::compare_set: {
                const bool missing = !values_.contains(key);
                if (missing ? step.value.empty() : values_[key] == step.value) {
                    store(key, step.desired);
                    reply += vec(step.desired);
                } else {
                    reply += vec(missing ? step.value : values_[key]);
                }
                break;
            }
            case Message::get: reply += vec(values_.contains(key) ? values_[key] : ""); break;
            case Message::add: {
                if (!is_number(key)) return false;
                const auto sum = number(key) + step.integer;
                store(key, std::to_string(sum));
                reply += le64(static_cast<std::uint64_t>(sum));
                break;
            }
            case Message::check: reply += static_cast<char>(missing(step.keys).empty() ? 0 : 1); break;
            case Message::wait: {
                auto lacks = missing(step.keys);
                if (lacks.empty())
                    reply += '\0';
                else
                    waits_.push_back({step.client, std::move(lacks)});
                break;
            }
            case Message::num_keys: reply += le64(values_.size()); break;
            case Message::delete_key: reply += le64(values_.erase(key)); break;
            case Message::append: store(key, values_[key] + step.value); break;
            case Message::multi_get:
                for (const char name : step.keys) {
                    const std::string one(1, name);
                    reply += vec(values_.contains(one) ? values_[one] : "");
                }
                break;
            case Message::multi_set:
                for (const char name : step.keys) store(std::string(1, name), step.value);
                break;
            case Message::cancel_wait:
                waits_.remove_if([&](const Wait& wait) { return wait.client == step.client; });
                reply += '\1';
                break;
            case Message::queue_push: push(key, step.value); break;
            case Message::queue_pop:
                reply += le64(queues_[key].size());
                if (!queues_[key].empty()) {
                    reply += vec(queues_[key].front());
                    queues_[key].pop_front();
                }
                break;
            case Message::queue_len: reply += le64(queues_[key].size()); break;
            case Message::barrier:
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
            if (wait.lacks.empty()) told[wait.client] += '\0';
            return wait.lacks.empty();
        });
    }

    void push(const std::string& key, const std::string& value) {
        queues_[key].push_back(value);
        const auto first =
            std::find_if(waits_.begin(), waits_.end(), [&](const Wait& wait) { return wait.lacks == std::set{key}; });
        if (first != waits_.end()) {
            told[first->client] += '\0';
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
    const auto message = rc::gen::map(rc::gen::inRange(1, 19), [](int number) { return static_cast<Message>(number); });
    return rc::gen::apply(
        [](Slot client, Message what, std::string names, std::string one, std::string other, std::int64_t number) {
            return Step{client, what, std::move(names), std::move(one), std::move(other), number};
        },
        rc::gen::inRange<Slot>(0, 4), message, keys, value, value, rc::gen::inRange<std::int64_t>(-2, 5));
}

RC_GTEST_PROP(CoreProperties, tells_what_the_model_tells, ()) {
    Clients clients;
    Model model;
    for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
        if (step.message == Message::list_keys || step.message == Message::ping) continue;
        std::vector<std::string_view> words;
        const auto verdict = clients.ask(step.client, request_of(step, words));
        RC_ASSERT(model.take(step) == (verdict != Core::Verdict::refused));
        for (Slot client = 0; client < 4; ++client)
            RC_ASSERT(clients.replies(client) == std::exchange(model.told[client], {}));
    }
}

RC_GTEST_PROP(CoreProperties, what_it_calls_unchanged_is_unchanged, ()) {
    // A second core that executes only the requests that changed the first has the same content. File stores rely on
    // this.
    Clients all, changes;
    for (Step step : *rc::gen::container<std::vector<Step>>(any_step())) {
        std::vector<std::string_view> words;
        const auto request = request_of(step, words);
        if (all.ask(step.client, request) == Core::Verdict::changed) changes.ask(0, request);
    }
    for (const char key : std::string("abcd")) {
        const std::string_view name(&key, 1);
        RC_ASSERT(all.value(name) == changes.value(name));
        for (Clients* clients : {&all, &changes}) {
            clients->replies(9);
            clients->ask(9, wire::about(Message::queue_len, name));
        }
        RC_ASSERT(all.replies(9) == changes.replies(9));
    }
}

}  // namespace
}  // namespace dlaunch::store
