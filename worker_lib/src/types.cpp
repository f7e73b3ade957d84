#include <dlaunch/types.hpp>

#include <dlaunch/error.hpp>
#include <dlaunch/reduce_op.hpp>
#include "worker_lib/src/reduce/half.hpp"

namespace dlaunch {

const char* name_of(DType type) {
    static constexpr const char* kNames[kDTypes] = {
        "int8",    "uint8",    "int16",   "uint16",  "int32", "uint32",    "int64",      "uint64",
        "float16", "bfloat16", "float32", "float64", "bool",  "complex64", "complex128", "bytes"};
    return kNames[static_cast<int>(type)];
}

std::string name_of(ElementType type) {
    const std::string kind = name_of(type.kind());
    return type.is_number() ? kind : kind + "[" + std::to_string(type.size() / size_of(type.kind())) + "]";
}

const char* name_of(ErrorCode code) {
    static constexpr const char* kNames[] = {"timeout", "peer_lost",        "mismatch",
                                             "aborted", "invalid_argument", "backend"};
    return kNames[static_cast<int>(code)];
}

const char* ReduceOp::name() const {
    static constexpr const char* kNames[] = {"sum",  "product", "min",  "max",       "avg",
                                             "band", "bor",     "bxor", "premul_sum"};
    return kNames[static_cast<int>(kind_)];
}

Float16::Float16(float value) : bits(worker::half_from_float(value)) {}
Float16::operator float() const { return worker::float_from_half(bits); }
BFloat16::BFloat16(float value) : bits(worker::bfloat_from_float(value)) {}

}  // namespace dlaunch
