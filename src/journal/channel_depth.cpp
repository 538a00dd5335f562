#include <millpond/journal/channel_depth.hpp>

#include <exception>
#include <type_traits>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/segment_reader.hpp>

namespace millpond::journal {

market::ChannelDepth depth_of(const ChannelRecord& channel) noexcept {
    const bool is_valid = channel.depth <= market::kMaxBoardDepth || channel.depth == feed::kFullDepth;
    return {.depth = is_valid ? channel.depth : 0, .orders = channel.orders != 0};
}

std::vector<market::ChannelDepth> recorded_depths(const std::filesystem::path& folder) {
    std::vector<market::ChannelDepth> depths;
    for (const auto& file : list_segments(folder)) {
        try {
            SegmentReader{file.path}.for_each_description([&]<class Record>(const Record& record) {
                if constexpr (std::is_same_v<Record, ChannelRecord>) depths.push_back(depth_of(record));
            });
        } catch (const std::exception& error) {  // unused, damaged or removed meanwhile
            if (!is_segment_failure(error)) throw;
        }
    }
    return depths;
}

}  // namespace millpond::journal
