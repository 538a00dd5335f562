#include "apps/millpond/fix/fix_echo.hpp"

#include <algorithm>
#include <functional>

namespace millpond::app {
namespace {

bool is_echoed(std::string_view type) { return type == "D" || type == "d" || type == "C"; }

bool holds(const fix::FieldSet& set, fix::Tag tag) {
    if (set.has(tag)) return true;
    return std::ranges::any_of(set.members(),
                               [&](const auto& member) { return member.group && holds(*member.group, tag); });
}

}  // namespace

void EchoApplication::on_logon(engine::SessionLink& link) {
    // A sequence reset also forgets the orders.
    if (link.session().store().next_target() == 2) orders_.clear();
}

fix::Verdict EchoApplication::on_message(engine::SessionLink& link, const fix::Message& message) {
    if (!is_echoed(message.msg_type())) return fix::Verdict::unsupported_message_type;
    const bool poss_resend = message.boolean(fix::tag::kPossResend).value_or(false);
    if (message.msg_type() == "D") {
        const auto id = message.text(fix::tag::kClOrdId).value_or("");
        const bool known = orders_.contains(id);
        if (known && poss_resend) return fix::Verdict::accepted;
        if (!known) orders_.emplace(id);
    }
    const auto& versions = link.session().application_versions();
    const auto version = versions.of(message);
    const auto* of_version = version ? versions.dictionary(*version) : nullptr;
    split(of_version != nullptr ? *of_version : *dictionary_, message);
    // The default is ours only if the peer's Logon has no version.
    const bool is_ours = !version || *version == versions.usual();
    const auto id = is_ours ? std::string_view{} : fix::appl_ver_id(*version);
    const auto value = [&](fix::Tag tag) { return message.text(tag).value_or(std::string_view{}); };
    const bool sent = link.send(message.msg_type(),
                                [&](fix::Writer& writer) {
                                    for (const auto& part : parts_) {
                                        writer.add_fields(message.bytes().substr(part.begin, part.end - part.begin));
                                    }
                                },
                                {.on_behalf_of_comp_id = value(fix::tag::kOnBehalfOfCompId),
                                 .deliver_to_comp_id = value(fix::tag::kDeliverToCompId),
                                 .on_behalf_of_sub_id = value(fix::tag::kOnBehalfOfSubId),
                                 .deliver_to_sub_id = value(fix::tag::kDeliverToSubId),
                                 .on_behalf_of_location_id = value(fix::tag::kOnBehalfOfLocationId),
                                 .deliver_to_location_id = value(fix::tag::kDeliverToLocationId),
                                 .appl_ver_id = message.text(fix::tag::kApplVerId).value_or(id),
                                 .poss_resend = poss_resend});
    return sent ? fix::Verdict::accepted : fix::Verdict::application_not_available;
}

void EchoApplication::split(const fix::Dictionary& dictionary, const fix::Message& message) {
    parts_.clear();
    const auto* definition = dictionary.message(message.msg_type());
    const fix::FieldSet* group = nullptr;
    for (const auto& field : message.fields()) {
        if (field.tag == fix::tag::kCheckSum || dictionary.trailer().has(field.tag)) break;
        const auto begin = field.offset - message.tag_text(field).size() - 1;
        const auto end = std::size_t{field.offset} + field.length + 1;
        if (group != nullptr && holds(*group, field.tag)) {
            parts_.back().end = end;
            continue;
        }
        group = nullptr;
        const auto* member = definition != nullptr ? definition->fields.find(field.tag) : nullptr;
        if (member == nullptr) continue;  // field of the header
        parts_.push_back({field.tag, begin, end});
        group = member->group.get();
    }
    std::ranges::stable_sort(parts_, {}, &Part::tag);
}

}  // namespace millpond::app
