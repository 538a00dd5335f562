#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <variant>

#include "src/engine/io/output_queue.hpp"

/// The protocol between a primary and its standby, one connection for each session. Each frame is 4 bytes of length (of
/// the body), 4 bytes of type, and the body. All integers are little-endian.
///
///     primary                                      standby
///     Hello    1  my session and position    ->
///                                            <-    Welcome 2  my position, or
///                                            <-    Refused 3  the reason; the connection ends
///     Begin    4  your next number           ->
///     Record   5  a message as it was sent   ->
///     Reset    6  both numbers are 1 again   ->
///     Progress 7  both numbers belong to     ->
///                 each other here
///                                            <-    Ack     8  everything up to this Progress is in my store
///
/// The fields are those of the structs below in their order; texts come last, after their lengths.
namespace millpond::engine::replication {

inline constexpr std::uint64_t kMagic = 0x31'59'42'54'53'4E'50'4DULL;  // "MPNSTBY1"
inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::size_t kHeaderBytes = 8;
inline constexpr std::size_t kMaxControlBytes = 4096;  ///< Maximum size of any frame but a Record.
inline constexpr std::size_t kRecordExtraBytes = 8;    ///< Bytes of a Record besides its message.

/// Position of a store.
struct Position {
    std::uint64_t epoch{0};
    std::uint64_t epoch_first{0};
    std::int64_t creation_utc_ns{0};  ///< Time at which the numbers last started at 1.
    std::uint64_t next_sender{1};
    std::uint64_t next_target{1};
    std::uint64_t newest{0};   ///< Hash of the newest message; 0: there is none.
    std::uint64_t lineage{0};  ///< See fix::StandbyState.
    friend bool operator==(const Position&, const Position&) = default;
};

/// Starts with magic and version (8 and 4 bytes) in every version.
struct Hello {
    std::uint32_t version{kVersion};
    Position position{};
    std::string_view identity{};  ///< See fix::StoreIdentity::text.
    std::string_view token{};
};

/// Starts with magic and version, like Hello.
struct Welcome {
    std::uint32_t version{kVersion};
    Position position{};
};

enum class Reason : std::uint32_t {
    version = 1,      ///< The Hello is of another version.
    not_admitted,     ///< The token is wrong.
    unknown_session,  ///< The standby has no such session.
    superseded,       ///< The standby has taken over.
    replaced,         ///< The session has a newer connection.
    store,            ///< The standby's store refuses the primary's.
    protocol,         ///< An invalid frame.
};

struct Refused {
    std::uint32_t version{kVersion};
    Reason reason{Reason::protocol};
    std::uint64_t epoch{0};  ///< Epoch of the standby.
    std::string_view text{};
};

struct Begin {
    std::uint64_t epoch{0};
    std::int64_t creation_utc_ns{0};
    std::uint64_t next_sender{
        1};  ///< Number of the first message that follows; the standby drops its messages from there on.
    std::uint32_t is_whole{0};  ///< 1: the counterparty has nothing that the standby has not acknowledged.
};

struct Record {
    std::uint64_t sequence{0};
    std::string_view message{};
};

struct Reset {
    std::int64_t creation_utc_ns{0};
};

struct Progress {
    std::uint64_t serial{0};  ///< Increases with each Progress.
    std::uint64_t next_sender{1};
    std::uint64_t next_target{1};
};

struct Ack {
    std::uint64_t serial{0};
};

using Frame = std::variant<Hello, Welcome, Refused, Begin, Record, Reset, Progress, Ack>;

enum class Fault : std::uint8_t {
    incomplete,  ///< More bytes are needed.
    too_long,    ///< Longer than any frame of its type: close the connection.
    malformed,   ///< Not a frame of this protocol: close the connection.
};

struct Read {
    Frame frame;
    std::size_t bytes;  ///< Size of the frame.
};

/// Reads the first frame. max_message: maximum size of a Record's message. Of a Hello or Welcome of another version
/// only the version is set. Texts point into `bytes`.
[[nodiscard]] std::expected<Read, Fault> read_frame(std::span<const std::byte> bytes, std::size_t max_message) noexcept;

/// Appends a frame. Returns false, with nothing written, if it does not fit.
[[nodiscard]] bool write_frame(OutputQueue& output, const Frame& frame) noexcept;

/// 64-bit FNV-1a hash; never 0.
[[nodiscard]] std::uint64_t hash_of(std::string_view message) noexcept;

}  // namespace millpond::engine::replication
