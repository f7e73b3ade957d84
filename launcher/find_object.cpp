// _dl_find_object() for programs linked with the static libgcc, whose unwinder calls it for every frame of an
// exception. glibc has the function since 2.35. With this one the program runs with 2.34, too, as that of RHEL 9; an
// exception costs a tenth more. Linked into the program only.

#include <dlfcn.h>
#include <link.h>

#include <cstddef>

#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 35)
namespace {

struct Search {
    ElfW(Addr) address;
    dl_find_object* found;
};

/// Looks for the address in the segments of a loaded object. 0: go on with the next object; 1: found; -1: the object
/// has no table of frames.
int look(dl_phdr_info* object, std::size_t, void* data) {
    const auto& search = *static_cast<Search*>(data);
    const ElfW(Phdr)* segment = nullptr, *table = nullptr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        if (part.p_type == PT_LOAD && search.address - object->dlpi_addr - part.p_vaddr < part.p_memsz) segment = &part;
        if (part.p_type == PT_GNU_EH_FRAME) table = &part;
    }
    if (!segment) return 0;
    if (!table) return -1;
    const auto pointer = [object](ElfW(Addr) address) { return reinterpret_cast<void*>(object->dlpi_addr + address); };
    *search.found = {};
    search.found->dlfo_map_start = pointer(segment->p_vaddr);
    search.found->dlfo_map_end = pointer(segment->p_vaddr + segment->p_memsz);
    search.found->dlfo_eh_frame = pointer(table->p_vaddr);
    return 1;
}

}  // namespace

extern "C" [[gnu::visibility("hidden")]] int _dl_find_object(void* address, dl_find_object* found) noexcept {
    Search search{reinterpret_cast<ElfW(Addr)>(address), found};
    return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif
