#include "agent/errors/failure_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/errors/escape.hpp"

namespace dlaunch::agent {
namespace {

using nlohmann::json;

json to_json(const Failure& failure) {
    json words = json::array();
    for (const std::string& word : failure.last_words) words.push_back(valid_utf8(word));
    json object{{"rank", failure.rank},
                {"local_rank", failure.local_rank},
                {"node_rank", failure.node_rank},
                {"role", valid_utf8(failure.role)},
                {"host", valid_utf8(failure.host)},
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
                {"stdout_file", valid_utf8(failure.stdout_file)},
                {"stderr_file", valid_utf8(failure.stderr_file)},
                {"error_file", valid_utf8(failure.error_file)}};
    if (failure.record)
        object["record"] = {{"message", valid_utf8(failure.record->message)},
                            {"callstack", valid_utf8(failure.record->callstack)},
                            {"raw", valid_utf8(failure.record->raw)}};
    return object;
}

/// Throws json::exception if a field is missing or has another type.
Failure from_json(const json& object) {
    Failure failure;
    object.at("rank").get_to(failure.rank);
    object.at("local_rank").get_to(failure.local_rank);
    object.at("node_rank").get_to(failure.node_rank);
    object.at("role").get_to(failure.role);
    object.at("host").get_to(failure.host);
    object.at("pid").get_to(failure.pid);
    failure.how = static_cast<HowEnded>(std::clamp(object.at("how").get<int>(), 0, static_cast<int>(HowEnded::hung)));
    object.at("code").get_to(failure.code);
    object.at("signal").get_to(failure.signal);
    object.at("core_dumped").get_to(failure.core_dumped);
    failure.out_of_memory = static_cast<OutOfMemory>(
        std::clamp(object.at("out_of_memory").get<int>(), 0, static_cast<int>(OutOfMemory::certain)));
    object.at("memory_limit").get_to(failure.memory_limit);
    object.at("text").get_to(failure.text);
    object.at("round").get_to(failure.round);
    failure.after = std::chrono::duration<double>(object.at("after").get<double>());
    failure.when =
        std::chrono::system_clock::time_point(std::chrono::milliseconds(object.at("when_ms").get<std::int64_t>()));
    object.at("last_words").get_to(failure.last_words);
    object.at("stdout_file").get_to(failure.stdout_file);
    object.at("stderr_file").get_to(failure.stderr_file);
    object.at("error_file").get_to(failure.error_file);
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
            if (step == 1) failure.last_words.clear();
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
    }
}

std::string kind_of(const Failure& failure) {
    return fmt::format("{} {} {}", static_cast<int>(failure.how), failure.code, failure.signal);
}

}  // namespace dlaunch::agent
