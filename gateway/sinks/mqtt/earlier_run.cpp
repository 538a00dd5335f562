#include "gateway/sinks/mqtt/earlier_run.hpp"

#include <algorithm>

namespace millpond::gateway::mqtt {
namespace {

/// Removes and returns the text's first level, the part before the next '/'.
std::string_view pop_level(std::string_view& text) {
    const auto level = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(text.size(), level.size() + 1));
    return level;
}

}  // namespace

std::string filter_of(std::string_view topic_template) {
    std::string filter;
    const auto levels = 1 + std::count(topic_template.begin(), topic_template.end(), '/');
    for (auto i = levels; i != 0; --i) {
        const auto level = pop_level(topic_template);
        filter += level.find('{') == std::string_view::npos ? level : std::string_view{"+"};
        if (i != 1) filter += '/';
    }
    return filter;
}

bool is_of_template(std::string_view topic_template, std::string_view topic) {
    while (!topic_template.empty()) {
        const auto wanted = pop_level(topic_template);
        const auto level = pop_level(topic);
        const auto open = wanted.find('{');
        if (open == std::string_view::npos) {
            if (level != wanted) return false;
            continue;
        }
        const auto before = wanted.substr(0, open);
        const auto after = wanted.substr(wanted.rfind('}') + 1);
        if (level.size() <= before.size() + after.size() || !level.starts_with(before) || !level.ends_with(after))
            return false;
    }
    return topic.empty();
}

std::optional<std::string> marked_incomplete(std::string_view payload) {
    constexpr std::string_view kLooksGood = R"(,"incomplete":false)";
    const auto at = payload.rfind(kLooksGood);  // quotation marks in symbols are escaped, so they cannot match
    const bool is_ours = payload.starts_with(R"({"type":"quote",)") || payload.starts_with(R"({"type":"book",)");
    if (!is_ours || at == std::string_view::npos) return std::nullopt;
    return std::string{payload.substr(0, at)}
        .append(R"(,"incomplete":true)")
        .append(payload.substr(at + kLooksGood.size()));
}

}  // namespace millpond::gateway::mqtt
