#pragma once
/// Arguments that no call takes, and what to pass instead: each is one compile error. Included by buffer.hpp.

#include <concepts>
#include <ranges>
#include <string>
#include <type_traits>

#include <dlaunch/types.hpp>

namespace dlaunch {

namespace detail {

enum class Mistake {
    none,
    order,           ///< an operation or options where elements are expected
    function,        ///< ReduceOp::sum without parentheses
    pointer,         ///< has no length
    nested,          ///< a range of ranges
    object,          ///< elements that own memory
    not_contiguous,  ///< a list, a deque, a lazy view, std::vector<bool>
    own_type,        ///< a reference or too long: no element
    no_number,       ///< an element that cannot be reduced
    read_only,       ///< the call writes into it
    temporary,       ///< is gone before the call's effect is seen
    no_range,        ///< of elements, nor one element
};

/// What a call does with the argument.
enum class Use { reads, writes };

/// What is wrong with elements of this type.
template <class T>
consteval Mistake mistake_of_element() {
    if constexpr (Element<T>) {
        return Mistake::none;
    } else if constexpr (std::ranges::range<const T>) {
        return std::same_as<T, std::string> ? Mistake::object : Mistake::nested;
    } else {
        return std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> ? Mistake::own_type : Mistake::object;
    }
}

template <class T, class Buffer>
concept ConvertsItself = requires(T&& argument) {
    argument.operator Buffer();
};

/// What is wrong with an argument that was passed as T&&, a forwarding reference.
template <class T, Use kUse>
consteval Mistake mistake_of() {
    using Plain = std::remove_cvref_t<T>;
    using Referred = std::remove_reference_t<T>;
    constexpr bool temporary = !std::is_lvalue_reference_v<T>;
    if constexpr (Option<Plain>) {
        return Mistake::order;
    } else if constexpr (std::is_function_v<std::remove_pointer_t<Plain>>) {
        return Mistake::function;
    } else if constexpr (std::is_pointer_v<Plain> || std::is_null_pointer_v<Plain>) {
        return Mistake::pointer;
    } else if constexpr (kIsDeviceSpan<Plain>) {
        using Value = std::remove_pointer_t<decltype(Plain::data)>;
        if constexpr (!Element<std::remove_const_t<Value>>) return mistake_of_element<std::remove_const_t<Value>>();
        return kUse == Use::writes && std::is_const_v<Value> ? Mistake::read_only : Mistake::none;
    } else if constexpr (std::ranges::range<Referred>) {
        constexpr Mistake element = mistake_of_element<std::ranges::range_value_t<Referred>>();
        if constexpr (element == Mistake::nested || element == Mistake::object) {
            return element;
        } else if constexpr (!std::ranges::contiguous_range<Referred> || !std::ranges::sized_range<Referred>) {
            return Mistake::not_contiguous;
        } else if constexpr (element != Mistake::none) {
            return element;
        } else {
            if (kUse == Use::writes &&
                std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Referred>>>)
                return Mistake::read_only;
            return std::ranges::borrowed_range<T> ? Mistake::none : Mistake::temporary;
        }
    } else if constexpr (Element<Plain>) {
        if (kUse == Use::writes && std::is_const_v<Referred>) return Mistake::read_only;
        return kUse == Use::writes && temporary ? Mistake::temporary : Mistake::none;
    } else {
        return std::is_trivially_copyable_v<Plain> && !std::is_empty_v<Plain> ? Mistake::own_type : Mistake::no_range;
    }
}

/// An object that is an element itself, passed as T or T&: neither a range of elements, nor of a type that converts
/// itself to a buffer.
template <class T>
concept SingleElement = Element<T> && !std::ranges::range<T> && !ConvertsItself<const T&, ConstBuffer> &&
                        !ConvertsItself<T&, ConstBuffer> && !ConvertsItself<T&, MutableBuffer>;

/// The elements of an argument, passed as T&&; void: it has none.
template <class T>
consteval auto elements_of() {
    using Plain = std::remove_cvref_t<T>;
    if constexpr (kIsDeviceSpan<Plain>)
        return std::type_identity<std::remove_const_t<std::remove_pointer_t<decltype(Plain::data)>>>();
    else if constexpr (std::ranges::range<std::remove_reference_t<T>>)
        return std::type_identity<std::ranges::range_value_t<std::remove_reference_t<T>>>();
    else if constexpr (SingleElement<Plain>)
        return std::type_identity<Plain>();
    else
        return std::type_identity<void>();
}
template <class T>
using ElementsOf = typename decltype(elements_of<T>())::type;

/// An object of this class explains why an argument is refused, and what to pass. A class, because compilers print its
/// errors once, however many arguments of a call have the same type.
template <class T, Mistake kMistake>
struct Refused {
    static_assert(kMistake != Mistake::order,
                  "options or an operation where elements are expected: the order is buffers, root or peer, operation, "
                  "options");
    static_assert(kMistake != Mistake::function, "a function is no buffer; an operation is written ReduceOp::sum()");
    static_assert(kMistake != Mistake::pointer, "a pointer has no length: pass std::span(pointer, count)");
    static_assert(kMistake != Mistake::nested,
                  "a range of ranges: keep its elements in one flat std::vector or std::array, or pass row by row");
    static_assert(
        kMistake != Mistake::object,
        "elements that own memory, or are not trivially copyable, have no bytes to move: use a plain struct, or "
        "broadcast_object(), all_gather_object() or gather_object(), which take std::string");
    static_assert(kMistake != Mistake::not_contiguous,
                  "elements must be contiguous in memory: pass a std::vector (not of bool), std::array or std::span");
    static_assert(kMistake != Mistake::own_type,
                  "no element: an empty class, a view of memory elsewhere, or an object of 128 MiB and more");
    static_assert(kMistake != Mistake::no_number,
                  "no number (an integer, float, double, Float16, BFloat16, bool, std::byte, std::complex of float or "
                  "double, or a type that kDTypeOf is specialized for): reduce others with a function, as in "
                  "all_reduce(data, [](T* into, const T* from, std::size_t count) { ... })");
    static_assert(kMistake != Mistake::read_only, "the call writes into this argument, which is const");
    static_assert(kMistake != Mistake::temporary,
                  "a temporary would be lost before the call is done: pass a variable that outlives the call");
    static_assert(kMistake != Mistake::no_range,
                  "expected a range of elements, such as std::vector, or one element; of other containers pass "
                  "std::span(data, count)");
};

/// An argument to explain: neither a buffer, nor of a type that converts itself to one.
template <class T, class Buffer, Use kUse>
concept Mistaken = !std::derived_from<std::remove_cvref_t<T>, Buffer> && !ConvertsItself<T, Buffer> &&
                   (mistake_of<T, kUse>() != Mistake::none);

}  // namespace detail

}  // namespace dlaunch
