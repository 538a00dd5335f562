#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/fix/tag.hpp>
#include <millpond/fix/version.hpp>

namespace millpond::fix {

/// A session message just before it is encoded into the store: its number and time are final, and further fields may be
/// added or replaced. What cannot be set: the fields that frame and number a message, those that the session's rules
/// depend on (may_set), and length fields, which follow from their data fields.
///
/// Threads: one; lives during SessionHandler::on_send_admin.
/// Memory:  the session's.
class AdminDraft {
public:
    static constexpr std::size_t kMostFields = 128;
    static constexpr std::size_t kMostReasonBytes = 256;  ///< Of a refusal.

    /// message: whole and without data fields. memory: for the values that are set. Both outlive the draft.
    AdminDraft(std::string_view message, std::span<char> memory) noexcept;

    [[nodiscard]] std::string_view msg_type() const noexcept { return value_of(tag::kMsgType); }
    [[nodiscard]] bool is_logon() const noexcept { return msg_type() == "A"; }
    /// MsgSeqNum(34).
    [[nodiscard]] std::uint64_t sequence() const noexcept;
    /// SendingTime(52), as it goes out.
    [[nodiscard]] std::string_view sending_time() const noexcept { return value_of(tag::kSendingTime); }
    /// The first value of a field between MsgType and CheckSum, as it is now.
    [[nodiscard]] std::optional<std::string_view> text(Tag tag) const noexcept;

    /// Adds the field, or replaces its first value. A data field of the standard gets its length field and may hold any
    /// byte. False, and nothing changes: the tag may not be set, the value is empty or holds a delimiter, there is no
    /// room.
    [[nodiscard]] bool set(Tag tag, std::string_view value) noexcept;
    /// The same for a data field that the standard does not have.
    [[nodiscard]] bool set_data(Tag length_tag, Tag data_tag, std::string_view data) noexcept;
    /// Adds the field at the end of the body, also where it is there already: instances of a group.
    [[nodiscard]] bool append(Tag tag, std::string_view value) noexcept;

    /// Does not send a Logon, and closes the connection. reason: for the log and Application::on_refused; what is
    /// longer than kMostReasonBytes is cut off. False for any other message.
    [[nodiscard]] bool refuse(std::string_view reason) noexcept;

    /// Whether the tag may be set: no field of the framing, of the trailer or of the session's rules, no length field.
    [[nodiscard]] static bool may_set(Tag tag) noexcept;
    /// Whether it is one of the header fields that may be set: 50, 57, 115, 116, 128, 129 and 142 to 145.
    [[nodiscard]] static bool is_header_field(Tag tag) noexcept;
    /// Whether it is a data field of the standard.
    [[nodiscard]] static bool is_data(Tag tag) noexcept;
    /// The first version with the header field.
    [[nodiscard]] static Version since(Tag header_field) noexcept;

private:
    friend class Session;
    enum class Part : std::uint8_t { fixed, header, body };
    struct Entry {
        Tag tag{tag::kInvalid};
        Tag length_tag{tag::kInvalid};  // kInvalid: no data field
        Part part{Part::body};
        std::string_view value{};
    };

    void fail() noexcept { failed_ = true; }
    [[nodiscard]] const std::optional<std::string_view>& refusal() const noexcept { return refusal_; }
    /// The whole message; nothing when it does not fit.
    [[nodiscard]] std::optional<std::string_view> encode(std::span<char> room,
                                                         std::string_view begin_string) const noexcept;

    [[nodiscard]] std::string_view value_of(Tag tag) const noexcept { return text(tag).value_or(std::string_view{}); }
    [[nodiscard]] bool put(const Entry& entry, bool replaces) noexcept;
    [[nodiscard]] std::optional<std::string_view> keep(std::string_view value) noexcept;

    std::string_view message_;
    std::span<char> memory_;  // the rest
    std::array<Entry, kMostFields> entries_;
    std::size_t count_{0};
    bool changed_{false};
    bool failed_{false};
    std::optional<std::string_view> refusal_;
};

}  // namespace millpond::fix
