#include <millpond/engine/raw_log.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/created_file.hpp>
#include <millpond/core/thread_name.hpp>
#include <millpond/fix/utc_time.hpp>

#include "src/engine/log/log_archive.hpp"

namespace millpond::engine {
namespace {

// Maximum text for one write to the file.
constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;
constexpr std::size_t kMaxStreams = 4096;

// Prefixes of lines that are not pieces of the stream.
constexpr std::string_view kLost = "# lost: ";
constexpr std::string_view kRejected = "# rejected: ";
constexpr std::size_t kMaxNotedType = 16;
constexpr std::size_t kMaxNotedReason = 200;

/// Time of the first piece in the log at `path`, or now if it has only notes; nullopt if it is not a raw log.
std::optional<std::int64_t> beginning_of(const std::string& path) noexcept {
    constexpr std::size_t kMaxNoteBytes = 128;
    const core::Descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    bool inside = false;  // inside a note
    for (off_t at = 0;;) {
        std::array<char, kMaxNoteBytes> start;
        const auto got = file ? ::pread(file.get(), start.data(), start.size(), at) : -1;
        const std::string_view text{start.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
        if (text.empty() && at != 0) return core::utc_nanos();
        if (!inside && !text.starts_with(kLost) && !text.starts_with(kRejected)) {
            return fix::parse_utc_timestamp(text.substr(0, fix::kMaxTimestampChars));
        }
        const auto end = text.find('\n');
        inside = end == std::string_view::npos;
        at += static_cast<off_t>(inside ? text.size() : end + 1);
    }
}

std::string loss_note(std::uint64_t pieces, std::uint64_t bytes) {
    return std::string{kLost} + std::to_string(pieces) + " pieces, " + std::to_string(bytes) + " bytes\n";
}

}  // namespace

/// Header of a record in the ring; the session's name and the bytes follow it.
struct RawLog::Piece {
    std::int64_t utc_ns{0};
    std::uint64_t lost_pieces{0};  // pieces lost directly before this one
    std::uint64_t lost_bytes{0};
    std::uint32_t session_bytes{0};
    Direction direction{Direction::in};
    Kind kind{Kind::bytes};  // a connect has no bytes; the bytes of a reject are its note
};

RawLog::RawLog(Options options)
    : options_(std::move(options)), file_(options_.file.string(), options_.file_mode), ring_(options_.ring_bytes) {
    if (!open_file()) {
        const int error = errno;
        throw std::system_error(error, std::system_category(),
                                "cannot write " + file_.path() + std::string{core::why_not_opened(error)});
    }
    line_.reserve(kBufferBytes * 2);
    if (options_.compress || options_.keep != 0) {
        archive_ = std::make_unique<LogArchive>(
            file_,
            LogArchive::Options{.keep = options_.keep, .compress = options_.compress, .file_mode = options_.file_mode},
            counters_.compressed, counters_.compress_failures);
    }
    writer_ = std::thread{[this] { run(); }};
}

RawLog::~RawLog() {
    {
        const std::scoped_lock lock{stop_lock_};
        stopping_ = true;
    }
    stop_.notify_one();
    writer_.join();
}

void RawLog::on_bytes(std::string_view session, Direction direction, std::string_view bytes,
                      std::int64_t utc_ns) noexcept {
    const auto overhead = sizeof(Piece) + session.size();
    const auto max_piece = ring_.max_bytes() > overhead ? ring_.max_bytes() - overhead : bytes.size();
    do {
        put_piece(session, direction, bytes.substr(0, max_piece), utc_ns, Kind::bytes);
        bytes.remove_prefix(std::min(max_piece, bytes.size()));
    } while (!bytes.empty());
}

void RawLog::put_piece(std::string_view session, Direction direction, std::string_view bytes, std::int64_t utc_ns,
                       Kind kind) noexcept {
    auto* const place = ring_.claim(sizeof(Piece) + session.size() + bytes.size());
    if (place == nullptr) {
        if (kind == Kind::connect && lost_pieces_ != 0) return;  // the loss has the same effect on the mask
        ++lost_pieces_;
        lost_bytes_ += bytes.size();
        counters_.lost_pieces.add();
        counters_.lost_bytes.add(bytes.size());
        return;
    }
    const Piece piece{.utc_ns = utc_ns,
                      .lost_pieces = std::exchange(lost_pieces_, 0),
                      .lost_bytes = std::exchange(lost_bytes_, 0),
                      .session_bytes = static_cast<std::uint32_t>(session.size()),
                      .direction = direction,
                      .kind = kind};
    auto* const text = reinterpret_cast<char*>(place + sizeof piece);
    std::memcpy(place, &piece, sizeof piece);
    session.copy(text, session.size());
    if (!bytes.empty()) bytes.copy(text + session.size(), bytes.size());
    ring_.publish();
    if (kind != Kind::bytes) return;
    counters_.pieces.add();
    counters_.bytes.add(bytes.size());
}

void RawLog::run() {
    core::name_this_thread("raw log");
    std::unique_lock lock{stop_lock_};
    while (!stopping_) {
        lock.unlock();
        write_waiting();
        lock.lock();
        stop_.wait_for(lock, options_.interval, [this] { return stopping_; });
    }
    lock.unlock();
    write_waiting();
    // Losses after the last piece are not reported by any piece; the I/O thread no longer uses this object.
    if (lost_pieces_ != 0) {
        line_ += loss_note(lost_pieces_, lost_bytes_);
        write_out();
    }
}

/// Writes the contents of the ring.
void RawLog::write_waiting() {
    for (auto record = ring_.front(); record.data() != nullptr; record = ring_.front()) {
        Piece piece;
        std::memcpy(&piece, record.data(), sizeof piece);
        const std::string_view text{reinterpret_cast<const char*>(record.data()), record.size()};
        const auto rest = text.substr(sizeof piece);
        write_line(piece, rest.substr(0, piece.session_bytes), rest.substr(piece.session_bytes));
        ring_.release();
        if (line_.size() >= kBufferBytes) write_out();
    }
    write_out();
}

void RawLog::write_line(const Piece& piece, std::string_view session, std::string_view bytes) {
    if (piece.lost_pieces != 0) {
        line_ += loss_note(piece.lost_pieces, piece.lost_bytes);
        ++losses_;
    }
    if (piece.kind == Kind::connect) {
        begin_streams(session);
        return;
    }
    if (piece.kind == Kind::rejected) {
        line_ += kRejected;
        write_name(session);
        (line_ += bytes) += '\n';
        return;
    }
    char time[fix::kMaxTimestampChars];
    line_.append(time, fix::write_utc_timestamp(time, piece.utc_ns, fix::TimePrecision::nanos));
    line_ += piece.direction == Direction::in ? " < " : " > ";
    write_name(session);
    piece_ = bytes;
    hide_secrets(piece.direction, session);
    for (const char character : piece_) {
        if (character == '\n') {
            line_ += "\\n";
        } else if (character == '\\') {
            line_ += "\\\\";
        } else {
            line_ += character;
        }
    }
    line_ += '\n';
}

/// Adds the session's name, with blanks replaced, and a blank.
void RawLog::write_name(std::string_view session) {
    const auto begin = static_cast<std::ptrdiff_t>(line_.size());
    line_ += session;
    std::replace(line_.begin() + begin, line_.end(), ' ', '_');
    line_ += ' ';
}

/// Notes a reject, without the value, which may be secret.
void RawLog::on_rejected(std::string_view session, const fix::RejectedMessage& rejected) noexcept {
    std::array<char, kMaxNotedReason> note;
    std::size_t size = 0;
    const auto add = [&](std::string_view part) { size += part.copy(note.data() + size, note.size() - size); };
    std::array<char, 20> digits;
    const auto* const end = std::to_chars(digits.data(), digits.data() + digits.size(), rejected.sequence).ptr;
    add("34=");
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
    add(" 35=");
    add(rejected.msg_type.substr(0, kMaxNotedType));
    if (!rejected.tag_text.empty()) add(" tag ");
    add(rejected.tag_text.substr(0, kMaxNotedType));
    add(": ");
    add(rejected.detail.empty() ? rejected.reason : rejected.detail);
    std::replace_if(
        note.begin(), note.begin() + static_cast<std::ptrdiff_t>(size), [](char c) { return c < ' ' || c > '~'; }, '?');
    put_piece(session, {}, {note.data(), size}, 0, Kind::rejected);
}

void RawLog::begin_streams(std::string_view session) {
    for (const char direction : {'<', '>'}) {
        stream_.assign(1, direction);
        stream_ += session;
        if (const auto known = streams_.find(stream_); known != streams_.end()) streams_.erase(known);
    }
}

void RawLog::hide_too(const fix::SecretTags& secrets) {
    const std::scoped_lock lock{secrets_lock_};
    options_.secrets.add(secrets);
}

void RawLog::hide_secrets(Direction direction, std::string_view session) {
    const std::scoped_lock lock{secrets_lock_};
    if (streams_.size() > kMaxStreams) {
        streams_.clear();  // sessions start and end; an incomplete message counts as lost
        ++losses_;
    }
    stream_.assign(1, direction == Direction::in ? '<' : '>');
    stream_ += session;
    auto known = streams_.find(stream_);
    if (known == streams_.end()) known = streams_.emplace(stream_, Stream{fix::SecretMask{options_.secrets}}).first;
    auto& stream = known->second;
    if (stream.losses != losses_) stream.mask.on_loss();
    stream.losses = losses_;
    stream.mask.hide(std::span{piece_});
}

/// Continues the file of an earlier run, unless it is not a raw log or has other permissions.
bool RawLog::open_file() {
    opened_ = std::chrono::steady_clock::now();
    const auto began = beginning_of(file_.path());
    if (!began || !file_.open_again()) return file_.open();
    // The age of the file is counted from its first piece.
    opened_ -= std::chrono::nanoseconds{std::max<std::int64_t>(core::utc_nanos() - *began, 0)};
    return true;
}

void RawLog::write_out() {
    std::size_t note_bytes = 0;
    if (unwritten_bytes_ != 0 && !line_.empty()) {
        const auto note = std::string{kLost} + std::to_string(unwritten_bytes_) + " bytes that could not be written\n";
        line_.insert(0, note);
        note_bytes = note.size();
    }
    std::string_view left = line_;
    static_cast<void>(!left.empty() && file_.close_if_moved());
    while (!left.empty()) {
        if (!file_.is_open()) {
            if (!file_.open()) break;
            opened_ = std::chrono::steady_clock::now();
        }
        const auto written = file_.write_lines(left);
        if (written == 0) break;
        counters_.written_bytes.add(written);
        left.remove_prefix(written);
    }
    if (note_bytes != 0 && line_.size() - left.size() >= note_bytes) unwritten_bytes_ = 0;
    const auto failed = std::min(left.size(), line_.size() - note_bytes);
    unwritten_bytes_ += failed;
    counters_.failed_bytes.add(failed);
    line_.clear();
    if (!file_.is_open() || file_.bytes() == 0) return;
    const bool is_old =
        options_.rotate_after.count() != 0 && std::chrono::steady_clock::now() - opened_ >= options_.rotate_after;
    if ((!is_old && file_.bytes() < options_.rotate_bytes) || !file_.rotate()) return;
    counters_.rotations.add();
    if (archive_ != nullptr) archive_->on_renamed();
}

}  // namespace millpond::engine
