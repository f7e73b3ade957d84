#include "rendezvous/coordinate/job.hpp"

#include <charconv>
#include <cstdint>
#include <utility>

#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

/// A netstring: its size, a colon, its bytes.
void put(std::string& out, std::string_view text) {
    out += std::to_string(text.size()) + ":";
    out += text;
}

class Fields {
public:
    explicit Fields(std::string_view bytes) : left_(bytes) {}

    std::string text() {
        std::size_t size = 0;
        const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), size);
        const auto digits = static_cast<std::size_t>(end - left_.data());
        if (error != std::errc() || digits >= left_.size() || left_[digits] != ':' ||
            size > left_.size() - digits - 1) {
            good_ = false;
            left_ = {};
            return {};
        }
        std::string text(left_.substr(digits + 1, size));
        left_.remove_prefix(digits + 1 + size);
        return text;
    }
    std::uint64_t number() {
        const std::string digits = text();
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        good_ = good_ && error == std::errc() && end == digits.data() + digits.size();
        return value;
    }
    [[nodiscard]] bool good() const { return good_; }

private:
    std::string_view left_;
    bool good_ = true;
};

}  // namespace

std::string encode(const CoordinatorJob& job) {
    const Coordinator::Options& options = job.options;
    Snapshot config;
    config.config = options;
    std::string out;
    for (const std::string& text :
         {options.version, options.job_id, options.host, options.role, options.program, wire::encode(config)})
        put(out, text);
    for (const std::uint64_t number : {options.epoch, std::uint64_t{options.succeeds}, std::uint64_t{options.is_closed},
                                       options.expected_hosts.size()})
        put(out, std::to_string(number));
    for (const std::string& host : options.expected_hosts) put(out, host);
    put(out, options.snapshot ? wire::encode(*options.snapshot) : std::string());
    put(out, std::to_string(job.claim ? 1 : 0));
    if (job.claim) {
        put(out, job.claim->path);
        put(out, job.claim->content);
        put(out, std::to_string(job.claim->number));
    }
    put(out, std::to_string(std::chrono::duration_cast<Milliseconds>(job.began.time_since_epoch()).count()));
    return out;
}

std::optional<CoordinatorJob> decode_job(std::string_view bytes) {
    Fields fields(bytes);
    CoordinatorJob job;
    Coordinator::Options& options = job.options;
    for (std::string* text : {&options.version, &options.job_id, &options.host, &options.role, &options.program})
        *text = fields.text();
    const auto config = wire::decode_snapshot(fields.text());
    if (!config) return std::nullopt;
    static_cast<JobConfig&>(options) = config->config;
    options.epoch = fields.number();
    options.succeeds = fields.number() != 0;
    options.is_closed = fields.number() != 0;
    for (std::uint64_t hosts = fields.number(); hosts > 0 && fields.good(); --hosts)
        options.expected_hosts.push_back(fields.text());
    options.snapshot = wire::decode_snapshot(fields.text());
    if (fields.number() != 0) {
        HeldClaim claim;
        claim.path = fields.text();
        claim.content = fields.text();
        claim.number = fields.number();
        job.claim = std::move(claim);
    }
    job.began = Time(Milliseconds(static_cast<std::int64_t>(fields.number())));
    if (!fields.good()) return std::nullopt;
    return job;
}

}  // namespace dlaunch::rendezvous
