#include <millpond/fix/application_versions.hpp>

#include <algorithm>
#include <cstring>

#include <millpond/fix/msg_type.hpp>

namespace millpond::fix {
namespace {

/// Packs the type into a number; requires at most kMaxTypeChars.
std::uint64_t number_of(std::string_view msg_type) noexcept {
    std::uint64_t number = 0;
    std::memcpy(&number, msg_type.data(), msg_type.size());
    return number;
}

}  // namespace

/// An instance of NoMsgTypes(384).
struct ApplicationVersions::Entry {
    std::string_view type{};
    std::optional<std::string_view> version{};
    std::optional<bool> indicator{};
    bool is_received{false};  // the peer receives messages of this type
};

ApplicationVersions::ApplicationVersions(const ApplicationDictionary& usual,
                                         std::span<const ApplicationDictionary> further)
    : usual_(usual.version), peer_usual_(usual.version), types_(kMaxTypes) {
    const auto know = [&](const ApplicationDictionary& one) {
        known_ |= static_cast<std::uint16_t>(1U << static_cast<unsigned>(one.version));
        dictionaries_[static_cast<std::size_t>(one.version)] = one.dictionary;
    };
    know(usual);
    std::ranges::for_each(further, know);
}

std::optional<ApplicationVersion> ApplicationVersions::of_type(std::string_view msg_type) const noexcept {
    if (msg_type.size() <= kMaxTypeChars) {
        const std::span used{types_.data(), types_used_};
        const auto at = std::ranges::lower_bound(used, number_of(msg_type), {}, &Typed::type);
        if (at != used.end() && at->type == number_of(msg_type)) return if_known(at->version);
    }
    return if_known(peer_usual_);
}

ApplicationVersions::Fault ApplicationVersions::learn(const Message& logon) noexcept {
    types_used_ = 0;
    const auto usual = application_version_of(logon.text(tag::kDefaultApplVerId).value_or(std::string_view{}));
    if (!if_known(usual)) return Fault::unknown_default;
    peer_usual_ = *usual;
    auto fault = Fault::none;
    Entry entry;
    const auto end_entry = [&] {
        if (fault == Fault::none) fault = add(entry);
    };
    for (const auto& field : logon.fields()) {
        const auto value = logon.value(field);
        switch (field.tag) {
            case tag::kRefMsgType:  // starts an instance
                end_entry();
                entry = {.type = value};
                break;
            case tag::kMsgDirection: entry.is_received = value == "R"; break;
            case tag::kRefApplVerId: entry.version = value; break;
            case tag::kDefaultVerIndicator: entry.indicator = value == "Y"; break;
            default: break;
        }
    }
    end_entry();
    if (fault != Fault::none) types_used_ = 0;
    return fault;
}

ApplicationVersions::Fault ApplicationVersions::add(const Entry& entry) noexcept {
    const bool is_default = entry.indicator.value_or(true);
    if (!entry.version || entry.is_received || !is_default || entry.type.empty() || is_session_message(entry.type)) {
        return Fault::none;
    }
    if (entry.type.size() > kMaxTypeChars) return Fault::type_too_long;
    const Typed typed{.type = number_of(entry.type),
                      .version = application_version_of(*entry.version).value_or(ApplicationVersion{}),
                      .is_indicated = entry.indicator.has_value()};
    auto* const begin = types_.data();
    auto* const end = begin + types_used_;
    auto* const at =
        std::lower_bound(begin, end, typed.type, [](const Typed& one, auto type) { return one.type < type; });
    if (at != end && at->type == typed.type) {
        if (typed.is_indicated && !at->is_indicated) *at = typed;
        return Fault::none;
    }
    if (types_used_ == types_.size()) return Fault::too_many_types;
    std::move_backward(at, end, end + 1);
    *at = typed;
    ++types_used_;
    return Fault::none;
}

}  // namespace millpond::fix
