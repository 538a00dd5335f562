#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace millpond::net::detail {

/// Compresses a file piece by piece.
///
/// Threads: one.
class Packer {
public:
    /// What one step took from the input and wrote to the output. complete: all of the input, and with `last` the end.
    struct Step {
        std::size_t taken{0};
        std::size_t made{0};
        bool complete{false};
        bool failed{false};
    };

    Packer() = default;
    Packer(const Packer&) = delete;
    Packer& operator=(const Packer&) = delete;
    virtual ~Packer() = default;

    [[nodiscard]] virtual Step pack(std::span<const std::byte> in, std::span<std::byte> out, bool last) = 0;
};

/// Null when the library was built without libzstd.
[[nodiscard]] std::unique_ptr<Packer> make_zstd_packer();

}  // namespace millpond::net::detail
