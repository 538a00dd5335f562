#include <millpond/fix/session_ids.hpp>

#include <array>
#include <string>
#include <utility>

namespace millpond::fix {
namespace {

/// The ids, with their tags in messages of the peer.
std::array<std::pair<Tag, const std::string*>, 4> from_peer(const SessionConfig& config) noexcept {
    return {{{tag::kSenderSubId, &config.target_sub_id},
             {tag::kSenderLocationId, &config.target_location_id},
             {tag::kTargetSubId, &config.sender_sub_id},
             {tag::kTargetLocationId, &config.sender_location_id}}};
}

}  // namespace

Tag wrong_sub_id(const Message& message, const SessionConfig& config) noexcept {
    for (const auto& [tag, value] : from_peer(config)) {
        if (!value->empty() && message.text(tag) != *value) return tag;
    }
    return tag::kInvalid;
}

unsigned sub_ids(const SessionConfig& config) noexcept {
    unsigned count = 0;
    for (const auto& [tag, value] : from_peer(config)) count += value->empty() ? 0U : 1U;
    return count;
}

}  // namespace millpond::fix
