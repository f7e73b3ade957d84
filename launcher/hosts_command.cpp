#include "launcher/hosts_command.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/subcommands.hpp"
#include "launcher/hosts/compress.hpp"
#include "launcher/hosts/host_pattern.hpp"
#include "launcher/print_error.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr const char* kHelp =
    R"(Usage: dlaunch hosts [--compress] LIST...

Prints the hosts of lists as --hosts takes them, one per line and in order. Several LISTs are one.
A LIST has items with commas between them. An item is a name or an address with any number of
[ranges] in it; user@ before it and :SLOTS after it apply to all of its names.

Examples:
  dlaunch hosts 'node[08-10],login'      node08 node09 node10 login
  dlaunch hosts 'r[1-2]n[1-2]-ib'        r1n1-ib r1n2-ib r2n1-ib r2n2-ib
  dlaunch hosts 'ann@gpu[1-2]:8'         ann@gpu1:8 ann@gpu2:8
  dlaunch hosts --compress n1 n2 n3 m    n[1-3],m

{}
Exit status: 0 printed; 2 a bad list or wrong usage
More: man dlaunch
)";

struct Words {
    bool help = false, compress = false;
    std::vector<std::string> lists;
};

Result<Words> read_words(const std::vector<std::string>& arguments) {
    Words words;
    bool options = true;
    for (const std::string& word : arguments) {
        const bool is_option = options && word.size() > 1 && word[0] == '-';
        if (!is_option)
            words.lists.push_back(word);
        else if (word == "--")
            options = false;
        else if (word == "-h" || word == "--help")
            words.help = true;
        else if (word == "--compress")
            words.compress = true;
        else
            return Error{fmt::format("unknown option {}, expected --compress or --help", shown_pattern(word))};
    }
    if (words.lists.empty() && !words.help)
        return Error{"no names, expected dlaunch hosts LIST..., as node[01-03,7],login"};
    return words;
}

Result<std::vector<HostEntry>> hosts_of(const std::vector<std::string>& lists) {
    std::vector<HostEntry> hosts;
    for (const std::string& list : lists) {
        auto more = parse_host_list(list);
        if (!more) return more.error();
        if (more->size() > kMostHosts - hosts.size())
            return Error{
                fmt::format("{}: too many names, expected at most {} in all", shown_pattern(list), kMostHosts)};
        hosts.insert(hosts.end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
    }
    return hosts;
}

}  // namespace

Result<std::string> hosts_text(const std::vector<std::string>& arguments) {
    const auto words = read_words(arguments);
    if (!words) return words.error();
    if (words->help) return base::text_result(fmt::format(kHelp, options_help("hosts")));
    const auto hosts = hosts_of(words->lists);
    if (!hosts) return hosts.error();
    if (words->compress) return base::text_result(compress(*hosts) + "\n");
    std::string lines;
    for (const HostEntry& host : *hosts) lines += host.text() + "\n";
    return base::text_result(std::move(lines));
}

int run_hosts(const std::vector<std::string>& arguments) {
    const auto text = hosts_text(arguments);
    if (!text) return print_error({"hosts: " + one_line(text.error().text), text.error().status});
    if (std::fwrite(text->data(), 1, text->size(), stdout) == text->size() && std::fflush(stdout) == 0) return 0;
    std::perror("dlaunch: stdout");
    return 1;
}

}  // namespace dlaunch::launcher
