#include "rendezvous/store/client/file_store.hpp"
#include "rendezvous/wire/may_change.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

namespace dlaunch::store {
namespace {

using base::Clock;
using base::Duration;
using base::Error;
using wire::StoreOperation;

constexpr Duration kFirstLook = std::chrono::milliseconds(1), kLastLook = std::chrono::milliseconds(50);
constexpr Duration kFirstTry = std::chrono::microseconds(50), kLastTry = std::chrono::milliseconds(5);

/// Sleeps, longer each time; false when the deadline has passed.
bool pause(Duration& length, Duration most, Time deadline) {
    const auto left = deadline - Clock::now();
    if (left <= Duration::zero()) return false;
    std::this_thread::sleep_for(std::min(length, left));
    length = std::min(2 * length, most);
    return true;
}

int set_lock(int fd, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return fcntl(fd, F_OFD_SETLK, &lock);
}

}  // namespace

FileStore::FileStore(std::string path, base::UniqueFd file)
    : path_(std::move(path)),
      file_(std::move(file)),
      core_(std::make_unique<LocalCore>()),
      decoder_(std::make_unique<wire::Decoder>()),
      others_(core_->begin()) {}

Result<std::unique_ptr<FileStore>> FileStore::open(const std::string& path) {
    base::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file) return Error{fmt::format("{}: {}", path, std::strerror(errno))};
    return std::unique_ptr<FileStore>(new FileStore(path, std::move(file)));
}

Result<std::string> FileStore::exchange(const wire::Request& request, Time deadline) {
    const std::lock_guard guard(mutex_);
    const Slot call = core_->begin();
    auto reply = carry_out(call, request, deadline);
    core_->end(call);
    if (!reply) return reply.error();
    return base::text_result(std::move(reply->bytes));
}

Result<void> FileStore::await(const wire::Request& request, Time deadline) {
    std::unique_lock guard(mutex_);
    const Slot call = core_->begin();
    const auto reply = carry_out(call, request, deadline);
    Result<void> done;
    if (!reply) {
        done = reply.error();
    } else if (reply->bytes.empty()) {
        wire::Request look;  // any request: it replays the log first
        look.operation = StoreOperation::num_keys;
        Duration length = kFirstLook;
        while (done && !core_->answered(call)) {
            guard.unlock();
            const bool in_time = pause(length, kLastLook, deadline);
            guard.lock();
            if (!in_time)
                done = late(request);
            else if (auto looked = carry_out(call, look, deadline); !looked)
                done = looked.error();
        }
    }
    core_->end(call);
    return done;
}

/// Replays the log's new records, executes one request, and appends it to the log if it changed the store.
Result<LocalCore::Reply> FileStore::carry_out(Slot call, const wire::Request& request, Time deadline) {
    if (broken_) return *broken_;
    if (auto locked = lock(request, deadline); !locked) return locked.error();
    const auto current = catch_up();
    if (!current) broken_ = current.error();
    Result<LocalCore::Reply> reply = current ? core_->handle(call, request) : Result<LocalCore::Reply>(current.error());
    if (reply && reply->changed) {
        if (auto written = write_down(request); !written) reply = written.error();
    }
    unlock();
    return reply;
}

/// Polls, because a blocking fcntl() has no deadline.
Result<void> FileStore::lock(const wire::Request& request, Time deadline) {
    const short type = wire::may_change(request.operation) ? F_WRLCK : F_RDLCK;
    Duration length = kFirstTry;
    while (set_lock(file_.get(), type) != 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EACCES) return failed("lock", errno);
        if (!pause(length, kLastTry, deadline)) return late(request);
    }
    return {};
}

void FileStore::unlock() { set_lock(file_.get(), F_UNLCK); }

Result<void> FileStore::catch_up() {
    struct stat about {};
    if (fstat(file_.get(), &about) != 0) return failed("stat", errno);
    const auto size = static_cast<std::uint64_t>(about.st_size);
    if (size < read_) return Error{fmt::format("{}: has become shorter, expected one file for one job", path_)};
    std::array<char, 64 << 10> chunk;
    for (std::uint64_t at = read_; at < size;) {
        const ssize_t count =
            pread(file_.get(), chunk.data(), std::min<std::uint64_t>(chunk.size(), size - at), static_cast<off_t>(at));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return failed("read", count < 0 ? errno : EIO);
        at += static_cast<std::uint64_t>(count);
        if (auto done = replay({chunk.data(), static_cast<std::size_t>(count)}); !done) return done;
        read_ = at;
    }
    // Under the lock no process is writing, so an incomplete record will never be completed.
    if (const std::size_t rest = decoder_->pending(); rest > 0) {
        read_ -= rest;
        decode_from_here();
    }
    return {};
}

Result<void> FileStore::replay(std::string_view bytes) {
    wire::Request request;
    decoder_->feed(bytes);
    auto outcome = decoder_->next(request);
    while (outcome == wire::Decoder::Outcome::request && core_->handle(others_, request))
        outcome = decoder_->next(request);
    const bool old = decoder_->numbering() == wire::Numbering::torch_1_13;
    if (outcome != wire::Decoder::Outcome::more || old) return Error{fmt::format("{}: is no store of dlaunch", path_)};
    decoder_->keep();
    return {};
}

/// Makes a new decoder for the bytes after read_.
void FileStore::decode_from_here() {
    decoder_ = std::make_unique<wire::Decoder>();
    if (read_ == 0) return;
    wire::Request none;
    const std::string magic(wire::kGreeting);
    decoder_->feed(magic);
    [[maybe_unused]] const auto more = decoder_->next(none);
    decoder_->keep();
}

/// Appends to the file a request that core_ has executed already.
Result<void> FileStore::write_down(const wire::Request& request) {
    std::string bytes = read_ == 0 ? std::string(wire::kGreeting) : std::string();
    const bool fresh = read_ == 0;
    wire::encode(request, bytes);
    int error = ftruncate(file_.get(), static_cast<off_t>(read_)) == 0 ? 0 : errno;
    for (std::size_t done = 0; error == 0 && done < bytes.size();) {
        const ssize_t count =
            pwrite(file_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(read_ + done));
        if (count >= 0)
            done += static_cast<std::size_t>(count);
        else if (errno != EINTR)
            error = errno;
    }
    if (error == 0) {
        read_ += bytes.size();
        if (fresh) decode_from_here();
        return {};
    }
    // The request is in core_ but not in the file.
    [[maybe_unused]] const int ignored = ftruncate(file_.get(), static_cast<off_t>(read_));
    broken_ = failed("write", error);
    return *broken_;
}

Error FileStore::failed(const char* what, int number) const {
    return {fmt::format("{}: {}: {}", path_, what, std::strerror(number))};
}

}  // namespace dlaunch::store
