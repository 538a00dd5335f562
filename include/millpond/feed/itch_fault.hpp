#pragma once

#include <cstdint>

namespace millpond::feed {

/// Why an ItchDecoder did not apply a message, or not in full.
enum class ItchFault : std::uint8_t {
    invalid,        ///< Its type is unknown, or its length or contents are not allowed.
    unknown_order,  ///< It changes an order that is not in the books.
    inconsistent,   ///< It adds an order that exists, or takes more shares than an order has: then the order is gone.
    refused,        ///< The name of its stock is not printable ASCII or was not given, or a table is full.
};

}  // namespace millpond::feed
