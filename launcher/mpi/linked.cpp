#include "launcher/mpi/linked.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "launcher/cli/split.hpp"
#include "launcher/mpi/elf.hpp"
#include "launcher/mpi/file_paths.hpp"
#include "launcher/mpi/mpi4py.hpp"

namespace dlaunch::launcher {
namespace {

using agent::MpiFamily;

/// Of libraries opened in one search: a program of ordinary size has fewer.
constexpr std::size_t kMostLibraries = 64;

constexpr std::array<std::string_view, 10> kOfTheSystem{
    "libc.so.", "libm.so.",    "libdl.so.",     "libpthread.so.", "librt.so.",
    "ld-linux", "libgcc_s.so", "libstdc++.so.", "libgfortran.",   "libquadmath.so"};

#if defined(__x86_64__)
#define DLAUNCH_MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define DLAUNCH_MULTIARCH "aarch64-linux-gnu"
#else
#define DLAUNCH_MULTIARCH "."
#endif

/// The dynamic linker's own folders on Debian and on Red Hat, and the usual one of a cluster's own libraries.
constexpr std::array<std::string_view, 7> kFolders{
    "/lib/" DLAUNCH_MULTIARCH, "/usr/lib/" DLAUNCH_MULTIARCH, "/lib64", "/usr/lib64", "/lib", "/usr/lib",
    "/usr/local/lib"};

bool is_of_the_system(std::string_view library) {
    return std::ranges::any_of(kOfTheSystem, [&](std::string_view start) { return library.starts_with(start); });
}

std::string replaced(std::string folder, const std::string& origin) {
    for (const std::string_view name : {"${ORIGIN}", "$ORIGIN"})
        if (const auto at = folder.find(name); at != std::string::npos) folder.replace(at, name.size(), origin);
    return folder;
}

class Search {
public:
    Search(const ProgramFiles& files, const OpenFile& open) : files_(files), open_(open) {}

    Linked run() {
        for (const std::string& path : files_.candidates) {
            const base::UniqueFd file = open_(path);
            if (!file || !is_executable(file.get())) continue;
            if (files_.python) return of_python(path);
            add(file.get(), path, true, {});
            break;
        }
        return search_libraries();
    }

private:
    Linked search_libraries() {
        for (; !pending_.empty() && !found_; pending_.pop_front()) open_library(pending_.front());
        return found_.value_or(Linked{});
    }

    Linked of_python(const std::string& interpreter) {
        const Import use = uses_mpi4py(*files_.python, files_.folder, open_);
        if (use == Import::none) return {};
        const std::string module = mpi4py_module(interpreter, *files_.python, files_.folder, open_,
                                                 [this](const std::string& library) { return name_of(library); });
        if (!module.empty()) open_at(module, {});
        Linked linked = search_libraries();
        linked.by_mpi4py = use == Import::certain || linked.family != MpiFamily::none;
        return linked;
    }

    struct Wanted {
        std::string library;
        std::vector<std::string> inherited;  ///< folders of DT_RPATH, of the file that needs it and of those above it
        std::vector<std::string> own;        ///< of that file's DT_RUNPATH
    };

    static bool is_executable(int file) {
        struct stat about {};
        return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
    }

    /// Takes up the libraries that this file needs.
    void add(int file, const std::string& path, bool is_program, const std::vector<std::string>& inherited) {
        const auto needs = read_needs(file);
        if (!needs) return;
        for (const std::string& library : needs->libraries)
            if (const MpiFamily family = family_of(library); family != MpiFamily::none) {
                found_ = Linked{family, library};
                return;
            }
        Wanted wanted;
        if (!needs->search_path.empty()) {
            std::vector<std::string> origins{folder_of(path)};
            if (is_program) origins.insert(origins.begin(), folder_of(true_path_of(file)));
            add_folders(needs->search_path, origins, needs->passes_on ? wanted.inherited : wanted.own);
        }
        if (wanted.own.empty()) wanted.inherited.insert(wanted.inherited.end(), inherited.begin(), inherited.end());
        for (const std::string& library : needs->libraries) {
            if (is_of_the_system(library) || seen_.size() >= kMostLibraries || !seen_.insert(library).second) continue;
            wanted.library = library;
            pending_.push_back(wanted);
        }
    }

    /// In the order of ld.so(8).
    void open_library(const Wanted& wanted) {
        if (wanted.library.find('/') != std::string::npos) {
            open_at(absolute(wanted.library), wanted);
            return;
        }
        for (const std::string& folder : folders_for(wanted))
            if (open_at(folder + "/" + wanted.library, wanted)) return;
    }

    [[nodiscard]] std::vector<std::string> folders_for(const Wanted& wanted) const {
        std::vector<std::string> folders = wanted.inherited;
        add_folders(files_.library_path, {}, folders);
        folders.insert(folders.end(), wanted.own.begin(), wanted.own.end());
        folders.insert(folders.end(), kFolders.begin(), kFolders.end());
        return folders;
    }

    /// A library without a name of its own has that of its file.
    [[nodiscard]] std::string name_of(const std::string& library) const {
        const bool is_path = library.find('/') != std::string::npos;
        for (const std::string& folder : is_path ? std::vector{std::string()} : folders_for({})) {
            const base::UniqueFd file = open_(is_path ? absolute(library) : folder + "/" + library);
            if (const auto needs = file ? read_needs(file.get()) : std::nullopt)
                return needs->name.empty() ? library.substr(library.rfind('/') + 1) : needs->name;
        }
        return {};
    }

    bool open_at(const std::string& path, const Wanted& wanted) {
        const base::UniqueFd file = open_(path);
        if (file) add(file.get(), path, false, wanted.inherited);
        return bool(file);
    }

    /// Folders of a search path; $ORIGIN is that of the file with the path, and an empty one the working directory.
    void add_folders(const std::string& search_path, const std::vector<std::string>& origins,
                     std::vector<std::string>& to) const {
        if (search_path.empty()) return;
        for (const std::string_view each : split(search_path, ':'))
            if (each.find('$') == std::string_view::npos)
                to.push_back(absolute(std::string(each)));
            else
                for (const std::string& origin : origins) to.push_back(absolute(replaced(std::string(each), origin)));
    }

    [[nodiscard]] std::string absolute(const std::string& name) const {
        return name.starts_with('/') ? name : files_.folder + (name.empty() ? "" : "/") + name;
    }

    const ProgramFiles& files_;
    const OpenFile& open_;
    std::optional<Linked> found_;
    std::deque<Wanted> pending_;
    std::set<std::string> seen_;
};

}  // namespace

/// MPICH's ABI has the number 12, whoever built the library: Intel MPI, MVAPICH, Cray MPICH. Open MPI has 40 since its
/// version 3, and 20 before.
MpiFamily family_of(std::string_view library) {
    for (const std::string_view start : {"libopen-rte.so", "libopen-pal.so", "liboshmem.so"})
        if (library.starts_with(start)) return MpiFamily::pmix;
    if (!library.starts_with("libmpi")) return MpiFamily::none;
    if (library.ends_with(".so.12")) return MpiFamily::pmi1;
    if (library.ends_with(".so.40") || library.ends_with(".so.20")) return MpiFamily::pmix;
    return MpiFamily::none;
}

Linked linked_with(const ProgramFiles& files, const OpenFile& open) { return Search(files, open).run(); }

}  // namespace dlaunch::launcher
