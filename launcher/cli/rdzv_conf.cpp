#include "launcher/cli/rdzv_conf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "launcher/cli/suggest.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/cli/words.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

enum class Kind : unsigned char { time, time_above_0, count_above_0, count, truth, store_type, any };

struct Key {
    std::string_view name;
    Kind kind;
};

constexpr Key kKeys[] = {
    {"join_timeout", Kind::time_above_0},
    {"last_call_timeout", Kind::time},
    {"read_timeout", Kind::time_above_0},
    {"keep_alive_interval", Kind::time},
    {"keep_alive_max_attempt", Kind::count_above_0},
    {"is_host", Kind::truth},
    {"timeout", Kind::time_above_0},         // static and etcd
    {"rejoin_timeout", Kind::time_above_0},  // ours
    // Without effect here.
    {"close_timeout", Kind::time},
    {"heartbeat_timeout", Kind::time},
    {"cas_backoff_max_seconds", Kind::time},
    {"use_libuv", Kind::truth},
    {"store_type", Kind::store_type},
    {"rank", Kind::count},
    {"etcd_prefix", Kind::any},
    {"protocol", Kind::any},
    {"cert", Kind::any},
    {"key", Kind::any},
    {"cacert", Kind::any},
    {"ssl_cert", Kind::any},
    {"ssl_cert_key", Kind::any},
    {"ca_cert", Kind::any},
};

Error unknown(std::string_view key) {
    std::vector<std::string_view> names;
    for (const Key& each : kKeys) names.push_back(each.name);
    const std::string_view best = nearest(key, names);
    return {fmt::format("unknown key {}, expected join_timeout, last_call_timeout or another of those in man dlaunch{}",
                        key, best.empty() ? "" : fmt::format("; did you mean {}?", best))};
}

/// As torchrun reads them, and as our own switches do.
Result<std::string> truth(std::string_view value) {
    if (value == "t" || value == "T" || value == "y" || value == "Y") return base::text_result("1");
    if (value == "f" || value == "F" || value == "n" || value == "N") return base::text_result("0");
    const auto on = parse_switch(value);
    if (!on) return on.error();
    return base::text_result(*on ? "1" : "0");
}

/// The value in the form that the plan wants, or what was expected.
Result<std::string> checked(Kind kind, std::string_view value) {
    constexpr int kMost = 1'000'000;
    switch (kind) {
        case Kind::time:
            if (!parse_seconds(value)) return Error{"expected a number of seconds from 0"};
            break;
        case Kind::time_above_0:
            if (const auto time = parse_seconds(value); !time || time->count() == 0)
                return Error{"expected a number of seconds above 0"};
            break;
        case Kind::count_above_0:
            if (!whole_number(value, 1, kMost)) return Error{"expected a number from 1"};
            break;
        case Kind::count:
            if (!whole_number(value, 0, kMost)) return Error{"expected a number from 0"};
            break;
        case Kind::truth: return truth(value);
        case Kind::store_type:
            if (value == "file") return Error{"expected tcp; nodes that share a folder use file:///FOLDER as endpoint"};
            if (value != "tcp") return Error{"expected tcp"};
            break;
        case Kind::any: break;
    }
    return base::text_result(std::string(value));
}

}  // namespace

Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text) {
    std::map<std::string, std::string> pairs;
    if (trimmed(text).empty()) return pairs;
    for (std::string_view part : split(text, ',')) {
        const std::size_t equals = part.find('=');
        const std::string_view key = trimmed(part.substr(0, equals));
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view() : trimmed(part.substr(equals + 1));
        if (key.empty() || value.empty()) return Error{"expected KEY=VALUE,KEY=VALUE"};
        const auto known = std::ranges::find(kKeys, key, &Key::name);
        if (known == std::end(kKeys)) return unknown(key);
        auto right = checked(known->kind, value);
        if (!right) return right.error().within(fmt::format("{}={}", key, value));
        pairs[std::string(key)] = std::move(*right);
    }
    return pairs;
}

}  // namespace dlaunch::launcher
