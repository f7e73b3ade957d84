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

namespace dlaunch::rendezvous {

/// A torch store closes the connection at a member's first message without sending a byte. So many such closes in a row
/// identify another service.
constexpr int kMostSilentCloses = 3;
constexpr std::size_t kFirstBytes = 64;

MemberLink::MemberLink(base::Loop& loop, const std::vector<ResolvedEndpoint>& places, Observer observer)
    : loop_(loop), observer_(std::move(observer)) {
    retarget(places);
}

void MemberLink::retarget(const std::vector<ResolvedEndpoint>& places) {
    drop();
    targets_.clear();
    for (const ResolvedEndpoint& place : places) targets_.push_back({place, {}});
    next_ = current_ = 0;
    cycle_failed_ = false;
}

MemberLink::~MemberLink() { disconnect(); }

void MemberLink::drop() {
    readable_ = {};
    writable_ = {};
    second_.reset();
    socket_.reset();
    reader_.reset();
    unsent_.clear();
    first_bytes_.clear();
    got_message_ = false;
    ++life_;
}

bool MemberLink::all_hopeless() const {
    return std::all_of(targets_.begin(), targets_.end(), [](const Target& target) { return target.hopeless; });
}

void MemberLink::disconnect() {
    if (socket_) {
        // With unread input the kernel would send RST instead of FIN.
        std::array<char, 4096> unread;
        while (recv(socket_.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0) {}
        shutdown(socket_.get(), SHUT_WR);
    }
    drop();
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
    if (socket_) {
        if (!got_message_) {
            next_ = (current_ + 1) % targets_.size();
            static_cast<void>(note_problem("no answer"));
        }
        const linger reset{1, 0};
        setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
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
    socket_ = base::UniqueFd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int done = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->size);
    if (done != 0 && errno != EINPROGRESS) return fail(errno);
    writable_ = loop_.writable(socket_.get(), [this] { on_connected(); });
}

void MemberLink::fail(int error) { fail(error == ECONNREFUSED, std::strerror(error)); }

void MemberLink::fail(bool refused, const std::string& why) {
    drop();
    targets_[current_].hopeless = refused;
    const ConnectFailure failure{refused && all_hopeless(), note_problem(why)};
    loop_.post([this, failure, life = life_] {
        if (life == life_) observer_.failed(failure);
    });
}

void MemberLink::fail_as_foreign_service(const std::string& how) {
    drop();
    silent_closes_ = 0;
    targets_[current_].hopeless = true;
    next_ = (current_ + 1) % targets_.size();
    observer_.failed({false, note_problem("another service listens there: " + how), all_hopeless()});
}

void MemberLink::on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(error);
    writable_ = {};
    next_ = current_;
    for (Target& target : targets_) target.problem.clear();
    reader_ = std::make_unique<wire::FrameReader>();
    unsent_ = wire::kGreeting;
    readable_ = loop_.readable(socket_.get(), [this] { on_readable(); });
    observer_.connected();
}

void MemberLink::send(const Message& message) {
    if (!reader_) return;  // not connected
    unsent_ += wire::encode(message);
    if (!writable_) flush();
}

void MemberLink::flush() {
    while (!unsent_.empty()) {
        const ssize_t count = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
        if (count > 0) {
            unsent_.erase(0, static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            return await_room();
        } else if (errno != EINTR) {
            unsent_.clear();  // on_readable() reports the end and its reason
        }
    }
    writable_ = {};
    second_.reset();
}

/// Uses a duplicate of the descriptor, because the loop allows one Watch per descriptor and readable_ has the first.
void MemberLink::await_room() {
    if (writable_) return;
    second_ = base::UniqueFd(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
    writable_ = loop_.writable(second_.get(), [this] { flush(); });
}

void MemberLink::on_readable() {
    std::array<char, 16'384> bytes;
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count > 0) {
        silent_closes_ = 0;
        if (first_bytes_.size() < kFirstBytes) first_bytes_.append(bytes.data(), static_cast<std::size_t>(count));
        reader_->feed({bytes.data(), static_cast<std::size_t>(count)});
        return take_messages();
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (first_bytes_.empty() && ++silent_closes_ >= kMostSilentCloses)
        return fail_as_foreign_service("it closes every connection without sending a byte");
    drop();
    observer_.closed(count == 0);
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
