#pragma once
/// Reductions by a function of the program: all_reduce(data, fn) and the like.

#include <concepts>
#include <cstddef>
#include <memory>

#include <dlaunch/mistakes.hpp>

namespace dlaunch {

/// Callable as fn(into, from, count) for the elements of an argument of type Data&&. It computes into[i] = into[i] op
/// from[i] for i < count.
template <class F, class Data>
concept Combines = Element<detail::ElementsOf<Data>> && std::invocable < F&,
        detail::ElementsOf<Data>
*, const detail::ElementsOf<Data>*, std::size_t > ;

namespace detail {

/// Refers to a function of the program, whose type it hides.
struct Combination {
    void (*run)(void* function, void* into, const void* from, std::size_t count);
    void* function;
    std::size_t alignment;  ///< of the elements

    template <class T, class F>
    static Combination of(F& function) {
        const auto run = [](void* f, void* into, const void* from, std::size_t count) {
            (*static_cast<F*>(f))(static_cast<T*>(into), static_cast<const T*>(from), count);
        };
        return {run, const_cast<void*>(static_cast<const volatile void*>(std::addressof(function))), alignof(T)};
    }
};

}  // namespace detail
}  // namespace dlaunch
