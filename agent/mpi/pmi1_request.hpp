#pragma once
/// A line of the PMI-1 protocol: "cmd=put kvsname=K key=k value=v". Words are separated by blanks; their order is free.
/// The name of a service may have blanks: "cmd=publish_name service=my service port=p".

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace dlaunch::agent {

/// The views are parts of the line.
class Pmi1Request {
public:
    /// None: no PMI-1 request, because a word has no '=' or none has the name `cmd` or `mcmd`.
    [[nodiscard]] static std::optional<Pmi1Request> parse(std::string_view line);

    /// The value of `cmd`, or "mcmd" for a request of several lines.
    [[nodiscard]] std::string_view command() const { return command_; }
    /// The first value of this name.
    [[nodiscard]] std::optional<std::string_view> value(std::string_view name) const;

private:
    std::string_view command_;
    std::vector<std::pair<std::string_view, std::string_view>> words_;
};

/// A decimal number, with a sign or without; none: other text, or out of range.
[[nodiscard]] std::optional<int> pmi1_number(std::optional<std::string_view> text);

}  // namespace dlaunch::agent
