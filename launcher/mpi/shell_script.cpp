#include "launcher/mpi/shell_script.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "launcher/mpi/local_files.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kMostBytes = 16 << 10;

/// "#!/bin/sh", "#!/usr/bin/env bash", "#! /bin/bash -e"
bool is_of_a_shell(std::string_view text) {
    if (!text.starts_with("#!")) return false;
    const std::string_view line = text.substr(0, text.find('\n'));
    for (std::size_t at = line.find("sh"); at != std::string_view::npos; at = line.find("sh", at + 1))
        if (at + 2 == line.size() || line[at + 2] == ' ') return true;
    return false;
}

}  // namespace

std::string shell_script(const ProgramFiles& files) {
    LocalFiles local;
    for (const std::string& path : files.candidates) {
        const base::UniqueFd file = local.open(path);
        if (local.met_foreign()) return {};
        if (!file) continue;
        std::string text(kMostBytes, '\0');
        const ssize_t got = ::read(file.get(), text.data(), text.size());
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        return is_of_a_shell(text) ? text : std::string();
    }
    return {};
}

}  // namespace dlaunch::launcher
