#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Retained quotes of an earlier run at the broker, which look valid although nothing updates them.
namespace millpond::gateway::mqtt {

/// The subscription for all topics of a template ("bbo/{symbol}": "bbo/+").
[[nodiscard]] std::string filter_of(std::string_view topic_template);

/// Whether a topic that the filter lets through is one of the template's.
[[nodiscard]] bool is_of_template(std::string_view topic_template, std::string_view topic);

/// A quote in the format of feed::quote_json, marked incomplete; nothing if it is not one, or is already marked.
[[nodiscard]] std::optional<std::string> marked_incomplete(std::string_view payload);

}  // namespace millpond::gateway::mqtt
