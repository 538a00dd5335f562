#include <millpond/fix/routing.hpp>

#include <millpond/fix/tag.hpp>

namespace millpond::fix {

Routing Routing::reverse_of(const Message& message) noexcept {
    const auto value = [&](Tag tag) { return message.text(tag).value_or(std::string_view{}); };
    return {.on_behalf_of_comp_id = value(tag::kDeliverToCompId),
            .deliver_to_comp_id = value(tag::kOnBehalfOfCompId),
            .on_behalf_of_sub_id = value(tag::kDeliverToSubId),
            .deliver_to_sub_id = value(tag::kOnBehalfOfSubId),
            .on_behalf_of_location_id = value(tag::kDeliverToLocationId),
            .deliver_to_location_id = value(tag::kOnBehalfOfLocationId)};
}

}  // namespace millpond::fix
