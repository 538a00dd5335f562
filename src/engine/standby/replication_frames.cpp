#include "src/engine/standby/replication_frames.hpp"

#include <array>
#include <cstring>
#include <type_traits>

#include <millpond/core/endian.hpp>

namespace millpond::engine::replication {
namespace {

constexpr std::uint32_t kFirstType = 1;
static_assert(std::is_same_v<std::variant_alternative_t<7, Frame>, Ack>);  // a frame's type is its index + 1
constexpr std::size_t kRecordIndex = 4;

/// Reads fields one after the other; reading past the end returns 0 and sets a fault.
class Fields {
public:
    explicit Fields(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    template <class Int>
    Fields& operator>>(Int& value) noexcept {
        if (bytes_.size() < sizeof(Int)) {
            is_good_ = false;
            return *this;
        }
        value = core::load_le<Int>(bytes_.data());
        bytes_ = bytes_.subspan(sizeof(Int));
        return *this;
    }
    Fields& operator>>(Position& position) noexcept {
        return *this >> position.epoch >> position.epoch_first >> position.creation_utc_ns >> position.next_sender >>
               position.next_target >> position.newest >> position.lineage;
    }
    std::string_view text(std::size_t size) noexcept {
        if (bytes_.size() < size) {
            is_good_ = false;
            return {};
        }
        const std::string_view text{reinterpret_cast<const char*>(bytes_.data()), size};
        bytes_ = bytes_.subspan(size);
        return text;
    }
    [[nodiscard]] std::size_t left() const noexcept { return bytes_.size(); }
    [[nodiscard]] bool is_done() const noexcept { return is_good_ && bytes_.empty(); }

private:
    std::span<const std::byte> bytes_;
    bool is_good_{true};
};

/// Writes fields one after the other, into memory of a control frame's size.
class Bytes {
public:
    template <class Int>
    Bytes& operator<<(Int value) noexcept {
        if (size_ + sizeof value > bytes_.size()) {
            fits_ = false;
            return *this;
        }
        core::store_le(bytes_.data() + size_, value);
        size_ += sizeof value;
        return *this;
    }
    Bytes& operator<<(const Position& position) noexcept {
        return *this << position.epoch << position.epoch_first << position.creation_utc_ns << position.next_sender
                     << position.next_target << position.newest << position.lineage;
    }
    Bytes& operator<<(std::string_view text) noexcept {
        if (size_ + text.size() > bytes_.size()) {
            fits_ = false;
            return *this;
        }
        if (!text.empty()) std::memcpy(bytes_.data() + size_, text.data(), text.size());
        size_ += text.size();
        return *this;
    }
    /// Completes the frame: sets the length at its start.
    [[nodiscard]] std::string_view finish(std::size_t appended) noexcept {
        core::store_le(bytes_.data(), static_cast<std::uint32_t>(size_ - kHeaderBytes + appended));
        return {reinterpret_cast<const char*>(bytes_.data()), size_};
    }
    [[nodiscard]] bool fits() const noexcept { return fits_; }

private:
    std::array<std::byte, kHeaderBytes + kMaxControlBytes> bytes_;
    std::size_t size_{0};
    bool fits_{true};
};

std::uint32_t size_of(std::string_view text) noexcept { return static_cast<std::uint32_t>(text.size()); }

/// Whether magic and version are ours; the rest of another version is not read.
bool is_ours(Fields& in, std::uint32_t& version, bool& is_alien) noexcept {
    std::uint64_t magic = 0;
    in >> magic >> version;
    is_alien = magic != kMagic;
    return !is_alien && version == kVersion;
}

bool read(Fields& in, Hello& hello) noexcept {
    bool is_alien = false;
    if (!is_ours(in, hello.version, is_alien)) return !is_alien;
    std::uint32_t identity = 0;
    std::uint32_t token = 0;
    in >> hello.position >> identity >> token;
    hello.identity = in.text(identity);
    hello.token = in.text(token);
    return in.is_done();
}

bool read(Fields& in, Welcome& welcome) noexcept {
    bool is_alien = false;
    if (!is_ours(in, welcome.version, is_alien)) return !is_alien;
    in >> welcome.position;
    return in.is_done();
}

bool read(Fields& in, Refused& refused) noexcept {
    bool is_alien = false;
    std::uint32_t reason = 0;
    std::uint32_t text = 0;
    static_cast<void>(is_ours(in, refused.version, is_alien));  // the rest is the same in every version
    in >> reason >> refused.epoch >> text;
    refused.reason = static_cast<Reason>(reason);
    refused.text = in.text(text);
    return !is_alien && in.is_done();
}

bool read(Fields& in, Begin& begin) noexcept {
    in >> begin.epoch >> begin.creation_utc_ns >> begin.next_sender >> begin.is_whole;
    return in.is_done() && begin.next_sender != 0;
}

bool read(Fields& in, Record& record) noexcept {
    in >> record.sequence;
    record.message = in.text(in.left());
    return in.is_done() && record.sequence != 0 && !record.message.empty();
}

bool read(Fields& in, Reset& reset) noexcept {
    in >> reset.creation_utc_ns;
    return in.is_done();
}

bool read(Fields& in, Progress& progress) noexcept {
    in >> progress.serial >> progress.next_sender >> progress.next_target;
    return in.is_done() && progress.next_sender != 0 && progress.next_target != 0;
}

bool read(Fields& in, Ack& ack) noexcept {
    in >> ack.serial;
    return in.is_done();
}

void write(Bytes& out, const Hello& hello) noexcept {
    out << kMagic << hello.version << hello.position << size_of(hello.identity) << size_of(hello.token)
        << hello.identity << hello.token;
}
void write(Bytes& out, const Welcome& welcome) noexcept { out << kMagic << welcome.version << welcome.position; }
void write(Bytes& out, const Refused& refused) noexcept {
    out << kMagic << refused.version << static_cast<std::uint32_t>(refused.reason) << refused.epoch
        << size_of(refused.text) << refused.text;
}
void write(Bytes& out, const Begin& begin) noexcept {
    out << begin.epoch << begin.creation_utc_ns << begin.next_sender << begin.is_whole;
}
void write(Bytes& out, const Record& record) noexcept { out << record.sequence; }  // followed by the message
void write(Bytes& out, const Reset& reset) noexcept { out << reset.creation_utc_ns; }
void write(Bytes& out, const Progress& progress) noexcept {
    out << progress.serial << progress.next_sender << progress.next_target;
}
void write(Bytes& out, const Ack& ack) noexcept { out << ack.serial; }

template <std::size_t index = 0>
std::expected<Frame, Fault> read_alternative(std::size_t wanted, Fields in) noexcept {
    if constexpr (index == std::variant_size_v<Frame>) {
        return std::unexpected(Fault::malformed);
    } else {
        if (index != wanted) return read_alternative<index + 1>(wanted, in);
        std::variant_alternative_t<index, Frame> frame;
        if (!read(in, frame)) return std::unexpected(Fault::malformed);
        return frame;
    }
}

}  // namespace

std::expected<Read, Fault> read_frame(std::span<const std::byte> bytes, std::size_t max_message) noexcept {
    if (bytes.size() < kHeaderBytes) return std::unexpected(Fault::incomplete);
    const auto length = core::load_le<std::uint32_t>(bytes.data());
    const auto type = core::load_le<std::uint32_t>(bytes.data() + 4);
    if (type < kFirstType || type - kFirstType >= std::variant_size_v<Frame>) return std::unexpected(Fault::malformed);
    const auto max = type - kFirstType == kRecordIndex ? kRecordExtraBytes + max_message : kMaxControlBytes;
    if (length > max) return std::unexpected(Fault::too_long);
    if (bytes.size() < kHeaderBytes + length) return std::unexpected(Fault::incomplete);
    auto frame = read_alternative(type - kFirstType, Fields{bytes.subspan(kHeaderBytes, length)});
    if (!frame) return std::unexpected(frame.error());
    return Read{*frame, kHeaderBytes + length};
}

bool write_frame(OutputQueue& output, const Frame& frame) noexcept {
    Bytes out;
    out << std::uint32_t{0} << static_cast<std::uint32_t>(frame.index() + kFirstType);
    std::visit([&](const auto& one) { write(out, one); }, frame);
    if (!out.fits()) return false;
    const auto* const record = std::get_if<Record>(&frame);
    if (record == nullptr) return output.add_copy(out.finish(0));
    return output.add_copies(out.finish(record->message.size()), record->message);
}

std::uint64_t hash_of(std::string_view message) noexcept {
    constexpr std::uint64_t kPrime = 0x100000001b3;
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const auto c : message) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    return hash == 0 ? 1 : hash;
}

}  // namespace millpond::engine::replication
