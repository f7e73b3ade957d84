#include "rendezvous/discovery/etcd_wire.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "rendezvous/base/base64.hpp"

namespace dlaunch::rendezvous::etcd {
namespace {

using Json = nlohmann::json;
using base::Error;
using base::from_base64;
using base::Result;
using base::to_base64;

constexpr int kUnauthenticated = 16;  // gRPC's

std::string dumped(const Json& json) {
    // Bytes that are no UTF-8, as in a password, must not be an error here.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// None: no object.
std::optional<Json> object_in(std::string_view body) {
    Json json = Json::parse(body, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    return json;
}

/// The member of an object; null if it is missing.
const Json& at(const Json& json, const char* name) {
    static const Json kNull;
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found == json.end() ? kNull : *found;
}

/// A number, which may be a string; 0 if it is missing.
std::int64_t number_at(const Json& json, const char* name) {
    const Json& value = at(json, name);
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_string()) return 0;
    const auto& text = value.get_ref<const std::string&>();
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string string_at(const Json& json, const char* name) {
    const Json& value = at(json, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

Error no_reply(std::string_view body) {
    constexpr std::size_t kShown = 60;
    return {fmt::format("no reply of etcd: {}", dumped(Json(std::string(body.substr(0, kShown)))))};
}

Json compare_of(const Compare& compare) {
    Json json = {{"key", to_base64(compare.key)}, {"result", "EQUAL"}};
    switch (compare.what) {
        case Compare::What::create_revision:
            json["target"] = "CREATE";
            json["create_revision"] = std::to_string(compare.revision);
            break;
        case Compare::What::mod_revision:
            json["target"] = "MOD";
            json["mod_revision"] = std::to_string(compare.revision);
            break;
        case Compare::What::value:
            json["target"] = "VALUE";
            json["value"] = to_base64(compare.value);
            break;
    }
    return json;
}

}  // namespace

std::string range_request(std::string_view prefix) {
    std::string end(prefix);  // the first key that does not begin with the prefix, whose last byte is below 0xff
    if (!end.empty()) end.back() = static_cast<char>(end.back() + 1);
    return dumped({{"key", to_base64(prefix)}, {"range_end", to_base64(end)}});
}

Result<std::vector<KeyValue>> range_reply(std::string_view body) {
    const auto json = object_in(body);
    if (!json || !json->contains("header")) return no_reply(body);
    std::vector<KeyValue> found;
    for (const Json& each : at(*json, "kvs")) {
        auto key = from_base64(string_at(each, "key")), value = from_base64(string_at(each, "value"));
        if (!key || !value) return no_reply(body);
        found.push_back({std::move(*key), std::move(*value), number_at(each, "create_revision"),
                         number_at(each, "mod_revision"), number_at(each, "lease")});
    }
    return found;
}

std::string transaction_request(const Transaction& transaction) {
    Json compares = Json::array(), actions = Json::array();
    for (const Compare& compare : transaction.compares) compares.push_back(compare_of(compare));
    for (const Put& put : transaction.puts)
        actions.push_back(
            {{"request_put",
              {{"key", to_base64(put.key)}, {"value", to_base64(put.value)}, {"lease", std::to_string(put.lease)}}}});
    for (const std::string& key : transaction.deletes)
        actions.push_back({{"request_delete_range", {{"key", to_base64(key)}}}});
    return dumped({{"compare", compares}, {"success", actions}});
}

Result<bool> transaction_reply(std::string_view body) {
    const auto json = object_in(body);
    if (!json || !json->contains("header")) return no_reply(body);
    const Json& succeeded = at(*json, "succeeded");
    return succeeded.is_boolean() && succeeded.get<bool>();
}

std::string grant_request(std::int64_t seconds) { return dumped({{"TTL", std::to_string(seconds)}}); }

Result<std::int64_t> grant_reply(std::string_view body) {
    const auto json = object_in(body);
    const std::int64_t lease = json ? number_at(*json, "ID") : 0;
    if (lease == 0) return no_reply(body);
    return lease;
}

std::string lease_request(std::int64_t lease) { return dumped({{"ID", std::to_string(lease)}}); }

Result<std::int64_t> keep_alive_reply(std::string_view body) {
    const auto json = object_in(body);
    const Json& result = json ? at(*json, "result") : at({}, "");
    if (!result.is_object()) return no_reply(body);
    return number_at(result, "TTL");
}

std::string authenticate_request(std::string_view name, std::string_view password) {
    return dumped({{"name", name}, {"password", password}});
}

Result<std::string> authenticate_reply(std::string_view body) {
    const auto json = object_in(body);
    std::string token = json ? string_at(*json, "token") : std::string();
    if (token.empty()) return Error{"no reply of etcd to the user's name and password"};
    return base::text_result(std::move(token));
}

bool Refusal::wants_authentication() const {
    return code == kUnauthenticated || text.find("invalid auth token") != std::string::npos ||
           text.find("user name is empty") != std::string::npos;
}

Refusal refusal_of(int http_status, std::string_view body) {
    const auto json = object_in(body);
    std::string text = json ? string_at(*json, "message") : std::string();
    if (text.empty() && json) text = string_at(*json, "error");
    if (text.empty()) return {-1, fmt::format("HTTP status {}, expected the API v3 of etcd 3.4 or newer", http_status)};
    return {at(*json, "code").is_number() ? static_cast<int>(number_at(*json, "code")) : -1, std::move(text)};
}

}  // namespace dlaunch::rendezvous::etcd
