#pragma once

#include <optional>
#include <string>
#include <string_view>

/// What an earlier run has left at the broker: retained quotes that look good and that nothing keeps up to date.
namespace millpond::gateway::mqtt {

/// The subscription that holds every topic of a template ("bbo/{symbol}": "bbo/+").
[[nodiscard]] std::string filter_of(std::string_view topic_template);

/// Whether a topic that the filter lets through is one of the template's.
[[nodiscard]] bool is_of_template(std::string_view topic_template, std::string_view topic);

/// A quote as feed::quote_json writes it, marked incomplete; nothing when it is none, or is marked already.
[[nodiscard]] std::optional<std::string> marked_incomplete(std::string_view payload);

}  // namespace millpond::gateway::mqtt
