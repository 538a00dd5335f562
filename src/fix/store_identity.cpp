#include <millpond/fix/store_identity.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <millpond/fix/store_layout.hpp>

namespace millpond::fix {
namespace {

constexpr char kEnd = '\x01';

std::string party(const std::string& id, const std::string& sub_id, const std::string& location_id) {
    if (!location_id.empty()) return id + "/" + sub_id + "/" + location_id;
    return sub_id.empty() ? id : id + "/" + sub_id;
}

/// Lists the ids in the order of the header's text.
template <class Identity>
auto fields_of(Identity& identity) {
    return std::array{&identity.begin_string,       &identity.sender_comp_id,     &identity.target_comp_id,
                      &identity.sender_sub_id,      &identity.sender_location_id, &identity.target_sub_id,
                      &identity.target_location_id, &identity.qualifier};
}

}  // namespace

std::string StoreIdentity::name() const {
    auto text = begin_string + ":" + party(sender_comp_id, sender_sub_id, sender_location_id) + "->" +
                party(target_comp_id, target_sub_id, target_location_id);
    return qualifier.empty() ? text : text + ":" + qualifier;
}

StoreIdentity StoreIdentity::of(const SessionConfig& config) {
    return {.begin_string = std::string{fix::begin_string(config.version)},
            .sender_comp_id = config.sender_comp_id,
            .target_comp_id = config.target_comp_id,
            .sender_sub_id = config.sender_sub_id,
            .sender_location_id = config.sender_location_id,
            .target_sub_id = config.target_sub_id,
            .target_location_id = config.target_location_id,
            .qualifier = config.qualifier};
}

std::string StoreIdentity::text() const {
    std::string text;
    for (const auto* field : fields_of(*this)) text += *field + kEnd;
    if (text.size() > sizeof(StoreHeader::identity)) {
        throw std::invalid_argument("the ids of the session " + name() + " take " + std::to_string(text.size()) +
                                    " bytes; a message store can hold " +
                                    std::to_string(sizeof(StoreHeader::identity)));
    }
    return text;
}

StoreIdentity StoreIdentity::of_text(std::string_view text) {
    StoreIdentity identity;
    for (auto* field : fields_of(identity)) {
        const auto end = std::min(text.find(kEnd), text.size());
        *field = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return identity;
}

}  // namespace millpond::fix
