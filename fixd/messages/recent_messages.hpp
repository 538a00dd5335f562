#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The last messages of a session, read from the files that the engine writes anyway: nothing is kept for them.
namespace millpond::fixd {

struct RecentMessage {
    std::string bytes;
    std::optional<std::int64_t> utc_ns{};  ///< When it was received or sent; nullopt: only SendingTime says.
    char direction{'>'};                   ///< '<' received, '>' sent.
};

/// Bytes at the end of a raw log that are searched.
inline constexpr std::size_t kSearchedBytes = std::size_t{16} << 20U;

/// Messages of both directions from the end of a raw log, oldest first, with secrets already hidden. If the raw log has
/// too few, the one that was renamed before it is read too, unless it is compressed. session: as the engine names it.
/// Throws std::system_error that names the file.
[[nodiscard]] std::vector<RecentMessage> recent_in_raw_log(const std::filesystem::path& file, std::string_view session,
                                                           std::size_t count, std::size_t searched = kSearchedBytes);

/// Messages that were sent, from the store of a session. The engine may be writing to it. Throws memory::RegionError or
/// std::invalid_argument.
[[nodiscard]] std::vector<RecentMessage> recent_in_store(const std::filesystem::path& store, std::size_t count);

}  // namespace millpond::fixd
