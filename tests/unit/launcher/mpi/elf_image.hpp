#pragma once
/// Files in ELF format, made of literals.

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <string>
#include <vector>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::launcher {

struct ElfContent {
    std::vector<std::string> libraries;
    std::string run_path{}, old_run_path{}, name{};
};

/// Header, two segments, dynamic section, strings. All is loaded at kElfBase.
constexpr std::uint64_t kElfBase = 0x400000;

inline std::string elf_image(const ElfContent& content) {
    std::string strings(1, '\0');
    std::vector<Elf64_Dyn> dynamic;
    const auto add = [&](Elf64_Sxword tag, const std::string& text) {
        dynamic.push_back({tag, {strings.size()}});
        strings += text + '\0';
    };
    if (!content.name.empty()) add(DT_SONAME, content.name);
    if (!content.old_run_path.empty()) add(DT_RPATH, content.old_run_path);
    for (const std::string& library : content.libraries) add(DT_NEEDED, library);
    if (!content.run_path.empty()) add(DT_RUNPATH, content.run_path);
    const std::uint64_t dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    const std::uint64_t strings_at = dynamic_at + (dynamic.size() + 2) * sizeof(Elf64_Dyn);
    dynamic.push_back({DT_STRTAB, {kElfBase + strings_at}});
    dynamic.push_back({DT_NULL, {0}});

    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_phoff = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = 2;
    Elf64_Phdr load{}, section{};
    load.p_type = PT_LOAD;
    load.p_vaddr = kElfBase;
    load.p_filesz = strings_at + strings.size();
    section.p_type = PT_DYNAMIC;
    section.p_offset = dynamic_at;
    section.p_filesz = dynamic.size() * sizeof(Elf64_Dyn);

    std::string image;
    const auto append = [&image](const void* bytes, std::size_t count) {
        image.append(static_cast<const char*>(bytes), count);
    };
    append(&head, sizeof head);
    append(&load, sizeof load);
    append(&section, sizeof section);
    append(dynamic.data(), dynamic.size() * sizeof(Elf64_Dyn));
    return image + strings;
}

/// A file in memory.
inline base::UniqueFd file_of(const std::string& bytes, mode_t mode = 0755) {
    base::UniqueFd file(memfd_create("image", MFD_CLOEXEC));
    fchmod(file.get(), mode);
    base::write_all(file.get(), bytes);
    return file;
}

}  // namespace dlaunch::launcher
