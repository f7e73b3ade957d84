#pragma once

/// The part of `count` things, cells or samples, that belongs to the i-th of n ranks: as equal as can be.
struct Part {
    Part(int count, int i, int n) : begin(count * i / n), end(count * (i + 1) / n) {}
    [[nodiscard]] int size() const { return end - begin; }
    int begin, end;
};
