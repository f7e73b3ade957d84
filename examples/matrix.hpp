#pragma once
// Small matrices for the examples of tensor parallelism.

#include <cstddef>
#include <numeric>
#include <vector>

struct Matrix {
    std::size_t rows = 0, columns = 0;
    std::vector<float> values = std::vector<float>(rows * columns);  ///< row-major

    /// Elements first, first + 1, ...
    static Matrix counting(std::size_t rows, std::size_t columns, float first) {
        Matrix made{rows, columns};
        std::iota(made.values.begin(), made.values.end(), first);
        return made;
    }
    float& at(std::size_t row, std::size_t column) { return values[row * columns + column]; }
    [[nodiscard]] float at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }

    /// The block of `height` rows and `width` columns at (row, column).
    [[nodiscard]] Matrix part(std::size_t row, std::size_t column, std::size_t height, std::size_t width) const {
        Matrix made{height, width};
        for (std::size_t r = 0; r < height; ++r)
            for (std::size_t c = 0; c < width; ++c) made.at(r, c) = at(row + r, column + c);
        return made;
    }
    /// Stores a block at (row, column).
    void put(std::size_t row, std::size_t column, const Matrix& part) {
        for (std::size_t r = 0; r < part.rows; ++r)
            for (std::size_t c = 0; c < part.columns; ++c) at(row + r, column + c) = part.at(r, c);
    }
    friend Matrix operator*(const Matrix& a, const Matrix& b) {
        Matrix product{a.rows, b.columns};
        for (std::size_t r = 0; r < a.rows; ++r)
            for (std::size_t i = 0; i < a.columns; ++i)
                for (std::size_t c = 0; c < b.columns; ++c) product.at(r, c) += a.at(r, i) * b.at(i, c);
        return product;
    }
    friend bool operator==(const Matrix&, const Matrix&) = default;
};
