#include "fix_log.hpp"

#include <algorithm>
#include <span>

#include <millpond/fix/frame.hpp>
#include <millpond/fix/utc_time.hpp>

namespace millpond::python {
namespace {

constexpr std::uint64_t kPauseEvery = std::uint64_t{1} << 16U;
constexpr char kSoh = '\x01';
constexpr std::string_view kBegin = "8=FIX";
enum Place : std::size_t { kTime, kDirection, kSession, kType, kNumber, kSendingTime, kMasked, kLine, kFixed };

/// Parses what the engine's raw log writes before the bytes. rest: the text after it.
template <class Heading>
bool read_heading(std::string_view line, Heading& heading, std::string_view& rest) {
    const auto time_end = line.find(' ');
    if (time_end == std::string_view::npos || line.size() < time_end + 4) return false;
    const auto direction = line[time_end + 1];
    if ((direction != '<' && direction != '>') || line[time_end + 2] != ' ') return false;
    const auto session_end = line.find(' ', time_end + 3);
    if (session_end == std::string_view::npos) return false;
    heading.utc_ns = fix::parse_utc_timestamp(line.substr(0, time_end));
    heading.direction = direction;
    heading.session = line.substr(time_end + 3, session_end - time_end - 3);
    rest = line.substr(session_end + 1);
    return heading.utc_ns.has_value();
}

/// Undoes what the raw log does to line ends.
std::string_view unescaped(std::string_view text, std::string& buffer) {
    auto escape = text.find('\\');
    if (escape == std::string_view::npos) return text;
    buffer.clear();
    for (; escape != std::string_view::npos && escape + 1 < text.size(); escape = text.find('\\')) {
        const auto escaped = text[escape + 1];
        buffer += text.substr(0, escape);
        buffer += escaped == 'n' ? '\n' : escaped;
        text.remove_prefix(escape + 2);
    }
    return buffer += text;
}

/// The text from its first message on, with the delimiter that is between BeginString and BodyLength as 0x01.
std::string_view with_soh(std::string_view text, std::string& buffer) {
    constexpr std::size_t kMaxLength = 8;
    const auto begin = text.find(kBegin);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    const auto version_end = text.find_first_not_of("FIXT.0123456789", 2);
    if (version_end == std::string_view::npos) return text;
    const auto length = text.substr(version_end, kMaxLength + 2).find("9=");
    if (length == std::string_view::npos || length == 0) return text;
    const auto delimiter = text.substr(version_end, length);
    if (delimiter == "\x01") return text;
    buffer.clear();
    for (std::size_t at = 0; at < text.size();) {
        const auto next = std::min(text.find(delimiter, at), text.size());
        buffer += text.substr(at, next - at);
        if (next < text.size()) buffer += kSoh;
        at = next + delimiter.size();
    }
    if (!buffer.ends_with(kSoh)) buffer += kSoh;  // a log may leave the last one out
    return buffer;
}

/// Whether a field's whole value is '*'.
bool has_masked_value(std::string_view bytes) {
    for (auto at = bytes.find("=*"); at != std::string_view::npos; at = bytes.find("=*", at + 1)) {
        const auto end = bytes.find_first_not_of('*', at + 1);
        if (end != std::string_view::npos && bytes[end] == kSoh) return true;
    }
    return false;
}

/// A value as UTF-8: as it is, or from Latin-1 where it is not.
std::string as_utf8(std::string_view text) {
    std::string result;
    for (const char each : text) {
        const auto byte = static_cast<unsigned char>(each);
        if (byte < 0x80) {
            result += each;
        } else {
            result += static_cast<char>(0xC0U | byte >> 6U);
            result += static_cast<char>(0x80U | (byte & 0x3FU));
        }
    }
    return result;
}

void append_value(ArrowColumn& column, std::optional<std::string_view> text) {
    if (!text) return append_null_text(column);
    unsigned bits = 0;  // no early end: the compiler takes many bytes at a time
    for (const char each : *text) bits |= static_cast<unsigned char>(each);
    if (bits < 0x80) return append_text(column, *text);
    append_text(column, as_utf8(*text));
}

}  // namespace

FixLog::FixLog(const Options& options)
    : options_(options), types_(options.types.begin(), options.types.end()), lines_(options.path) {}

std::vector<ArrowColumn> FixLog::empty_columns() const {
    std::vector<ArrowColumn> columns;
    columns.push_back(number_column("ts", "tsn:UTC"));
    columns.push_back(text_column("direction"));
    columns.push_back(text_column("session"));
    columns.push_back(text_column("msg_type"));
    columns.push_back(number_column("seq_num", "l"));
    columns.push_back(number_column("sending_time", "tsn:UTC"));
    columns.push_back(number_column("masked", "l"));
    columns.push_back(number_column("line", "l"));
    for (const auto& wanted : options_.tags)
        columns.push_back(wanted.every ? list_column(wanted.name) : text_column(wanted.name));
    if (!options_.type_names.empty()) columns.push_back(text_column("message"));
    return columns;
}

std::pair<std::vector<ArrowColumn>, std::size_t> FixLog::read(std::size_t max_rows, void (*pause)()) {
    columns_ = empty_columns();
    rows_ = 0;
    constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20U;  // a column's texts have 32-bit offsets
    const auto until = counts_.bytes + kMaxBytes;
    std::string_view line;
    while (rows_ < max_rows && (rows_ == 0 || counts_.bytes < until) && next_line(line, pause)) take_line(line);
    if (rows_ == 0) end_of_file();
    return {std::move(columns_), rows_};
}

bool FixLog::next_line(std::string_view& line, void (*pause)()) {
    using Outcome = files::LineReader::Outcome;
    for (;;) {
        const auto begin = lines_.offset();
        const auto outcome = lines_.next(line);
        counts_.bytes = lines_.offset();
        if (outcome == Outcome::end) return false;
        if (outcome == Outcome::again) {
            pause();
            continue;
        }
        line_at_ = begin;
        if (++counts_.lines % kPauseEvery == 0) pause();
        if (outcome == Outcome::line) return true;
        fault("a line of more than " + std::to_string(files::LineReader::kMaxLine) + " bytes", counts_.lines, line_at_);
    }
}

void FixLog::end_of_file() {
    if (std::exchange(ended_, true)) return;
    if (const auto error = lines_.error(); !error.empty()) fault(error, counts_.lines, line_at_);
    end_streams("the log ends within a message");
}

void FixLog::take_line(std::string_view line) {
    if (line.starts_with("# rejected: ")) return;
    if (line.starts_with("# ")) {  // what follows a loss does not continue what was before it
        ++counts_.remarks;
        return end_streams("the log lost the rest of a message");
    }
    Heading heading;
    std::string_view rest;
    Piece piece{.end = 0, .utc_ns = {}, .line = counts_.lines, .line_at = line_at_};
    if (!read_heading(line, heading, rest)) {
        const auto bytes = with_soh(line, plain_);
        piece.end = bytes.size();
        consume_bytes(bytes, 0, {&piece, 1}, {}, "the line ends within a message");
        return;
    }
    const auto bytes = unescaped(rest, plain_);
    // The session follows the direction in the line.
    const std::string_view stream{heading.session.data() - 2, heading.session.size() + 2};
    auto place = streams_.find(stream);
    if (place == streams_.end()) place = streams_.emplace(stream, Waiting{}).first;
    piece.utc_ns = heading.utc_ns;
    waiting_bytes_ -= place->second.memory();
    take_piece(bytes, piece, heading, place->second);
    waiting_bytes_ += place->second.memory();
    if (waiting_bytes_ > kMaxWaiting || streams_.size() > kMaxStreams) end_streams("too many messages without an end");
}

void FixLog::take_piece(std::string_view bytes, Piece piece, const Heading& heading, Waiting& waiting) {
    if (waiting.bytes.empty()) {
        piece.end = bytes.size();
        const auto consumed = consume_bytes(bytes, 0, {&piece, 1}, heading, {});
        if (consumed == bytes.size()) return;
        waiting.bytes = bytes;
        waiting.begin = consumed;
        waiting.pieces = {piece};
        return;
    }
    waiting.bytes += bytes;
    piece.end = waiting.bytes.size();
    waiting.pieces.push_back(piece);
    waiting.begin = consume_bytes(waiting.bytes, waiting.begin, waiting.pieces, heading, {});
    if (waiting.begin * 2 < waiting.bytes.size()) return;  // moving the rest costs less than reading it did
    std::erase_if(waiting.pieces, [&](const Piece& each) { return each.end <= waiting.begin; });
    for (auto& each : waiting.pieces) each.end -= waiting.begin;
    waiting.bytes.erase(0, std::exchange(waiting.begin, 0));
}

void FixLog::end_streams(std::string_view why) {
    for (auto& [stream, waiting] : streams_) {
        const Heading heading{.utc_ns = {}, .direction = stream.front(), .session = std::string_view{stream}.substr(2)};
        consume_bytes(waiting.bytes, waiting.begin, waiting.pieces, heading, why);
    }
    streams_.clear();
    waiting_bytes_ = 0;
}

std::size_t FixLog::consume_bytes(std::string_view bytes, std::size_t at, std::span<const Piece> pieces,
                                  Heading heading, std::string_view no_more) {
    const auto piece_with = [&](std::size_t place) -> const Piece& {
        return *std::ranges::upper_bound(pieces, place, {}, &Piece::end);
    };
    while (at < bytes.size()) {
        const auto frame = fix::next_frame(std::as_bytes(std::span{bytes.substr(at)}), kMaxMessageBytes);
        std::string_view error = no_more;
        if (frame) {
            const auto& last = piece_with(at + frame->bytes.size() - 1);
            heading.utc_ns = last.utc_ns;
            const auto refused = take_message(*frame, heading, last.line);
            if (!refused) {
                at += frame->bytes.size();
                continue;
            }
            error = name(*refused);
        } else if (frame.error().skip != 0) {
            error = name(frame.error().error);
        } else if (no_more.empty()) {
            break;
        }
        const auto& first = piece_with(at);
        fault(error, first.line, first.line_at);
        at = next_begin(bytes, at + 1, pieces);
    }
    return at;
}

std::size_t FixLog::next_begin(std::string_view bytes, std::size_t from, std::span<const Piece> pieces) {
    for (auto at = bytes.find(kBegin, from); at != std::string_view::npos; at = bytes.find(kBegin, at + 1)) {
        if (bytes[at - 1] != '=' || std::ranges::binary_search(pieces, at, {}, &Piece::end)) return at;
    }
    for (auto keep = std::min(kBegin.size() - 1, bytes.size() - from); keep > 0; --keep) {
        if (bytes.ends_with(kBegin.substr(0, keep))) return bytes.size() - keep;
    }
    return bytes.size();
}

std::optional<fix::FrameError> FixLog::take_message(const fix::Frame& frame, const Heading& heading,
                                                    std::uint64_t line) {
    constexpr std::size_t kMinFieldBytes = 3;
    constexpr std::size_t kTrailerBytes = 7;
    const auto max_fields = frame.bytes.size() / kMinFieldBytes + 1;
    if (max_fields > std::max(spill_.size(), fix::Parser::kFields)) spill_.resize(max_fields);
    const auto message = parser_.parse(frame, spill_);
    if (message) {
        add_row(*message, heading, line, false);
        return {};
    }
    const std::string_view bytes{reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
    if (message.error() == fix::FrameError::bad_checksum && has_masked_value(bytes)) {
        // Hidden secrets: CheckSum is that of the original.
        repaired_ = bytes.substr(0, bytes.size() - kTrailerBytes);
        unsigned sum = 0;
        for (const char byte : repaired_) sum += static_cast<unsigned char>(byte);
        const auto digits = std::to_string(1'000 + sum % 256).substr(1);
        repaired_.append("10=").append(digits).append(1, kSoh);
        const auto again = fix::next_frame(std::as_bytes(std::span{repaired_}), repaired_.size());
        if (again) {
            const auto masked = parser_.parse(*again, spill_);
            if (masked) {
                add_row(*masked, heading, line, true);
                return {};
            }
        }
    }
    return message.error();
}

void FixLog::add_row(const fix::Message& message, const Heading& heading, std::uint64_t line, bool masked) {
    ++counts_.messages;
    if (masked) ++counts_.masked;
    const auto type = message.msg_type();
    if (!types_.empty() && !types_.contains(type)) {
        ++counts_.unwanted;
        return;
    }
    ++rows_;
    append_number(columns_[kTime], heading.utc_ns);
    if (heading.direction == ' ') {
        append_null_text(columns_[kDirection]);
        append_null_text(columns_[kSession]);
    } else {
        append_text(columns_[kDirection], heading.direction == '<' ? "in" : "out");
        append_value(columns_[kSession], heading.session);
    }
    append_value(columns_[kType], type);
    append_number(columns_[kNumber], message.integer(fix::tag::kMsgSeqNum));
    append_number(columns_[kSendingTime], message.utc_timestamp_ns(fix::tag::kSendingTime));
    append_number(columns_[kMasked], masked ? 1 : 0);
    append_number(columns_[kLine], static_cast<std::int64_t>(line));
    auto place = static_cast<std::size_t>(kFixed);
    for (const auto& wanted : options_.tags) {
        auto& column = columns_[place++];
        if (!wanted.every) {
            append_value(column, message.text(wanted.tag));
            continue;
        }
        for (const auto& field : message.fields()) {
            if (field.tag == wanted.tag) append_value(*column.child, message.value(field));
        }
        end_list(column);
    }
    if (options_.type_names.empty()) return;
    const auto named = options_.type_names.find(std::string{type});
    if (named == options_.type_names.end()) return append_null_text(columns_[place]);
    append_value(columns_[place], named->second);
}

void FixLog::fault(std::string_view what, std::uint64_t line, std::uint64_t line_at) {
    ++counts_.faulty;
    errors_.add([&] {
        return "'" + options_.path + "', line " + std::to_string(line) + " at byte " + std::to_string(line_at) + ": " +
               std::string{what};
    });
}

}  // namespace millpond::python
