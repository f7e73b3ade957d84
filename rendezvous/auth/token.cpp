#include "rendezvous/auth/token.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::auth {
namespace {

using base::Error;
using base::Result;

constexpr std::size_t kRandomBytes = 32;
constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;

void wipe(std::string& secret) { explicit_bzero(secret.data(), secret.size()); }

/// RFC 4648's alphabet for URLs and file names, without padding.
std::string base64url(const std::array<unsigned char, kRandomBytes>& bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    constexpr unsigned kBits = 6, kMask = (1U << kBits) - 1;
    std::string text;
    text.reserve((bytes.size() * 8 + kBits - 1) / kBits);  // one copy in memory
    std::uint32_t pending = 0;
    unsigned count = 0;
    for (const unsigned char byte : bytes) {
        pending = pending << 8 | byte;
        for (count += 8; count >= kBits; count -= kBits) text += kDigits[pending >> (count - kBits) & kMask];
    }
    if (count > 0) text += kDigits[pending << (kBits - count) & kMask];
    return text;
}

/// The reason why a file is unfit for a secret; empty: none.
std::string fault_of(const struct stat& about) {
    if (!S_ISREG(about.st_mode)) return "is no regular file";
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return fmt::format("belongs to user {}, expected this user or root as its owner", about.st_uid);
    if (about.st_mode & kOfOthers)
        return fmt::format("has mode {:04o}, expected 0600: group and others must not read or write it",
                           about.st_mode & (S_IRWXU | kOfOthers));
    return {};
}

std::string length_fault(std::size_t length) {
    if (length < Token::kLeast)
        return fmt::format("has {} bytes, expected a token of {} at least, as dlaunch token FILE makes one", length,
                           Token::kLeast);
    if (length > Token::kMost) return fmt::format("has more than {} bytes, expected a token", Token::kMost);
    return {};
}

Error system_error(const std::string& path, std::string_view what) {
    return {fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

}  // namespace

Token::Token(std::string_view bytes) : bytes_(bytes) {}
Token::~Token() { wipe(bytes_); }

Result<TokenPtr> token_of(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (std::string fault = length_fault(text.size()); !fault.empty()) return Error{std::move(fault)};
    return std::make_shared<const Token>(text);
}

Result<TokenPtr> read_token(const std::string& path) {
    // O_NONBLOCK: open(2) of a FIFO would wait for a writer.
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0) return system_error(path, "the token file cannot be read");
    if (std::string fault = fault_of(about); !fault.empty()) return Error{fmt::format("{}: {}", path, fault)};
    constexpr std::size_t kMostText = Token::kMost + 2;  // with a line end
    if (static_cast<std::uint64_t>(about.st_size) > kMostText)
        return Error{fmt::format("{}: {}", path, length_fault(kMostText))};
    auto text = base::read_all(file.get(), kMostText);
    if (!text) return Error{fmt::format("{}: {}", path, text.error().text)};
    auto token = token_of(*text);
    wipe(*text);
    if (!token) return token.error().within(path);
    return token;
}

Result<TokenPtr> random_token() {
    std::array<unsigned char, kRandomBytes> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return Error{fmt::format("the kernel gives no random bytes: {}", std::strerror(errno))};
    std::string text = base64url(bytes);
    explicit_bzero(bytes.data(), bytes.size());
    auto token = std::make_shared<const Token>(text);
    wipe(text);
    return token;
}

Result<void> make_token_file(const std::string& path) {
    const auto token = random_token();
    if (!token) return token.error().within(path);
    const base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file && errno == EEXIST)
        return Error{path + ": there is such a file already, expected a new one: a token is never overwritten"};
    if (!file) return system_error(path, "the token file cannot be made");
    // A narrow umask may have taken the owner's rights.
    const bool done = ::fchmod(file.get(), S_IRUSR | S_IWUSR) == 0 && base::write_all(file.get(), (*token)->bytes()) &&
                      base::write_all(file.get(), "\n") && ::fsync(file.get()) == 0;
    if (done) return {};
    auto error = system_error(path, "the token file cannot be written");
    ::unlink(path.c_str());
    return error;
}

}  // namespace dlaunch::auth
