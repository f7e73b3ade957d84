# Writes the source file OUTPUT, which defines the build id: VERSION, and a hash of SETTINGS and of the headers below
# FOLDERS, which define the C++ types that library and plug-in exchange.
set(hashes "${SETTINGS}")
foreach(folder ${FOLDERS})
    file(GLOB_RECURSE headers ${folder}/*.hpp)
    list(SORT headers)
    foreach(header ${headers})
        file(SHA256 ${header} hash)
        string(APPEND hashes ${hash})
    endforeach()
endforeach()
string(SHA256 id "${hashes}")
string(SUBSTRING ${id} 0 16 id)
file(WRITE ${OUTPUT} "#include \"worker_lib/src/core/build_id.hpp\"

namespace dlaunch::worker {

const char* build_id() { return \"${VERSION} ${id}\"; }

}  // namespace dlaunch::worker
")
