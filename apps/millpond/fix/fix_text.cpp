#include "apps/millpond/fix/fix_text.hpp"

#include <algorithm>
#include <cctype>

#include <millpond/fix/utc_time.hpp>

namespace millpond::app {
namespace {

constexpr char kSoh = '\x01';
constexpr std::string_view kBegin = "8=FIX";

/// What our raw log writes in front of the bytes; `rest` is what stands behind. False when it is no line of a raw log.
bool read_raw_prefix(std::string_view line, FoundMessage& message, std::string_view& rest) {
    const auto time_end = line.find(' ');
    if (time_end == std::string_view::npos || line.size() < time_end + 4) return false;
    const auto direction = line[time_end + 1];
    if ((direction != '<' && direction != '>') || line[time_end + 2] != ' ') return false;
    const auto time = fix::parse_utc_timestamp(line.substr(0, time_end));
    const auto session_end = line.find(' ', time_end + 3);
    if (!time || session_end == std::string_view::npos) return false;
    message.utc_ns = time;
    message.direction = direction;
    message.session = line.substr(time_end + 3, session_end - time_end - 3);
    rest = line.substr(session_end + 1);
    return true;
}

/// Undoes what the raw log does to line ends.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            plain += text[i];
        } else {
            plain += text[++i] == 'n' ? '\n' : text[i];
        }
    }
    return plain;
}

/// The delimiter of the message at the front of `text`: what is between BeginString and BodyLength. Empty when there is
/// none.
std::string_view delimiter_of(std::string_view text) {
    constexpr std::size_t kLongest = 8;
    const auto end = text.find_first_not_of("FIXT.0123456789", 2);
    if (end == std::string_view::npos || std::isalnum(static_cast<unsigned char>(text[end])) != 0) return {};
    const auto length = text.substr(end, kLongest + 2).find("9=");
    return length == std::string_view::npos ? std::string_view{} : text.substr(end, length);
}

/// Where the message at the front ends.
std::size_t end_of(std::string_view text, std::string_view delimiter) {
    const auto next = std::min(text.find(kBegin, 1), text.size());
    const std::string check_sum = std::string{delimiter} + "10=";
    const auto trailer = text.find(check_sum);
    if (trailer == std::string_view::npos || trailer > next) return next;
    auto end = trailer + check_sum.size();
    while (end < next && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    return text.substr(end).starts_with(delimiter) ? end + delimiter.size() : end;
}

/// Whether a field begins here, or nothing does any more. A blank in a value is none.
bool begins_field(std::string_view text) {
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return text.empty() || (digits != 0 && digits < text.size() && text[digits] == '=');
}

std::string with_soh(std::string_view text, std::string_view delimiter) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const auto rest = text.substr(i);
        const bool here =
            rest.starts_with(delimiter) && (delimiter != " " || begins_field(rest.substr(delimiter.size())));
        out += here ? kSoh : text[i];
        i += here ? delimiter.size() : 1;
    }
    if (!out.ends_with(kSoh)) out += kSoh;  // a log may leave the last one out
    return out;
}

void find_in(std::string_view text, FoundMessage& message, const std::function<void(const FoundMessage&)>& found) {
    for (;;) {
        const auto begin = text.find(kBegin);
        if (begin == std::string_view::npos) return;
        text.remove_prefix(begin);
        const auto delimiter = delimiter_of(text);
        if (delimiter.empty()) {
            const auto end = std::min(text.find(kBegin, kBegin.size()), text.size());
            message.bytes = text.substr(0, end);
            found(message);
            text.remove_prefix(end);
            continue;
        }
        const auto end = end_of(text, delimiter);
        message.bytes = with_soh(text.substr(0, end), delimiter);
        found(message);
        text.remove_prefix(end);
    }
}

}  // namespace

void find_messages(std::istream& in, const std::function<void(const FoundMessage&)>& found,
                   const std::function<void(std::string_view)>& remark) {
    std::uint64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.ends_with('\r')) line.pop_back();
        FoundMessage message{.bytes = {}, .line = ++number};
        if (line.starts_with("# ")) {
            remark(std::string_view{line}.substr(2));
            continue;
        }
        std::string_view rest;
        if (read_raw_prefix(line, message, rest)) {
            find_in(unescaped(rest), message, found);
        } else {
            find_in(line, message, found);
        }
    }
}

}  // namespace millpond::app
