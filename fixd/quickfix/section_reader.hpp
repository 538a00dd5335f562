#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fixd/quickfix/quickfix_import.hpp"
#include "fixd/quickfix/quickfix_settings.hpp"

namespace millpond::fixd::quickfix {

/// The settings of one session while they are converted: which of them have a counterpart, and which are left out.
class SectionReader {
public:
    /// file: its name, for messages; left_out: gets the settings that are left out. All must outlive the reader.
    SectionReader(const Section& section, std::string_view file, std::vector<LeftOut>& left_out)
        : section_(section), file_(file), left_out_(left_out) {}

    [[nodiscard]] const Section& section() const noexcept { return section_; }
    [[nodiscard]] bool is_consumed(const Entry& entry) const { return consumed_.contains(&entry); }

    /// Consumes a setting, so that it is not listed as left out; null if there is none. Throws if its value has a
    /// variable of QuickFIX/J.
    const Entry* consume(std::string_view key);
    /// Consumes a setting. Throws ConfigError if there is none.
    const Entry& need(std::string_view key);
    /// Ignores a setting without a message.
    void skip(std::string_view key);
    /// Lists a setting, once for all sessions that inherit it.
    void leave_out(const Entry& entry, std::string_view reason);

    [[nodiscard]] std::uint64_t number(const Entry& entry) const;
    /// The number, limited to min and max; lists the setting if it was out of range.
    [[nodiscard]] std::uint64_t nearest(const Entry& entry, std::uint64_t min, std::uint64_t max);
    [[nodiscard]] bool yes(const Entry& entry) const;
    /// An address of this machine without a port: "10.0.0.1", "::1". The name localhost is 127.0.0.1.
    [[nodiscard]] std::string address(const Entry& entry) const;
    [[nodiscard]] std::uint16_t port(const Entry& entry) const;

    /// Throws ConfigError with file and line.
    [[noreturn]] void fail(std::size_t line, std::string_view what) const;

private:
    const Section& section_;
    std::string_view file_;
    std::vector<LeftOut>& left_out_;
    std::set<const Entry*> consumed_;
};

/// A host and a port; IPv6 addresses are put into brackets.
[[nodiscard]] std::string host_and_port(std::string_view host, std::uint16_t port);

}  // namespace millpond::fixd::quickfix
