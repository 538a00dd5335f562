#include "gateway/settings/symbol_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "gateway/settings/value.hpp"
#include "service/settings/toml.hpp"

namespace millpond::gateway {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// The three texts of a line; nullopt if there are more or fewer.
std::optional<std::array<std::string_view, 3>> texts_of(std::string_view line) {
    std::array<std::string_view, 3> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto comma = line.find(',');
        if ((comma == std::string_view::npos) != (i + 1 == texts.size())) return std::nullopt;
        texts[i] = trimmed(line.substr(0, comma));
        if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
    }
    return texts;
}

template <class Text>
Text text_in(std::string_view text, std::string_view what, const std::string& where) {
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (text.empty()) throw ConfigError(fmt::format("{}: no {}", where, what));
    if (!Text::fits(text))
        throw ConfigError(fmt::format("{}: {} '{}' is longer than {} characters", where, what, text, Text::capacity()));
    if (!std::ranges::all_of(text, is_printable))
        throw ConfigError(fmt::format("{}: {} has unprintable characters", where, what));
    return Text{text};
}

}  // namespace

SymbolNames SymbolNames::parse(std::string_view text, std::string_view file) {
    SymbolNames names;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#' || line == "venue,symbol,name") continue;
        const auto where = fmt::format("{}:{}", file, number);
        const auto texts = texts_of(line);
        if (!texts) throw ConfigError(fmt::format("{}: expects venue,symbol,name", where));
        const auto venue = text_in<feed::Venue>((*texts)[0], "venue", where);
        const auto symbol = text_in<feed::Symbol>((*texts)[1], "symbol", where);
        const auto name = text_in<feed::Symbol>((*texts)[2], "name", where);
        if (!names.names_.try_emplace({venue, symbol}, name).second) {
            throw ConfigError(
                fmt::format("{}: symbol '{}' of venue {} has a name already", where, symbol.view(), venue.view()));
        }
        if (!names.named_.emplace(venue, name).second) {
            throw ConfigError(
                fmt::format("{}: another symbol of venue {} has the name '{}'", where, venue.view(), name.view()));
        }
    }
    return names;
}

SymbolNames SymbolNames::read(const Config& config) {
    const auto& path = config.symbols.file;
    if (path.empty()) return {};
    auto names = parse(settings::text_of(path), path);
    std::set<std::string> venues;
    for (const auto& composite : config.composites) {
        for (const auto& feed : config.feeds) {
            if (std::ranges::find(composite.feeds, feed.name) != composite.feeds.end()) venues.insert(venue_of(feed));
        }
    }
    for (const auto& [venue, name] : names.named_) {
        if (venues.contains(std::string{venue.view()})) continue;
        throw ConfigError(fmt::format("{}: venue '{}' of '{}' is that of no feed of a [[composite]]", path,
                                      venue.view(), name.view()));
    }
    return names;
}

const feed::Symbol* SymbolNames::find(const feed::Venue& venue, const feed::Symbol& symbol) const {
    const auto found = names_.find({venue, symbol});
    if (found != names_.end()) return &found->second;
    return named_.contains({venue, symbol}) ? nullptr : &symbol;
}

}  // namespace millpond::gateway
