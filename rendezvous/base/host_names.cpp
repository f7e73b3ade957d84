#include "rendezvous/base/host_names.hpp"

#include <algorithm>
#include <utility>

namespace dlaunch::base {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same_letter(char left, char right) { return lower(left) == lower(right); }

}  // namespace

std::string lower_name(std::string_view host) {
    std::string name(host);
    std::ranges::transform(name, name.begin(), lower);
    return name;
}

bool is_same_host(std::string_view left, std::string_view right) {
    if (left.size() > right.size()) std::swap(left, right);
    return std::ranges::equal(left, right.substr(0, left.size()), is_same_letter) &&
           (right.size() == left.size() || right[left.size()] == '.');
}

}  // namespace dlaunch::base
