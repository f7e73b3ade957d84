#include "rendezvous/coordinate/job.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
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
    Time time() { return Time(Milliseconds(static_cast<std::int64_t>(number()))); }
    [[nodiscard]] bool good() const { return good_; }

private:
    std::string_view left_;
    bool good_ = true;
};

std::string text_of(Time time) {
    return std::to_string(std::chrono::duration_cast<Milliseconds>(time.time_since_epoch()).count());
}

void put(std::string& out, const HeldClaim& claim) {
    put(out, std::to_string(claim.index()));
    if (const auto* folder = std::get_if<FolderSeat>(&claim)) {
        for (const std::string& text :
             {folder->path, folder->content, std::to_string(folder->number), text_of(folder->asked)})
            put(out, text);
        return;
    }
    const auto& seat = std::get<EtcdSeat>(claim);
    const EtcdPlace& at = seat.at;
    for (const std::string& text : {seat.prefix, seat.content, at.authorities, at.certificate, at.key, at.user})
        put(out, text);
    put(out, std::to_string(at.https ? 1 : 0));
    put(out, std::to_string(seat.node_timeout.count()));
    put(out, text_of(seat.asked));
    put(out, std::to_string(at.members.size()));
    for (const Endpoint& member : at.members) {
        put(out, member.host);
        put(out, std::to_string(member.port));
    }
}

HeldClaim claim_of(Fields& fields) {
    if (fields.number() == 0) {
        FolderSeat seat;
        seat.path = fields.text();
        seat.content = fields.text();
        seat.number = fields.number();
        seat.asked = fields.time();
        return seat;
    }
    EtcdSeat seat;
    EtcdPlace& at = seat.at;
    for (std::string* text : {&seat.prefix, &seat.content, &at.authorities, &at.certificate, &at.key, &at.user})
        *text = fields.text();
    at.https = fields.number() != 0;
    seat.node_timeout = Milliseconds(static_cast<std::int64_t>(fields.number()));
    seat.asked = fields.time();
    for (std::uint64_t members = fields.number(); members > 0 && fields.good(); --members) {
        Endpoint member;
        member.host = fields.text();
        member.port = static_cast<int>(fields.number());
        at.members.push_back(std::move(member));
    }
    return seat;
}

}  // namespace

std::string encode(const CoordinatorJob& job) {
    const Coordinator::Options& options = job.options;
    Snapshot config;
    config.config = options;
    std::string out;
    for (const std::string& text : {options.version, options.job_id, options.host, options.role, options.program,
                                    options.place, wire::encode(config)})
        put(out, text);
    for (const std::uint64_t number :
         {options.epoch, std::uint64_t{options.succeeds}, static_cast<std::uint64_t>(options.more_hosts),
          std::uint64_t{options.one_console}, options.expected_hosts.size()})
        put(out, std::to_string(number));
    for (const std::string& host : options.expected_hosts) put(out, host);
    put(out, options.snapshot ? wire::encode(*options.snapshot) : std::string());
    put(out, std::to_string(job.claim ? 1 : 0));
    if (job.claim) {
        put(out, *job.claim);
    }
    put(out, job.token ? job.token->bytes() : std::string_view());
    put(out, text_of(job.began));
    return out;
}

std::optional<CoordinatorJob> decode_job(std::string_view bytes) {
    Fields fields(bytes);
    CoordinatorJob job;
    Coordinator::Options& options = job.options;
    for (std::string* text :
         {&options.version, &options.job_id, &options.host, &options.role, &options.program, &options.place})
        *text = fields.text();
    const auto config = wire::decode_snapshot(fields.text());
    if (!config) return std::nullopt;
    static_cast<JobConfig&>(options) = config->config;
    options.epoch = fields.number();
    options.succeeds = fields.number() != 0;
    options.more_hosts = static_cast<MoreHosts>(fields.number());
    options.one_console = fields.number() != 0;
    for (std::uint64_t hosts = fields.number(); hosts > 0 && fields.good(); --hosts)
        options.expected_hosts.push_back(fields.text());
    options.snapshot = wire::decode_snapshot(fields.text());
    if (fields.number() != 0) {
        job.claim = claim_of(fields);
    }
    if (std::string token = fields.text(); !token.empty()) {
        job.token = std::make_shared<const auth::Token>(token);
        explicit_bzero(token.data(), token.size());
    }
    job.began = fields.time();
    if (!fields.good()) return std::nullopt;
    return job;
}

}  // namespace dlaunch::rendezvous
