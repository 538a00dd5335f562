#include <millpond/fix/store_identity.hpp>

#include <algorithm>
#include <stdexcept>

#include <millpond/fix/store_layout.hpp>

namespace millpond::fix {
namespace {

constexpr char kEnd = '\x01';

std::string with_sub_id(const std::string& id, const std::string& sub_id) {
    return sub_id.empty() ? id : id + "/" + sub_id;
}

}  // namespace

std::string StoreIdentity::name() const {
    auto text = begin_string + ":" + with_sub_id(sender_comp_id, sender_sub_id) + "->" +
                with_sub_id(target_comp_id, target_sub_id);
    return qualifier.empty() ? text : text + ":" + qualifier;
}

std::string StoreIdentity::text() const {
    std::string text;
    for (const auto* field :
         {&begin_string, &sender_comp_id, &target_comp_id, &sender_sub_id, &target_sub_id, &qualifier}) {
        text += *field + kEnd;
    }
    if (text.size() > sizeof(StoreHeader::identity)) {
        throw std::invalid_argument("the ids of the session " + name() + " take " + std::to_string(text.size()) +
                                    " bytes; a message store has room for " +
                                    std::to_string(sizeof(StoreHeader::identity)));
    }
    return text;
}

StoreIdentity StoreIdentity::of_text(std::string_view text) {
    StoreIdentity identity;
    for (auto* field : {&identity.begin_string, &identity.sender_comp_id, &identity.target_comp_id,
                        &identity.sender_sub_id, &identity.target_sub_id, &identity.qualifier}) {
        const auto end = std::min(text.find(kEnd), text.size());
        *field = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return identity;
}

}  // namespace millpond::fix
