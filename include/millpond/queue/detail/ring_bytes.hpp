#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <millpond/core/exceptions.hpp>

namespace millpond::queue::detail {

/// Size of `capacity` slots. ring: name of the ring, for the message. Throws std::invalid_argument unless
/// the capacity is a power of two and the bytes can be addressed.
[[nodiscard]] inline std::size_t ring_bytes(const char* ring, std::size_t capacity, std::size_t slot_bytes) {
    if (!std::has_single_bit(capacity)) {
        MILLPOND_THROW(std::invalid_argument(std::string{ring} + ": capacity " + std::to_string(capacity) +
                                             " is not a power of two"));
    }
    if (capacity > PTRDIFF_MAX / slot_bytes) {
        MILLPOND_THROW(std::invalid_argument(std::string{ring} + ": " + std::to_string(capacity) + " messages of " +
                                             std::to_string(slot_bytes) + " bytes, the maximum is " +
                                             std::to_string(PTRDIFF_MAX / slot_bytes)));
    }
    return capacity * slot_bytes;
}

}  // namespace millpond::queue::detail
