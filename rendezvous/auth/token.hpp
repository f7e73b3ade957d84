#pragma once
/// The token of a job: a secret text that all of its nodes have, and strangers do not.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/base/result.hpp"

namespace dlaunch::auth {

/// Lies in memory once, which the destructor overwrites.
class Token {
public:
    static constexpr std::size_t kLeast = 16;   ///< a shorter one could be guessed
    static constexpr std::size_t kMost = 4096;  ///< more is no token, but another file

    explicit Token(std::string_view bytes);
    ~Token();
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;

    [[nodiscard]] std::string_view bytes() const { return bytes_; }

private:
    std::string bytes_;
};

/// Null: a job without a token.
using TokenPtr = std::shared_ptr<const Token>;

/// A token from its text. One line end at the end does not count, so that a file, a variable and a secret of Kubernetes
/// with the same text are the same token. An error has no part of the text.
[[nodiscard]] base::Result<TokenPtr> token_of(std::string_view text);

/// Reads a token file: a regular file that only its owner, this user or root, can read or write. Links are followed, a
/// FIFO or device is not waited for. An error names the file.
[[nodiscard]] base::Result<TokenPtr> read_token(const std::string& path);

/// A new token of 32 random bytes, as a text of printable characters. An error if the kernel gives no random bytes.
[[nodiscard]] base::Result<TokenPtr> random_token();

/// Makes a new file, mode 0600, with a random token as one line of text. An existing file stays as it is.
[[nodiscard]] base::Result<void> make_token_file(const std::string& path);

}  // namespace dlaunch::auth
