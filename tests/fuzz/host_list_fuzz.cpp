// A host list, a host file and a choice of hosts: any text is hosts within the limits, or an error; what was folded
// expands to the same.

#include <cstdint>
#include <cstdlib>

#include "launcher/hosts/compress.hpp"
#include "launcher/hosts/hostfile.hpp"
#include "launcher/hosts/selection.hpp"

namespace {

using namespace dlaunch::launcher;
using Hosts = std::vector<HostEntry>;

void expect(bool fact) {
    if (!fact) std::abort();
}

void check(const dlaunch::base::Result<Hosts>& hosts) {
    if (!hosts) {
        expect(!hosts.error().text.empty() && hosts.error().text.size() < 2000);
        return;
    }
    expect(!hosts->empty() && hosts->size() <= 131'072);
    for (const HostEntry& host : *hosts) {
        expect(!host.name.empty() && host.name.size() <= 255 && host.name[0] != '-');
        expect(!host.slots || (*host.slots >= 1 && *host.slots <= kMostSlots));
    }
    const auto again = parse_host_list(compress(*hosts));
    expect(again.has_value() && *again == *hosts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto hosts = parse_host_list(text);
    check(hosts);
    check(parse_hostfile(text, "hostfile"));
    check(parse_wcoll(text, "wcoll"));
    const auto choices = parse_choices(text);
    if (!choices || !hosts || repeated_host(*hosts)) return 0;
    const auto selected = select_hosts(*hosts, {*choices, {}, {}, {}}, [](std::string_view) { return "--include"; });
    expect(!selected || selected->size() <= hosts->size());
    return 0;
}
