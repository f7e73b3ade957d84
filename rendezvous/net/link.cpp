#include "rendezvous/net/link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/probe.hpp"
#include "rendezvous/net/refusal.hpp"

namespace dlaunch::rendezvous {

/// A torch store closes the connection at a member's first message without sending a byte. So many such closes in a row
/// identify another service.
constexpr int kMostSilentCloses = 3;
constexpr std::size_t kFirstBytes = 64;

MemberLink::MemberLink(base::Loop& loop, const std::vector<ResolvedEndpoint>& places, Observer observer,
                       auth::TlsContextPtr tls)
    : loop_(loop), observer_(std::move(observer)), tls_(std::move(tls)) {
    retarget(places);
}

void MemberLink::retarget(const std::vector<ResolvedEndpoint>& places) {
    drop();
    targets_.clear();
    for (const ResolvedEndpoint& place : places) targets_.push_back({place, {}});
    next_ = current_ = 0;
    cycle_failed_ = false;
}

/// All addresses of the present endpoint's name stay.
void MemberLink::set_standbys(const std::vector<ResolvedEndpoint>& standbys) {
    const ResolvedEndpoint present = place();
    std::erase_if(targets_, [&](const Target& target) { return target.place.endpoint != present.endpoint; });
    current_ = static_cast<std::size_t>(
        std::ranges::find(targets_, present, [](const Target& target) { return target.place; }) - targets_.begin());
    next_ = current_;
    for (const ResolvedEndpoint& standby : standbys)
        if (standby.endpoint != present.endpoint) targets_.push_back({standby, {}});
}

MemberLink::~MemberLink() { disconnect(); }

void MemberLink::drop() {
    readable_ = {};
    writable_ = {};
    second_.reset();
    stream_.reset();
    reader_.reset();
    unsent_.clear();
    first_bytes_.clear();
    got_message_ = false;
    ++life_;
}

bool MemberLink::all_hopeless() const {
    return std::all_of(targets_.begin(), targets_.end(), [](const Target& target) { return target.hopeless; });
}

/// The next connect() dials the address after the present one.
void MemberLink::try_another() {
    if (!targets_.empty()) next_ = (current_ + 1) % targets_.size();
}

void MemberLink::disconnect() {
    if (stream_) stream_->end();
    drop();
    try_another();
}

/// Records the current endpoint's problem. Returns the problems of all endpoints tried so far.
std::string MemberLink::note_problem(const std::string& why) {
    Target& current = targets_[current_];
    cycle_failed_ = next_ <= current_;
    current.problem = fmt::format("{}: {}", current.place.endpoint.text(), why);
    std::vector<std::string_view> all;
    for (const Target& target : targets_)  // one name may have several addresses
        if (!target.problem.empty() && std::find(all.begin(), all.end(), target.problem) == all.end())
            all.emplace_back(target.problem);
    return fmt::format("{}", fmt::join(all, "; "));
}

void MemberLink::connect() {
    if (stream_) {
        if (!got_message_) {
            try_another();
            static_cast<void>(note_problem("no answer"));
        }
        stream_->reset();
    }
    drop();
    if (std::exchange(cycle_failed_, false)) forget_addresses();
    current_ = next_;
    next_ = (next_ + 1) % targets_.size();
    Target& target = targets_[current_];
    target.hopeless = false;
    if (!target.stale && !target.place.address.empty()) return dial();
    if (!target.look_up.busy()) return look_up(current_);
    if (!target.place.address.empty()) return dial();
    fail(false, "the look-up of its name has not finished");
}

/// Marks names for another look-up, because their addresses may have changed: a restarted pod has a new one. The old
/// address stays in use until the look-up succeeds.
void MemberLink::forget_addresses() {
    std::vector<Target> names;
    for (Target& target : targets_) {
        const auto is_same = [&](const Target& one) { return one.place.endpoint == target.place.endpoint; };
        if (std::any_of(names.begin(), names.end(), is_same)) continue;
        target.stale = !socket_address(target.place.endpoint.host, 0);
        names.push_back(std::move(target));
    }
    targets_ = std::move(names);
    next_ = 0;
}

/// The result serves this call of connect() or, if another call came first, a later one.
void MemberLink::look_up(std::size_t which) {
    auto take = [this, endpoint = targets_[which].place.endpoint,
                 life = life_](const base::Result<std::vector<std::string>>& found) {
        const auto target = std::find_if(targets_.begin(), targets_.end(),
                                         [&](const Target& each) { return each.place.endpoint == endpoint; });
        if (target == targets_.end()) return;
        target->look_up = {};
        const bool has_address = found && !found->empty();
        if (has_address) take_addresses(static_cast<std::size_t>(target - targets_.begin()), *found);
        if (life != life_) return;
        next_ = (current_ + 1) % targets_.size();  // the cycle includes the addresses that were just found
        if (!targets_[current_].place.address.empty()) return dial();
        fail(false, found ? "it has no address" : found.error().text);
    };
    targets_[which].look_up =
        base::Background(loop_, [take, host = targets_[which].place.endpoint.host]() -> std::function<void()> {
            return [take, found = addresses_of(host)] { take(found); };
        });
}

void MemberLink::take_addresses(std::size_t which, const std::vector<std::string>& found) {
    targets_[which].stale = false;
    targets_[which].place.address = found.front();
    for (std::size_t at = 1; at < found.size(); ++at)
        targets_.push_back({{targets_[which].place.endpoint, found[at]}, {}});
}

void MemberLink::dial() {
    const ResolvedEndpoint& place = targets_[current_].place;
    auto address = socket_address(place.address, place.endpoint.port);
    if (!address) return fail(false, address.error().text);
    base::UniqueFd socket(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return fail(errno);
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int done = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->size);
    if (done != 0 && errno != EINPROGRESS) return fail(errno);
    stream_.emplace(std::move(socket), tls_ ? std::make_unique<auth::Tls>(tls_, auth::Tls::Side::client) : nullptr);
    writable_ = loop_.writable(stream_->fd(), [this] { on_connected(); });
}

void MemberLink::fail(int error) { fail(error == ECONNREFUSED, std::strerror(error)); }

void MemberLink::fail(bool refused, const std::string& why) {
    drop();
    targets_[current_].hopeless = refused;
    ConnectFailure failure{refused && all_hopeless(), note_problem(why)};
    failure.has_more = !cycle_failed_;
    loop_.post([this, failure = std::move(failure), life = life_] {
        if (life == life_) observer_.failed(failure);
    });
}

void MemberLink::fail_as_foreign_service(const std::string& how) {
    drop();
    silent_closes_ = 0;
    targets_[current_].hopeless = true;
    try_another();
    const std::string problem = note_problem("another service listens there: " + how);
    observer_.failed({.text = problem, .foreign_service = all_hopeless(), .has_more = !cycle_failed_});
}

/// A failed handshake proves nothing, because any host on the path can forge it. After one answer of a coordinator, a
/// later failure counts as a failed dial.
void MemberLink::fail_handshake(int error) {
    const Refusal refusal = refusal_of(*stream_);
    if (has_been_open_ || refusal.text.empty())
        return fail(false, refusal.text.empty() ? std::strerror(error) : refusal.text);
    if (!refusal.by_coordinator) return fail_as_foreign_service(refusal.text);
    const std::string problem = note_problem(refusal.text);
    drop();
    observer_.failed({.text = problem, .refusal = problem});
}

void MemberLink::on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(stream_->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(error);
    writable_ = {};
    next_ = current_;
    for (Target& target : targets_) target.problem.clear();
    reader_ = std::make_unique<wire::FrameReader>();
    unsent_ = wire::kGreeting;
    readable_ = loop_.readable(stream_->fd(), [this] { on_readable(); });
    if (!stream_->is_open()) flush();
    observer_.connected();
}

void MemberLink::send(const Message& message) {
    if (!reader_) return;  // not connected
    unsent_ += wire::encode(message);
    if (!writable_) flush();
}

void MemberLink::flush() {
    while ((!unsent_.empty() && stream_->is_open()) || stream_->has_unsent()) {
        const auto sent = stream_->send(unsent_);
        unsent_.erase(0, sent.bytes);
        if (sent.blocked) return await_room();
        if (sent.error != 0) unsent_.clear();  // on_readable() reports the end and its reason
    }
    writable_ = {};
    second_.reset();
}

/// Uses a duplicate of the descriptor, because the loop allows one Watch per descriptor and readable_ has the first.
void MemberLink::await_room() {
    if (writable_) return;
    second_ = base::UniqueFd(fcntl(stream_->fd(), F_DUPFD_CLOEXEC, 0));
    writable_ = loop_.writable(second_.get(), [this] { flush(); });
}

void MemberLink::on_readable() {
    std::array<char, 16'384> bytes;
    const bool was_open = stream_->is_open();
    const auto received = stream_->receive(bytes);
    using Kind = net::Stream::Received::Kind;
    if (!was_open && received.kind == Kind::failed) return fail_handshake(received.error);
    if (stream_->is_open()) has_been_open_ = true;
    if (!was_open || stream_->has_unsent()) flush();
    if (received.kind == Kind::nothing) return;
    if (received.kind == Kind::bytes) {
        silent_closes_ = 0;
        if (first_bytes_.size() < kFirstBytes) first_bytes_.append(received.bytes);
        reader_->feed(received.bytes);
        return take_messages();
    }
    if (!tls_ && first_bytes_.empty() && ++silent_closes_ >= kMostSilentCloses)
        return fail_as_foreign_service("it closes every connection without sending a byte");
    drop();
    observer_.closed(received.kind == Kind::end);
}

void MemberLink::take_messages() {
    using Outcome = wire::FrameReader::Outcome;
    Message message;
    for (const auto life = life_; life == life_;) {
        const Outcome outcome = reader_->next(message);
        if (outcome == Outcome::more) return;
        if (outcome == Outcome::message) {
            got_message_ = true;
            observer_.received(message);
            continue;
        }
        if (!got_message_) return fail_as_foreign_service(describe_foreign_service(first_bytes_));
        drop();
        return observer_.closed(false);  // garbage after valid messages
    }
}

}  // namespace dlaunch::rendezvous
