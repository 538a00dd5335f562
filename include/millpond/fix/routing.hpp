#pragma once

#include <string_view>

#include <millpond/fix/message.hpp>

namespace millpond::fix {

/// Header fields of a message that refine its sender and receiver beyond the CompIDs.
struct Routing {
    std::string_view sender_sub_id{};
    std::string_view target_sub_id{};
    std::string_view sender_location_id{};
    std::string_view target_location_id{};
    std::string_view on_behalf_of_comp_id{};
    std::string_view deliver_to_comp_id{};
    std::string_view on_behalf_of_sub_id{};
    std::string_view deliver_to_sub_id{};
    std::string_view on_behalf_of_location_id{};
    std::string_view deliver_to_location_id{};
    std::string_view appl_ver_id{};  ///< ApplVerID(1128), if different from our DefaultApplVerID(1137).
    bool poss_resend{false};

    /// Whether all fields except appl_ver_id and poss_resend are empty.
    [[nodiscard]] bool empty() const noexcept {
        return (sender_sub_id.size() | target_sub_id.size() | sender_location_id.size() | target_location_id.size() |
                on_behalf_of_comp_id.size() | deliver_to_comp_id.size() | on_behalf_of_sub_id.size() |
                deliver_to_sub_id.size() | on_behalf_of_location_id.size() | deliver_to_location_id.size()) == 0;
    }
    /// Routing of a reply to a message with this routing.
    [[nodiscard]] static Routing reverse_of(const Message& message) noexcept;
};

}  // namespace millpond::fix
