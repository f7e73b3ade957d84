#pragma once
/// Refuses compilers of C++17 and earlier with one error. All public headers include this one.

#if __cplusplus <= 201703L
// A missing file ends the compilation here; after an #error every use of the library would be one error more.
#include <this library needs C++20: compile with -std=c++20 or newer>
#endif
