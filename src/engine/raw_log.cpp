#include <millpond/engine/raw_log.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/created_file.hpp>
#include <millpond/core/thread_name.hpp>
#include <millpond/fix/utc_time.hpp>

#include "log_archive.hpp"

namespace millpond::engine {
namespace {

// Text that is handed to the file at once.
constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;
constexpr std::size_t kMostStreams = 4096;

// Begins a line that notes a loss.
constexpr std::string_view kLost = "# lost: ";

/// When the log at `path` began: the time of its first piece, or now if it only notes losses. Nothing where the file is
/// no raw log.
std::optional<std::int64_t> beginning_of(const std::string& path) noexcept {
    constexpr std::size_t kMostNoteBytes = 128;
    const core::Descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    for (off_t at = 0;;) {
        std::array<char, kMostNoteBytes> start;
        const auto got = file ? ::pread(file.get(), start.data(), start.size(), at) : -1;
        const std::string_view text{start.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
        if (text.empty() && at != 0) return core::utc_nanos();
        if (!text.starts_with(kLost)) return fix::parse_utc_timestamp(text.substr(0, fix::kMaxTimestampChars));
        at += static_cast<off_t>(std::min(text.find('\n'), text.size() - 1)) + 1;
    }
}

std::string loss_note(std::uint64_t pieces, std::uint64_t bytes) {
    return std::string{kLost} + std::to_string(pieces) + " pieces, " + std::to_string(bytes) + " bytes\n";
}

}  // namespace

/// What stands in the ring in front of a session's name and the bytes.
struct RawLog::Piece {
    std::int64_t utc_ns{0};
    std::uint64_t lost_pieces{0};  // right before this one
    std::uint64_t lost_bytes{0};
    std::uint32_t bytes{0};
    std::uint16_t session_bytes{0};
    Direction direction{Direction::in};
    bool connects{false};  // without bytes
};

RawLog::RawLog(Options options) : options_(std::move(options)), file_(options_.file.string(), options_.file_mode) {
    if (!std::has_single_bit(options_.ring_bytes)) {
        throw std::invalid_argument("the raw log's ring of " + std::to_string(options_.ring_bytes) +
                                    " bytes: must be a power of two");
    }
    if (!open_file()) {
        const int error = errno;
        throw std::system_error(error, std::system_category(),
                                "cannot write " + file_.path() + std::string{core::why_not_opened(error)});
    }
    ring_ = std::make_unique<char[]>(options_.ring_bytes);  // zeroed: its pages are there
    mask_ = options_.ring_bytes - 1;
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

void RawLog::put(std::uint64_t& at, const void* data, std::size_t size) noexcept {
    if (size == 0) return;  // memcpy takes no null, which an empty view may have
    const auto* const from = static_cast<const char*>(data);
    const auto place = at & mask_;
    const auto first = std::min<std::size_t>(size, options_.ring_bytes - place);
    std::memcpy(ring_.get() + place, from, first);
    std::memcpy(ring_.get(), from + first, size - first);
    at += size;
}

void RawLog::get(std::uint64_t& at, void* data, std::size_t size) const noexcept {
    auto* const to = static_cast<char*>(data);
    const auto place = at & mask_;
    const auto first = std::min<std::size_t>(size, options_.ring_bytes - place);
    std::memcpy(to, ring_.get() + place, first);
    std::memcpy(to + first, ring_.get(), size - first);
    at += size;
}

void RawLog::put_piece(std::string_view session, Direction direction, std::string_view bytes, std::int64_t utc_ns,
                       bool connects) noexcept {
    session = session.substr(0, UINT16_MAX);
    auto at = given_.load(std::memory_order_relaxed);
    const auto size = sizeof(Piece) + session.size() + bytes.size();
    if (at + size - taken_seen_ > options_.ring_bytes) {
        taken_seen_ = taken_.load(std::memory_order_acquire);  // sync "room made": write_waiting
        if (at + size - taken_seen_ > options_.ring_bytes) {
            if (connects && lost_pieces_ != 0) return;  // the loss has the same effect
            ++lost_pieces_;
            lost_bytes_ += bytes.size();
            counters_.lost_pieces.add();
            counters_.lost_bytes.add(bytes.size());
            return;
        }
    }
    const Piece piece{.utc_ns = utc_ns,
                      .lost_pieces = std::exchange(lost_pieces_, 0),
                      .lost_bytes = std::exchange(lost_bytes_, 0),
                      .bytes = static_cast<std::uint32_t>(bytes.size()),
                      .session_bytes = static_cast<std::uint16_t>(session.size()),
                      .direction = direction,
                      .connects = connects};
    put(at, &piece, sizeof piece);
    put(at, session.data(), session.size());
    put(at, bytes.data(), bytes.size());
    given_.store(at, std::memory_order_release);  // sync "piece given": write_waiting
    if (connects) return;
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
    // Losses after the last piece have no piece that reports them; the I/O thread is done with this by now.
    if (lost_pieces_ != 0) {
        line_ += loss_note(lost_pieces_, lost_bytes_);
        write_out();
    }
}

/// Writes all that is in the ring.
void RawLog::write_waiting() {
    auto at = taken_.load(std::memory_order_relaxed);
    for (;;) {
        if (at == given_.load(std::memory_order_acquire)) break;  // sync "piece given": on_bytes
        Piece piece;
        get(at, &piece, sizeof piece);
        write_line(piece, at);
        taken_.store(at, std::memory_order_release);  // sync "room made": on_bytes
        if (line_.size() >= kBufferBytes) write_out();
    }
    write_out();
}

void RawLog::write_line(const Piece& piece, std::uint64_t& at) {
    if (piece.lost_pieces != 0) {
        line_ += loss_note(piece.lost_pieces, piece.lost_bytes);
        ++losses_;
    }
    if (piece.connects) {
        piece_.resize(piece.session_bytes);
        get(at, piece_.data(), piece_.size());
        begin_streams(piece_);
        return;
    }
    char time[fix::kMaxTimestampChars];
    line_.append(time, fix::write_utc_timestamp(time, piece.utc_ns, fix::TimePrecision::nanos));
    line_ += piece.direction == Direction::in ? " < " : " > ";
    piece_.resize(piece.session_bytes + std::size_t{piece.bytes});
    get(at, piece_.data(), piece_.size());
    hide_secrets(piece);
    // A blank ends the name.
    std::replace(piece_.begin(), piece_.begin() + piece.session_bytes, ' ', '_');
    line_.append(piece_, 0, piece.session_bytes);
    line_ += ' ';
    for (std::size_t i = piece.session_bytes; i < piece_.size(); ++i) {
        const auto character = piece_[i];
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

void RawLog::hide_secrets(const Piece& piece) {
    const std::scoped_lock lock{secrets_lock_};
    if (streams_.size() > kMostStreams) {
        streams_.clear();  // sessions start and end; an incomplete message counts as lost
        ++losses_;
    }
    stream_.assign(1, piece.direction == Direction::in ? '<' : '>');
    stream_.append(piece_, 0, piece.session_bytes);
    auto known = streams_.find(stream_);
    if (known == streams_.end()) known = streams_.emplace(stream_, Stream{fix::SecretMask{options_.secrets}}).first;
    auto& stream = known->second;
    if (stream.losses != losses_) stream.mask.on_loss();
    stream.losses = losses_;
    stream.mask.hide(std::span{piece_}.subspan(piece.session_bytes));
}

/// Continues what an earlier run has left there, unless that is no raw log or has other permissions.
bool RawLog::open_file() {
    opened_ = std::chrono::steady_clock::now();
    const auto began = beginning_of(file_.path());
    if (!began || !file_.open_again()) return file_.open();
    // Its age counts from its first piece.
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
