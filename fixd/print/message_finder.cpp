#include "fixd/print/message_finder.hpp"

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>
#include <vector>

#include <millpond/fix/frame.hpp>
#include <millpond/fix/utc_time.hpp>

namespace millpond::fixd {
namespace {

constexpr char kSoh = '\x01';
constexpr std::string_view kBegin = "8=FIX";
constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20U;
constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 20U;

/// Parses the prefix of a raw log's line. rest: the text after it. Returns false if the line is not of a raw log.
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

/// Unescapes the line ends of a raw log. escapes: positions in the result that took one byte more.
std::string unescaped(std::string_view text, std::vector<std::size_t>& escapes) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            plain += text[i];
        } else {
            escapes.push_back(plain.size());
            plain += text[++i] == 'n' ? '\n' : text[i];
        }
    }
    return plain;
}

/// Returns the delimiter of the message at the start of `text`: the text between BeginString and BodyLength; empty if
/// there is none.
std::string_view delimiter_of(std::string_view text) {
    constexpr std::size_t kMaxDelimiterChars = 8;
    const auto end = text.find_first_not_of("FIXT.0123456789", 2);
    if (end == std::string_view::npos || std::isalnum(static_cast<unsigned char>(text[end])) != 0) return {};
    const auto length = text.substr(end, kMaxDelimiterChars + 2).find("9=");
    return length == std::string_view::npos ? std::string_view{} : text.substr(end, length);
}

/// Returns the end of the message at the start of the text; npos if it is incomplete.
std::size_t end_of(std::string_view text, std::string_view delimiter, bool whole) {
    if (delimiter == std::string_view{&kSoh, 1}) {
        // BodyLength determines the end, because a data field may contain any byte.
        const auto frame = fix::next_frame(std::as_bytes(std::span{text}), kMaxMessageBytes);
        if (frame) return frame->bytes.size();
        if (!whole && frame.error().error == fix::FrameError::incomplete) return std::string_view::npos;
    }
    const auto next = std::min(text.find(kBegin, 1), text.size());
    const std::string check_sum = std::string{delimiter} + "10=";
    const auto trailer = text.find(check_sum);
    if (trailer == std::string_view::npos || trailer > next) {
        return whole || next != text.size() ? next : std::string_view::npos;
    }
    auto end = trailer + check_sum.size();
    while (end < next && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (text.substr(end).starts_with(delimiter)) return end + delimiter.size();
    return whole || text.size() - end >= delimiter.size() ? end : std::string_view::npos;
}

/// Whether the text begins with a field or is empty; otherwise the delimiter before it is part of a value.
bool begins_field(std::string_view text) {
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return text.empty() || (digits != 0 && digits < text.size() && text[digits] == '=');
}

std::string with_soh(std::string_view text, std::string_view delimiter) {
    if (delimiter == std::string_view{&kSoh, 1}) return std::string{text} + (text.ends_with(kSoh) ? "" : "\x01");
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const auto rest = text.substr(i);
        const bool here = rest.starts_with(delimiter) && begins_field(rest.substr(delimiter.size()));
        out += here ? kSoh : text[i];
        i += here ? delimiter.size() : 1;
    }
    if (!out.ends_with(kSoh)) out += kSoh;  // a log may omit the last delimiter
    return out;
}

}  // namespace

/// Reports the messages of `text` and returns how many bytes were consumed. whole: no text follows. place: maps a byte
/// of `text` to its position in the input.
std::size_t MessageFinder::find_in(std::string_view text, bool whole, FoundMessage& message,
                                   const std::function<std::uint64_t(std::size_t)>& place) const {
    std::size_t done = 0;
    for (;;) {
        const auto begin = text.find(kBegin, done);
        if (begin == std::string_view::npos) return done;
        const auto rest = text.substr(begin);
        const auto delimiter = delimiter_of(rest);
        auto end = std::string_view::npos;
        if (!delimiter.empty()) {
            end = end_of(rest, delimiter, whole);
        } else if (const auto next = rest.find(kBegin, kBegin.size()); next != std::string_view::npos || whole) {
            end = std::min(next, rest.size());
        }
        if (end == std::string_view::npos) return begin;
        const auto bytes = rest.substr(0, end);
        message.bytes = delimiter.empty() ? std::string{bytes} : with_soh(bytes, delimiter);
        message.at = place(begin);
        found_(message);
        done = begin + end;
    }
}

