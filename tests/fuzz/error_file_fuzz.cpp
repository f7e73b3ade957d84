// Error files of workers and failure records of other agents: any bytes are either a record or no record. The report
// contains no control character of them, the agent's own error file is a JSON object, and failures pack within their
// limit.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "agent/errors/error_file.hpp"
#include "agent/errors/failure_record.hpp"
#include "agent/errors/report.hpp"

using namespace dlaunch::agent;

namespace {

void expect(bool truth) {
    if (!truth) std::abort();
}

void check_reports(std::vector<Failure> failures) {
    JobResult end;
    end.failures = std::move(failures);
    const std::string report = text_report(end);
    expect(std::ranges::none_of(
        report, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F; }));
    expect(nlohmann::json::parse(json_report(end)).is_object());
}

void check_error_file(const std::string& text) {
    Failure failure;
    failure.code = 1;
    failure.host = "node1";
    failure.record = parse_error_file(text);
    if (failure.record) expect(!failure.record->message.empty() && failure.record->raw == text);
    expect(nlohmann::json::parse(agent_error_file(failure)).is_object());
    check_reports({failure});
}

void check_failures(const std::string& text) {
    auto failures = unpack_failures(text);
    if (!failures) return;
    constexpr std::size_t kLimit = 2000;
    const std::string packed = pack_failures(*failures, kLimit);
    expect(packed.size() <= kLimit && unpack_failures(packed));
    for (const Failure& failure : *failures) expect(!agent_error_file(failure).empty());
    check_reports(std::move(*failures));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check_error_file(text);
    check_failures(text);
    return 0;
}
