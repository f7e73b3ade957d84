#include "agent/mpi/published_names.hpp"

#include <utility>

#include "agent/mpi/node_fence.hpp"

namespace dlaunch::agent {
namespace {

using Values = StoreClient::Values;

constexpr auto kPause = std::chrono::milliseconds(5);  // between two attempts to set a key

// A value in the store begins with its use.
bool is_single_use(const std::string& stored) {
    return stored.starts_with(static_cast<char>(PublishedNames::Use::once));
}

}  // namespace

PublishedNames::PublishedNames(base::Loop& loop, const Assignment& assignment)
    : loop_(loop),
      prefix_(round_prefix(assignment)),
      host_(assignment.store_addr()),
      port_(assignment.store_port()),
      store_(loop, host_, port_) {}

void PublishedNames::publish(int by, const std::string& name, const std::string& value, Use use, Done done) {
    end_turn(by);
    const std::string stored = static_cast<char>(use) + value;
    if (use == Use::once) return take_turn(by, name, stored, std::move(done));
    store_.set_if_missing(key(name), stored, [=, done = std::move(done)](const base::Result<Values>& present) {
        if (!present) return done(present.error());
        done(present->front() == stored);
    });
}

void PublishedNames::take_turn(int by, const std::string& name, const std::string& stored, Done done) {
    const std::string mine = std::to_string(by);
    store_.set_if_missing(turn_key(name), mine, [=, this](const base::Result<Values>& whose) {
        if (!whose) return done(whose.error());
        if (whose->front() != mine) return later([=, this] { take_turn(by, name, stored, done); });
        turns_[by] = name;
        set_when_free(name, stored, done);
    });
}

void PublishedNames::set_when_free(const std::string& name, const std::string& stored, Done done) {
    store_.set_if_missing(key(name), stored, [=, this](const base::Result<Values>& present) {
        if (!present) return done(present.error());
        if (present->front() == stored) return done(true);
        later([=, this] { set_when_free(name, stored, done); });
    });
}

void PublishedNames::end_turn(int by) {
    if (const auto turn = turns_.extract(by)) store_.remove(turn_key(turn.mapped()), {});
}

void PublishedNames::later(std::function<void()> callback) {
    const auto timer = again_.emplace(again_.end());
    *timer = loop_.after(kPause, [this, timer, callback = std::move(callback)] {
        const auto kept = std::make_shared<base::Timer>(std::move(*timer));  // it holds this callback
        again_.erase(timer);
        loop_.post([kept] {});
        callback();
    });
}

void PublishedNames::unpublish(int by, const std::string& name, Done done) {
    end_turn(by);
    store_.remove(key(name), [done = std::move(done)](const base::Result<Values>& removed) {
        if (!removed) return done(removed.error());
        done(removed->front() != "0");
    });
}

void PublishedNames::unpublish_if(int by, const std::string& name, const std::string& beginning, Done done) {
    store_.find(key(name), [=, this, done = std::move(done)](const base::Result<Values>& values) {
        if (!values) return done(values.error());
        if (!values->empty() && values->front().substr(1).starts_with(beginning)) return unpublish(by, name, done);
        end_turn(by);
        done(false);
    });
}

void PublishedNames::look_up(int by, const std::string& name, Found found) {
    store_.find(key(name), [=, this, found = std::move(found)](const base::Result<Values>& values) {
        end_turn(by);
        if (!values) return found(values.error());
        if (values->empty()) return found(std::optional<std::string>());
        const std::string stored = values->front();
        if (!is_single_use(stored)) return found(std::optional(stored.substr(1)));
        unpublish(by, name, [=](const base::Result<bool>& is_ours) {
            if (!is_ours) return found(is_ours.error());
            found(*is_ours ? std::optional(stored.substr(1)) : std::nullopt);
        });
    });
}

void PublishedNames::await(int by, const std::string& name, base::Duration limit, Found found) {
    const Place waiting = waiting_.emplace(waiting_.end(), by, loop_, host_, port_, std::move(found));
    if (limit > base::Duration::zero())
        waiting->limit = loop_.after(limit, [this, waiting] { end(waiting, std::optional<std::string>()); });
    await_value(waiting, name);
}

/// Another rank may find a value of single use first: the key is gone, before its value is read or after.
void PublishedNames::await_value(Place waiting, const std::string& name) {
    waiting->store.get({key(name)}, [=, this](const base::Result<Values>& values) {
        if (!values) return end(waiting, values.error());
        const std::string stored = values->front();
        if (stored.empty()) return await_value(waiting, name);
        if (!is_single_use(stored)) return end(waiting, std::optional(stored.substr(1)));
        waiting->store.remove(key(name), [=, this](const base::Result<Values>& removed) {
            if (!removed) return end(waiting, removed.error());
            if (removed->front() == "0") return await_value(waiting, name);
            end(waiting, std::optional(stored.substr(1)));
        });
    });
}

void PublishedNames::end(Place waiting, const base::Result<std::optional<std::string>>& value) {
    const Found found = std::exchange(waiting->found, {});
    if (!found) return;
    end_turn(waiting->by);
    loop_.post([this, waiting, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) waiting_.erase(waiting);
    });
    found(value);
}

}  // namespace dlaunch::agent
