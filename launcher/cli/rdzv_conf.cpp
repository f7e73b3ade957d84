#include "launcher/cli/rdzv_conf.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/split.hpp"
#include "launcher/cli/suggest.hpp"
#include "launcher/cli/values.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;
using Done = Result<void>;
using Time = RdzvConf::Time;

constexpr int kMostCount = 1'000'000;

Result<std::chrono::milliseconds> time_from_0(std::string_view value) {
    auto time = parse_seconds(value);
    if (!time) return Error{"expected a number of seconds from 0"};
    return *time;
}

template <Time RdzvConf::*member>
Done set_time(std::string_view value, RdzvConf& conf) {
    const auto time = parse_seconds(value);
    if (!time || time->count() == 0) return Error{"expected a number of seconds above 0"};
    conf.*member = *time;
    return {};
}

template <Time RdzvConf::*member>
Done set_time_from_0(std::string_view value, RdzvConf& conf) {
    const auto time = time_from_0(value);
    if (!time) return time.error();
    conf.*member = *time;
    return {};
}

Done set_attempts(std::string_view value, RdzvConf& conf) {
    const auto count = whole_number(value, 1, kMostCount);
    if (!count) return Error{"expected a number from 1"};
    conf.keep_alive_max_attempt = static_cast<int>(*count);
    return {};
}

/// Accepts torchrun's truth values and those of dlaunch's switches.
Result<bool> truth(std::string_view value) {
    for (const char* yes : {"t", "T", "y", "Y"})
        if (value == yes) return true;
    for (const char* no : {"f", "F", "n", "N"})
        if (value == no) return false;
    return parse_switch(value);
}

Done set_is_host(std::string_view value, RdzvConf& conf) {
    const auto on = truth(value);
    if (!on) return on.error();
    conf.is_host = *on;
    return {};
}

template <std::string RdzvConf::*member>
Done set_file(std::string_view value, RdzvConf& conf) {
    conf.*member = value;
    return {};
}

Done set_protocol(std::string_view value, RdzvConf& conf) {
    if (value != "http" && value != "https") return Error{"expected http or https"};
    conf.https = value == "https";
    return {};
}

Done set_prefix(std::string_view value, RdzvConf& conf) {
    if (!value.starts_with('/')) return Error{"expected a prefix of keys, as /jobs"};
    while (value.ends_with('/')) value.remove_suffix(1);
    conf.etcd_prefix = value;
    return {};
}

// Keys without effect: the values are only checked.

Done check_time(std::string_view value, RdzvConf&) {
    const auto time = time_from_0(value);
    return time ? Done() : Done(time.error());
}

Done check_count(std::string_view value, RdzvConf&) {
    return whole_number(value, 0, kMostCount) ? Done() : Done(Error{"expected a number from 0"});
}

Done check_truth(std::string_view value, RdzvConf&) {
    const auto on = truth(value);
    return on ? Done() : Done(on.error());
}

Done check_store_type(std::string_view value, RdzvConf&) {
    if (value == "file") return Error{"expected tcp; nodes that share a folder use file:///FOLDER as endpoint"};
    return value == "tcp" ? Done() : Done(Error{"expected tcp"});
}

struct Key {
    std::string_view name;
    Done (*set)(std::string_view value, RdzvConf& conf);
};

constexpr Key kKeys[] = {
    {"join_timeout", set_time<&RdzvConf::join_timeout>},
    {"last_call_timeout", set_time_from_0<&RdzvConf::last_call_timeout>},
    {"read_timeout", set_time<&RdzvConf::read_timeout>},
    {"keep_alive_interval", set_time_from_0<&RdzvConf::keep_alive_interval>},
    {"keep_alive_max_attempt", set_attempts},
    {"is_host", set_is_host},
    {"timeout", set_time<&RdzvConf::timeout>},
    {"rejoin_timeout", set_time<&RdzvConf::rejoin_timeout>},
    {"close_timeout", check_time},
    {"heartbeat_timeout", check_time},
    {"cas_backoff_max_seconds", check_time},
    {"use_libuv", check_truth},
    {"store_type", check_store_type},
    {"rank", check_count},
    {"etcd_prefix", set_prefix},
    {"protocol", set_protocol},
    {"cert", set_file<&RdzvConf::certificate>},
    {"key", set_file<&RdzvConf::key>},
    {"cacert", set_file<&RdzvConf::authorities>},
    {"ssl_cert", set_file<&RdzvConf::certificate>},
    {"ssl_cert_key", set_file<&RdzvConf::key>},
    {"ca_cert", set_file<&RdzvConf::authorities>},
};

std::string unknown(std::string_view key) {
    std::vector<std::string_view> names;
    for (const Key& each : kKeys) names.push_back(each.name);
    const std::string_view best = nearest(key, names);
    return fmt::format("unknown key {} is ignored{}", base::printable(key),
                       best.empty() ? "" : fmt::format("; did you mean {}?", best));
}

/// Removes quotes around the whole list, which scripts for torchrun often contain.
std::string_view unquoted(std::string_view text) {
    const bool quoted = text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
    return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

Result<RdzvConf> parse_rdzv_conf(std::string_view text) {
    RdzvConf conf;
    text = unquoted(trimmed(text));
    if (trimmed(text).empty()) return conf;
    for (std::string_view part : split(text, ',')) {
        const std::size_t equals = part.find('=');
        const std::string_view name = trimmed(part.substr(0, equals));
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view() : trimmed(part.substr(equals + 1));
        if (name.empty() || value.empty()) return Error{"expected KEY=VALUE,KEY=VALUE"};
        const auto key = std::ranges::find(kKeys, name, &Key::name);
        if (key == std::end(kKeys)) {
            conf.warnings.push_back(unknown(name));
            continue;
        }
        if (auto done = key->set(value, conf); !done) return done.error().within(fmt::format("{}={}", name, value));
    }
    return conf;
}

}  // namespace dlaunch::launcher
