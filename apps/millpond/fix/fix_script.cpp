#include "apps/millpond/fix/fix_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <millpond/fix/tag.hpp>

namespace millpond::app {
namespace {

constexpr char kSoh = '\x01';

bool is_of_session(fix::Tag tag) {
    constexpr fix::Tag kFilledIn[] = {fix::tag::kBeginString,  fix::tag::kBodyLength,   fix::tag::kMsgSeqNum,
                                      fix::tag::kSenderCompId, fix::tag::kTargetCompId, fix::tag::kSendingTime,
                                      fix::tag::kCheckSum};
    return std::ranges::find(kFilledIn, tag) != std::end(kFilledIn);
}

}  // namespace

bool read_script_line(std::string_view line, ScriptMessage& message) {
    message.type_bytes = 0;
    message.body_bytes = 0;
    std::string text{line};
    for (auto at = text.find("^A"); at != std::string::npos; at = text.find("^A")) text.replace(at, 2, 1, kSoh);
    std::ranges::replace(text, '|', kSoh);
    std::string_view left = text;
    if (left.empty() || left.front() == '#') return false;
    while (!left.empty()) {
        const auto end = std::min(left.find(kSoh), left.size());
        const auto field = left.substr(0, end);
        left.remove_prefix(std::min(end + 1, left.size()));
        fix::Tag tag = 0;
        const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), tag);
        const auto value_at = static_cast<std::size_t>(stop - field.data()) + 1;
        if (error != std::errc{} || value_at > field.size() || *stop != '=' || tag == 0) {
            throw std::runtime_error(fmt::format("expects TAG=VALUE, found '{}'", field));
        }
        const auto value = field.substr(value_at);
        if (tag == fix::tag::kMsgType) {
            if (value.empty() || value.size() > message.type.size()) {
                throw std::runtime_error(
                    fmt::format("a MsgType has 1 to {} characters, found '{}'", message.type.size(), value));
            }
            std::ranges::copy(value, message.type.begin());
            message.type_bytes = static_cast<std::uint16_t>(value.size());
        } else if (!is_of_session(tag)) {
            if (message.body_bytes + field.size() + 1 > ScriptMessage::kMaxBytes) {
                throw std::runtime_error(fmt::format("longer than {} bytes", ScriptMessage::kMaxBytes));
            }
            std::ranges::copy(field, message.body.begin() + message.body_bytes);
            message.body_bytes = static_cast<std::uint16_t>(message.body_bytes + field.size() + 1);
            message.body[message.body_bytes - 1U] = kSoh;
        }
    }
    if (message.type_bytes == 0) throw std::runtime_error("MsgType(35) is missing");
    return true;
}

}  // namespace millpond::app
