#pragma once
/// Tables of the functions used from NCCL and from the CUDA driver, filled by dlopen on first use: neither library is
/// needed to build, to install or to start a program. Types that cross the interface by value or layout are declared
/// here; both libraries keep them stable.
///
/// The driver API is used instead of the CUDA runtime: every machine with a GPU driver has it under the constant name
/// libcuda.so.1, and programs that use the runtime share its contexts and streams.

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dlaunch::worker::nccl {

// --- NCCL ------------------------------------------------------------------------------------------------------------

using Comm = struct OpaqueComm*;
using Stream = void*;  ///< cudaStream_t, CUstream; nullptr is the default stream
using Event = void*;

enum class Result : int {
    success,
    cuda_error,
    system_error,
    internal_error,
    invalid_argument,
    invalid_usage,
    remote_error,
    in_progress,
    timeout,  // since 2.30
};
enum class Type : int { int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16 };
using Reduction = int;  // 0 to 4: sum, product, max, min, avg; others are created per communicator
inline constexpr int kScalarOnHost = 1;
inline constexpr int kNoColor = -1;

struct UniqueId {
    char bytes[128];
};

/// ncclConfig_t of 2.25. Its users fill in `size` and `version` of the oldest version that has all fields in use, see
/// config.hpp; libraries use defaults for the fields that this version lacks.
struct Config {
    static constexpr int kUnset = INT_MIN;

    std::size_t size = 24;
    unsigned magic = 0xCAFEBEEF;
    unsigned version = 21400;
    int blocking = 0;
    int cga_cluster_size = kUnset;  // since 2.17
    int min_ctas = kUnset;
    int max_ctas = kUnset;
    const char* net_name = nullptr;
    int split_share = kUnset;    // since 2.18
    int traffic_class = kUnset;  // since 2.25
};
static_assert(sizeof(Config) == 48);

/// The first version with non-blocking communicators, which can be polled and aborted.
inline constexpr int kOldestVersion = 21400;

struct NcclTable {
    int version = 0;   ///< 22809 is 2.28.9
    std::string path;  ///< as passed to dlopen

    Result (*get_version)(int*);
    Result (*get_unique_id)(UniqueId*);
    const char* (*get_error_string)(Result);
    const char* (*get_last_error)(Comm);
    Result (*init)(Comm*, int ranks, UniqueId, int rank, Config*);
    Result (*split)(Comm, int color, int key, Comm*, Config*);  ///< since 2.18, else nullptr
    Result (*finalize)(Comm);
    Result (*destroy)(Comm);
    Result (*abort)(Comm);
    Result (*get_async_error)(Comm, Result*);
    Result (*group_start)();
    Result (*group_end)();
    Result (*create_premul_sum)(Reduction*, void* scalar, Type, int residence, Comm);
    Result (*destroy_reduction)(Reduction, Comm);
    Result (*broadcast)(const void*, void*, std::size_t, Type, int root, Comm, Stream);
    Result (*reduce)(const void*, void*, std::size_t, Type, Reduction, int root, Comm, Stream);
    Result (*all_reduce)(const void*, void*, std::size_t, Type, Reduction, Comm, Stream);
    Result (*reduce_scatter)(const void*, void*, std::size_t, Type, Reduction, Comm, Stream);
    Result (*all_gather)(const void*, void*, std::size_t, Type, Comm, Stream);
    Result (*send)(const void*, std::size_t, Type, int peer, Comm, Stream);
    Result (*recv)(void*, std::size_t, Type, int peer, Comm, Stream);
};

// --- CUDA's driver ---------------------------------------------------------------------------------------------------

using DevicePointer = std::uintptr_t;
using Context = void*;

inline constexpr int kCudaNotReady = 600;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventWithoutTiming = 2;
// Attributes of pointers and devices, and types of memory.
inline constexpr int kPointerMemoryType = 2, kPointerIsManaged = 8, kPointerDevice = 9;
inline constexpr int kDevicePageableAccess = 88;
inline constexpr int kCaptureRelaxed = 2;         // a mode of captures
inline constexpr int kCudaCaptureImplicit = 906;  // the default stream during another stream's capture
inline constexpr unsigned kMemoryUnknown = 0, kMemoryOfDevice = 2;

struct CudaTable {
    int devices = 0;

    int (*init)(unsigned);
    int (*get_error_string)(int, const char**);
    int (*get_device_count)(int*);
    int (*get_device)(int*, int ordinal);
    int (*get_device_attribute)(int*, int attribute, int device);
    int (*get_pointer_attributes)(unsigned count, int* attributes, void** values, DevicePointer);
    int (*retain_primary_context)(Context*, int device);
    int (*get_current_context)(Context*);
    int (*set_current_context)(Context);
    int (*get_context_device)(int*);
    int (*create_stream)(Stream*, unsigned);
    int (*destroy_stream)(Stream);
    int (*synchronize_stream)(Stream);
    int (*wait_for_event)(Stream, Event, unsigned);
    int (*create_event)(Event*, unsigned);
    int (*destroy_event)(Event);
    int (*record_event)(Event, Stream);
    int (*query_event)(Event);
    int (*is_capturing)(Stream, int* status);
    int (*exchange_capture_mode)(int* mode);
    int (*allocate)(DevicePointer*, std::size_t);
    int (*free)(DevicePointer);
    int (*copy_to_device)(DevicePointer, const void*, std::size_t, Stream);
    int (*copy_to_host)(void*, DevicePointer, std::size_t, Stream);

    /// Throws Error (backend): "cannot <what>: <CUDA's text>".
    void check(int result, const char* what) const;
};

/// Loads libcuda.so.1, or $DLAUNCH_CUDA_LIBRARY, and initializes it. Throws Error (backend) that names what is missing:
/// the library, a function, a device. Any thread; a loaded library is never unloaded.
[[nodiscard]] const CudaTable& cuda();
/// The same for libnccl.so.2, or $DLAUNCH_NCCL_LIBRARY.
[[nodiscard]] const NcclTable& nccl();

/// "2.28.9"
[[nodiscard]] std::string version_text(int version);

}  // namespace dlaunch::worker::nccl
