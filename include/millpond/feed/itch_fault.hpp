#pragma once

#include <cstdint>

namespace millpond::feed {

/// Reason why an ItchBookBuilder did not apply a message, or not in full.
enum class ItchFault : std::uint8_t {
    invalid,  ///< The type is unknown, or the length or contents are invalid: a time of 24 hours or more, a stock that
              ///< is not printable ASCII.
    unknown_order,  ///< The message changes an order that is not in the books.
    inconsistent,   ///< The message adds an existing order, or removes more shares than an order has, which is then
                    ///< removed.
    other_stock,    ///< The stock, or that of the order, is not that of its locate.
    refused,        ///< The stock's locate has no name, or a table is full.
};

}  // namespace millpond::feed
