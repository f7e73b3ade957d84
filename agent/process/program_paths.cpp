#include "agent/process/program_paths.hpp"

#include <algorithm>
#include <cstddef>

namespace dlaunch::agent {

std::vector<std::string> candidates(const std::string& name, const std::string& search_path) {
    if (name.find('/') != std::string::npos) return {name};
    std::vector<std::string> found;
    for (std::size_t begin = 0; begin <= search_path.size();) {
        const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
        const std::string folder = search_path.substr(begin, end - begin);
        found.push_back((folder.empty() ? "." : folder) + "/" + name);
        begin = end + 1;
    }
    return found;
}

}  // namespace dlaunch::agent