void MessageFinder::process_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    FoundMessage message;
    std::string_view rest;
    if (!is_rest_of_line_ && line.starts_with("# ")) {
        remark_(line.substr(2));
    } else if (!is_rest_of_line_ && read_raw_prefix(line, message, rest)) {
        std::vector<std::size_t> escapes;
        const auto plain = unescaped(rest, escapes);
        const auto begin = line_at_ + (line.size() - rest.size());
        find_in(plain, true, message, [&](std::size_t at) {
            return begin + at + static_cast<std::uint64_t>(std::ranges::lower_bound(escapes, at) - escapes.begin());
        });
    } else {
        find_in(line, true, message, [&](std::size_t at) { return line_at_ + at; });
    }
}

/// Processes the available part of an unfinished line.
void MessageFinder::process_partial_line() {
    if (line_.empty()) return;
    FoundMessage message;
    std::string_view rest;
    const bool waits_for_end = !is_rest_of_line_ && (line_.starts_with('#') || read_raw_prefix(line_, message, rest));
    auto done = waits_for_end ? 0 : find_in(line_, false, message, [&](std::size_t at) { return line_at_ + at; });
    if (line_.size() - done > kMaxLineBytes) {
        process_line(line_);
        done = line_.size();
    }
    if (done == 0) return;
    line_.erase(0, done);
    line_at_ += done;
    is_rest_of_line_ = true;
}

/// Returns the end of a message that continues after the line, as a position in `text`, which starts with the line:
/// npos if more text is needed, 0 if there is none.
std::size_t MessageFinder::end_beyond(std::string_view line, std::string_view text) const {
    FoundMessage message;
    std::string_view rest;
    if (!is_rest_of_line_ && (line.starts_with('#') || read_raw_prefix(line, message, rest))) return 0;
    for (auto at = line.find(kBegin); at != std::string_view::npos; at = line.find(kBegin, at)) {
        const auto here = text.substr(at);
        at += kBegin.size();
        if (delimiter_of(line.substr(at - kBegin.size())) != std::string_view{&kSoh, 1}) continue;
        const auto frame = fix::next_frame(std::as_bytes(std::span{here}), kMaxMessageBytes);
        if (frame) {
            at += frame->bytes.size() - kBegin.size();
            if (at > line.size()) return at;
        } else if (frame.error().error == fix::FrameError::incomplete) {
            return std::string_view::npos;
        }
    }
    return 0;
}

/// Processes the whole lines of line_. is_last: no text follows.
void MessageFinder::process_lines(bool is_last) {
    const std::string_view all{line_};
    std::size_t done = 0;
    for (auto end = all.find('\n'); end != std::string_view::npos; end = all.find('\n', done)) {
        const auto text = all.substr(done);
        const auto line = text.substr(0, end - done);
        const auto beyond = end_beyond(line, text);
        if (beyond == std::string_view::npos && !is_last) break;
        if (beyond == 0 || beyond == std::string_view::npos) {
            process_line(line);
            done = end + 1;
            line_at_ += line.size() + 1;
            is_rest_of_line_ = false;
            continue;
        }
        FoundMessage message;
        static_cast<void>(
            find_in(text.substr(0, beyond), true, message, [&](std::size_t at) { return line_at_ + at; }));
        done += beyond;
        line_at_ += beyond;
        is_rest_of_line_ = true;
    }
    line_.erase(0, done);
}

void MessageFinder::append(std::string_view bytes) {
    line_ += bytes;
    process_lines(false);
    process_partial_line();
}

void MessageFinder::finish() {
    process_lines(true);
    process_line(line_);
    line_.clear();
    line_at_ = 0;
    is_rest_of_line_ = false;
}

}  // namespace millpond::fixd
