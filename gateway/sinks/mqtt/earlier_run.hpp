#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Retained quotes and books of an earlier run at the broker, which look valid although nothing updates them.
namespace millpond::gateway::mqtt {

/// Returns the subscription for all topics of a template: "bbo/+" for "bbo/{symbol}".
[[nodiscard]] std::string filter_of(std::string_view topic_template);

/// Whether a topic that matches the filter is one of the template's topics.
[[nodiscard]] bool is_of_template(std::string_view topic_template, std::string_view topic);

/// Marks a quote in the format of feed::quote_json, or a book in that of append_book_json, as incomplete. Nullopt if
/// the payload is neither or is marked already.
[[nodiscard]] std::optional<std::string> marked_incomplete(std::string_view payload);

}  // namespace millpond::gateway::mqtt
