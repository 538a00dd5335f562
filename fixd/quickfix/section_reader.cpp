#include "fixd/quickfix/section_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <millpond/net/socket_address.hpp>

#include "service/config_error.hpp"

namespace millpond::fixd::quickfix {

const Entry* SectionReader::consume(std::string_view key) {
    const auto* entry = section_.find(key);
    if (entry == nullptr) return nullptr;
    consumed_.insert(entry);
    const auto begin = entry->value.find("${");
    const auto end = entry->value.find('}', begin);
    if (begin != std::string::npos && end != std::string::npos) {
        fail(entry->line, fmt::format("{}: {} is a variable of QuickFIX/J; write its value in its place", entry->key,
                                      entry->value.substr(begin, end - begin + 1)));
    }
    return entry;
}

const Entry& SectionReader::need(std::string_view key) {
    const auto* entry = consume(key);
    if (entry == nullptr) fail(section_.line(), fmt::format("the session has no {}", key));
    return *entry;
}

void SectionReader::skip(std::string_view key) {
    if (const auto* entry = section_.find(key)) consumed_.insert(entry);
}

void SectionReader::leave_out(const Entry& entry, std::string_view reason) {
    const auto is_there = [&](const LeftOut& one) {
        return one.line == entry.line && one.key == entry.key && one.reason == reason;
    };
    if (std::ranges::any_of(left_out_, is_there)) return;
    left_out_.push_back({entry.line, entry.key, std::string{reason}});
}

std::uint64_t SectionReader::number(const Entry& entry) const {
    const auto value = number_of(entry.value);
    if (!value) fail(entry.line, fmt::format("{} expects a number, found '{}'", entry.key, entry.value));
    return *value;
}

std::uint64_t SectionReader::nearest(const Entry& entry, std::uint64_t min, std::uint64_t max) {
    const auto value = number(entry);
    const auto result = std::clamp(value, min, max);
    if (result != value) leave_out(entry, fmt::format("{} to {} is possible here, so {} is used", min, max, result));
    return result;
}

bool SectionReader::yes(const Entry& entry) const {
    if (same_key(entry.value, "Y")) return true;
    if (!same_key(entry.value, "N")) {
        fail(entry.line, fmt::format("{} expects Y or N, found '{}'", entry.key, entry.value));
    }
    return false;
}

std::string SectionReader::address(const Entry& entry) const {
    std::string_view text = entry.value;
    if (same_key(text, "localhost")) return "127.0.0.1";
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    try {
        static_cast<void>(net::SocketAddress::parse_host(text));
    } catch (const std::invalid_argument&) {
        fail(entry.line, fmt::format("{} expects an address of this machine, found '{}'; names are not looked up",
                                     entry.key, entry.value));
    }
    return std::string{text};
}

std::uint16_t SectionReader::port(const Entry& entry) const {
    const auto value = number(entry);
    if (value > std::numeric_limits<std::uint16_t>::max()) {
        fail(entry.line, fmt::format("{} expects a port, found '{}'", entry.key, entry.value));
    }
    return static_cast<std::uint16_t>(value);
}

void SectionReader::fail(std::size_t line, std::string_view what) const {
    throw service::ConfigError(fmt::format("{}:{}: {}", file_, line, what));
}

std::string host_and_port(std::string_view host, std::uint16_t port) {
    const bool needs_brackets = host.find(':') != std::string_view::npos && !host.starts_with('[');
    return fmt::format("{}{}{}:{}", needs_brackets ? "[" : "", host, needs_brackets ? "]" : "", port);
}

}  // namespace millpond::fixd::quickfix
