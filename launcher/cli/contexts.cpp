#include "launcher/cli/contexts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr std::string_view kSeparator = ":";

Result<void> check_options(const Normalized& context) {
    for (const OptionUse& use : context.options)
        if (!use.option->of_context)
            return Error{fmt::format(
                "{} after a ':', expected before the first program: it is an option of the whole job", use.spelling)};
    return {};
}

}  // namespace

Result<std::vector<Normalized>> normalize_contexts(const std::vector<std::string>& words) {
    std::vector<Normalized> contexts;
    for (auto begin = words.begin();; ++begin) {
        const auto end = std::find(begin, words.end(), kSeparator);
        if (contexts.size() == rendezvous::kMostContexts)
            return Error{fmt::format("more than {} programs, expected fewer ':' on the command line", contexts.size())};
        auto context = normalize({begin, end});
        if (!context) return context.error();
        contexts.push_back(std::move(*context));
        if (end == words.end()) return contexts;
        begin = end;
    }
}

Result<void> check_contexts(const std::vector<Normalized>& contexts) {
    if (contexts.size() == 1) return {};
    for (std::size_t at = 0; at < contexts.size(); ++at) {
        if (at > 0)
            if (auto fine = check_options(contexts[at]); !fine) return fine;
        if (contexts[at].program.empty())
            return Error{
                fmt::format("program {} of {} is missing, expected [OPTIONS] PROGRAM [ARGS...] on both sides "
                            "of each ':'",
                            at + 1, contexts.size())};
    }
    return {};
}

}  // namespace dlaunch::launcher
