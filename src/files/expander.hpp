#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace millpond::files::detail {

/// Expands a compressed file piece by piece. Several compressed members in one file are one stream of contents.
///
/// Threads: one.
class Expander {
public:
    /// Number of bytes that one step read and wrote. error: the library's message, else null.
    struct Step {
        std::size_t consumed{0};
        std::size_t made{0};
        const char* error{nullptr};
    };

    Expander() = default;
    Expander(const Expander&) = delete;
    Expander& operator=(const Expander&) = delete;
    virtual ~Expander() = default;

    [[nodiscard]] virtual Step expand(std::span<const std::byte> in, std::span<std::byte> out) = 0;
    /// Whether the input may end here: between members.
    [[nodiscard]] virtual bool complete() const noexcept = 0;
};

/// Returns nullptr if the library was built without ISA-L or libzstd.
[[nodiscard]] std::unique_ptr<Expander> make_gzip_expander();
[[nodiscard]] std::unique_ptr<Expander> make_zstd_expander();

}  // namespace millpond::files::detail
