#include "agent/errors/failure_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {
namespace {

using base::valid_utf8;
using nlohmann::json;

constexpr std::size_t kMostMessageBytes = 500;  // a report shows its first line

json to_json(const Failure& failure) {
    json words = json::array(), stack = json::array();
    for (const std::string& word : failure.stderr_tail) words.push_back(valid_utf8(word));
    for (const std::string& frame : failure.stack) stack.push_back(valid_utf8(frame));
    json object{{"rank", failure.rank},
                {"local_rank", failure.local_rank},
                {"node_rank", failure.node_rank},
                {"role", valid_utf8(failure.role)},
                {"host", valid_utf8(failure.host)},
                {"program", valid_utf8(failure.program)},
                {"pid", failure.pid},
                {"how", static_cast<int>(failure.how)},
                {"code", failure.code},
                {"signal", failure.signal},
                {"core_dumped", failure.core_dumped},
                {"out_of_memory", static_cast<int>(failure.out_of_memory)},
                {"memory_limit", failure.memory_limit},
                {"text", valid_utf8(failure.text)},
                {"round", failure.round},
                {"after", failure.after.count()},
                {"when_ms", std::chrono::floor<std::chrono::milliseconds>(failure.when.time_since_epoch()).count()},
                {"last_words", std::move(words)},
                {"last_line", valid_utf8(failure.last_line)},
                {"silent_for", failure.silent_for.count()},
                {"stack", std::move(stack)},
                {"message", valid_utf8(failure.message.substr(0, kMostMessageBytes))},
                {"collateral", failure.collateral},
                {"strength", static_cast<int>(failure.strength)},
                {"lost_ranks", failure.lost_ranks},
                {"lost_service", failure.lost_service},
                {"lost_outside", failure.lost_outside},
                {"is_suspect", failure.is_suspect},
                {"stdout_file", valid_utf8(failure.stdout_file)},
                {"stderr_file", valid_utf8(failure.stderr_file)},
                {"error_file", valid_utf8(failure.error_file)},
                {"log_folder", valid_utf8(failure.log_folder)}};
    if (failure.usage)
        object["usage"] = {{"max_rss_kib", failure.usage->max_rss_kib},
                           {"user_seconds", failure.usage->user_seconds},
                           {"system_seconds", failure.usage->system_seconds}};
    if (failure.record)
        object["record"] = {{"message", valid_utf8(failure.record->message)},
                            {"callstack", valid_utf8(failure.record->callstack)},
                            {"raw", valid_utf8(failure.record->raw)}};
    return object;
}

constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();
/// Of the year 2262: later times do not fit into the clock.
constexpr std::int64_t kLatestMs =
    std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::duration::max()).count();
constexpr double kMostSeconds = 1e10;
constexpr std::int64_t kMostKib = std::int64_t{1} << 53;

/// The whole number at object[key]. Throws std::out_of_range: no agent sends one beyond these bounds.
std::int64_t number_at(const json& object, const char* key, std::int64_t most) {
    const json& value = object.at(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
        throw std::out_of_range(key);
    return value.get<std::int64_t>();
}

int int_at(const json& object, const char* key, std::int64_t most = kMostInt) {
    return static_cast<int>(number_at(object, key, most));
}

double seconds_at(const json& object, const char* key) {
    const auto seconds = object.at(key).get<double>();
    if (!(seconds >= 0 && seconds <= kMostSeconds)) throw std::out_of_range(key);
    return seconds;
}

/// Throws json::exception if a field is missing or has another type, std::out_of_range for impossible numbers.
Failure from_json(const json& object) {
    Failure failure;
    failure.rank = int_at(object, "rank");
    failure.local_rank = int_at(object, "local_rank");
    failure.node_rank = int_at(object, "node_rank");
    object.at("role").get_to(failure.role);
    object.at("host").get_to(failure.host);
    object.at("program").get_to(failure.program);
    failure.pid = int_at(object, "pid");
    failure.how = static_cast<ExitKind>(int_at(object, "how", static_cast<int>(ExitKind::stopped)));
    failure.code = int_at(object, "code", 255);
    failure.signal = int_at(object, "signal", 127);
    object.at("core_dumped").get_to(failure.core_dumped);
    failure.out_of_memory =
        static_cast<OutOfMemory>(int_at(object, "out_of_memory", static_cast<int>(OutOfMemory::certain)));
    object.at("memory_limit").get_to(failure.memory_limit);
    object.at("text").get_to(failure.text);
    failure.round = int_at(object, "round");
    failure.after = std::chrono::duration<double>(seconds_at(object, "after"));
    failure.when =
        std::chrono::system_clock::time_point(std::chrono::milliseconds(number_at(object, "when_ms", kLatestMs)));
    object.at("last_words").get_to(failure.stderr_tail);
    object.at("message").get_to(failure.message);
    object.at("last_line").get_to(failure.last_line);
    failure.silent_for = std::chrono::duration<double>(seconds_at(object, "silent_for"));
    object.at("stack").get_to(failure.stack);
    object.at("collateral").get_to(failure.collateral);
    failure.strength = static_cast<Strength>(int_at(object, "strength", static_cast<int>(Strength::none)));
    object.at("lost_ranks").get_to(failure.lost_ranks);
    object.at("lost_service").get_to(failure.lost_service);
    object.at("lost_outside").get_to(failure.lost_outside);
    object.at("is_suspect").get_to(failure.is_suspect);
    object.at("stdout_file").get_to(failure.stdout_file);
    object.at("stderr_file").get_to(failure.stderr_file);
    object.at("error_file").get_to(failure.error_file);
    object.at("log_folder").get_to(failure.log_folder);
    if (auto usage = object.find("usage"); usage != object.end())
        failure.usage = Usage{number_at(*usage, "max_rss_kib", kMostKib), seconds_at(*usage, "user_seconds"),
                              seconds_at(*usage, "system_seconds")};
    if (auto record = object.find("record"); record != object.end())
        failure.record = ErrorRecord{record->at("message").get<std::string>(),
                                     record->at("callstack").get<std::string>(), record->at("raw").get<std::string>()};
    return failure;
}

std::string dump(const std::vector<Failure>& failures) {
    json all = json::array();
    for (const Failure& failure : failures) all.push_back(to_json(failure));
    return all.dump();
}

}  // namespace

std::string pack_failures(std::vector<Failure> failures, std::size_t limit) {
    constexpr int kSteps = 4;
    std::string text = dump(failures);
    for (int step = 0; step < kSteps && text.size() > limit; ++step) {
        for (Failure& failure : failures) {
            if (step == 0 && failure.record) failure.record->raw.clear();
            if (step == 1) failure.stderr_tail.clear(), failure.stack.clear();
            if (step == 2) failure.record.reset();
        }
        if (step == 3) failures.resize(std::min<std::size_t>(failures.size(), 1));
        text = dump(failures);
    }
    return text.size() > limit ? std::string("[]") : text;
}

std::optional<std::vector<Failure>> unpack_failures(std::string_view text) {
    try {
        std::vector<Failure> failures;
        for (const json& object : json::parse(text)) failures.push_back(from_json(object));
        return failures;
    } catch (const json::exception&) {
        return std::nullopt;
    } catch (const std::out_of_range&) {
        return std::nullopt;
    }
}

std::string kind_of(const Failure& failure) {
    return fmt::format("{} {} {}", static_cast<int>(failure.how), failure.code, failure.signal);
}

}  // namespace dlaunch::agent
