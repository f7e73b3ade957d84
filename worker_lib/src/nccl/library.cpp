#include "worker_lib/src/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <mutex>

#include <dlaunch/error.hpp>
#include "worker_lib/src/bootstrap/environment.hpp"

namespace dlaunch::worker::nccl {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(ErrorCode::backend, text); }

/// A dlopen handle; closed by the destructor unless keep() is called.
class Library {
public:
    Library(const char* usual, const char* variable_name, const char* advice)
        : path_(variable(variable_name).value_or(usual)), handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_) return;
        const char* why = dlerror();  // includes the file name
        fail(fmt::format("nccl: {}; {}, or name the file in {}", why ? why : path_, advice, variable_name));
    }
    ~Library() {
        if (handle_) dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    void keep() { handle_ = nullptr; }

    template <class Function>
    void bind(Function& function, const char* name) const {
        bind_if_there(function, name);
        if (!function) fail(fmt::format("nccl: {} has no function {}; it is too old, or another library", path_, name));
    }
    template <class Function>
    void bind_if_there(Function& function, const char* name) const {
        function = reinterpret_cast<Function>(dlsym(handle_, name));
    }

private:
    const std::string path_;
    void* handle_;
};

std::unique_ptr<CudaTable> load_cuda() {
    Library library("libcuda.so.1", "DLAUNCH_CUDA_LIBRARY", "install NVIDIA's driver");
    auto table = std::make_unique<CudaTable>();
    library.bind(table->init, "cuInit");
    library.bind(table->get_error_string, "cuGetErrorString");
    library.bind(table->get_device_count, "cuDeviceGetCount");
    library.bind(table->get_device, "cuDeviceGet");
    library.bind(table->get_device_attribute, "cuDeviceGetAttribute");
    library.bind(table->get_pointer_attributes, "cuPointerGetAttributes");
    library.bind(table->retain_primary_context, "cuDevicePrimaryCtxRetain");
    library.bind(table->get_current_context, "cuCtxGetCurrent");
    library.bind(table->set_current_context, "cuCtxSetCurrent");
    library.bind(table->get_context_device, "cuCtxGetDevice");
    library.bind(table->create_stream, "cuStreamCreate");
    library.bind(table->destroy_stream, "cuStreamDestroy_v2");
    library.bind(table->synchronize_stream, "cuStreamSynchronize");
    library.bind(table->wait_for_event, "cuStreamWaitEvent");
    library.bind(table->create_event, "cuEventCreate");
    library.bind(table->destroy_event, "cuEventDestroy_v2");
    library.bind(table->record_event, "cuEventRecord");
    library.bind(table->query_event, "cuEventQuery");
    library.bind(table->is_capturing, "cuStreamIsCapturing");
    library.bind(table->exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    library.bind(table->allocate, "cuMemAlloc_v2");
    library.bind(table->free, "cuMemFree_v2");
    library.bind(table->copy_to_device, "cuMemcpyHtoDAsync_v2");
    library.bind(table->copy_to_host, "cuMemcpyDtoHAsync_v2");
    library.keep();  // an initialized driver must not be unloaded
    table->check(table->init(0), "start CUDA");
    table->check(table->get_device_count(&table->devices), "count GPUs");
    if (table->devices == 0) fail("nccl: this machine has a CUDA driver, but no GPU");
    return table;
}

std::unique_ptr<NcclTable> load_nccl() {
    Library library("libnccl.so.2", "DLAUNCH_NCCL_LIBRARY", "install NCCL");
    auto table = std::make_unique<NcclTable>();
    table->path = library.path();
    library.bind(table->get_version, "ncclGetVersion");
    if (table->get_version(&table->version) != Result::success) fail("nccl: ncclGetVersion fails");
    if (table->version < kOldestVersion)
        fail(fmt::format("nccl: {} is version {}, expected {} or newer, with communicators that can be given up",
                         library.path(), version_text(table->version), version_text(kOldestVersion)));
    library.bind(table->get_unique_id, "ncclGetUniqueId");
    library.bind(table->get_error_string, "ncclGetErrorString");
    library.bind(table->get_last_error, "ncclGetLastError");
    library.bind(table->init, "ncclCommInitRankConfig");
    library.bind_if_there(table->split, "ncclCommSplit");
    library.bind(table->finalize, "ncclCommFinalize");
    library.bind(table->destroy, "ncclCommDestroy");
    library.bind(table->abort, "ncclCommAbort");
    library.bind(table->get_async_error, "ncclCommGetAsyncError");
    library.bind(table->group_start, "ncclGroupStart");
    library.bind(table->group_end, "ncclGroupEnd");
    library.bind(table->create_premul_sum, "ncclRedOpCreatePreMulSum");
    library.bind(table->destroy_reduction, "ncclRedOpDestroy");
    library.bind(table->broadcast, "ncclBroadcast");
    library.bind(table->reduce, "ncclReduce");
    library.bind(table->all_reduce, "ncclAllReduce");
    library.bind(table->reduce_scatter, "ncclReduceScatter");
    library.bind(table->all_gather, "ncclAllGather");
    library.bind(table->send, "ncclSend");
    library.bind(table->recv, "ncclRecv");
    library.keep();
    return table;
}

template <class Table>
const Table& once(std::unique_ptr<Table> (*load)()) {
    static std::mutex mutex;
    // Never destroyed: threads may use the table while the program ends. After a failure the next call tries again.
    static const Table* table = nullptr;
    const std::lock_guard lock(mutex);
    if (!table) table = load().release();
    return *table;
}

}  // namespace

const CudaTable& cuda() { return once(load_cuda); }
const NcclTable& nccl() { return once(load_nccl); }

void CudaTable::check(int result, const char* what) const {
    if (result == 0) return;
    const char* text = nullptr;
    get_error_string(result, &text);
    fail(fmt::format("nccl: cannot {}: CUDA error {}: {}", what, result, text ? text : "unknown"));
}

std::string version_text(int version) {
    // Versions before 2.9 are encoded in four digits.
    if (version < 10'000) return fmt::format("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100);
    return fmt::format("{}.{}.{}", version / 10'000, version % 10'000 / 100, version % 100);
}

}  // namespace dlaunch::worker::nccl
