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

/// Draft of a session message before it is encoded into the store: its number and time are final, and other fields may
/// be added or replaced. Fields that frame or number a message, fields of the session's rules (see may_set) and length
/// fields, which follow from their data fields, cannot be set.
///
/// Threads: one; lives during SessionHandler::on_send_admin.
/// Memory:  provided by the session.
class AdminDraft {
public:
    static constexpr std::size_t kMaxFields = 128;
    static constexpr std::size_t kMaxReasonBytes = 256;  ///< Maximum length of a refusal's reason.

    /// message: complete, without data fields. memory: for the added values. Both must outlive the draft.
    AdminDraft(std::string_view message, std::span<char> memory) noexcept;

    [[nodiscard]] std::string_view msg_type() const noexcept { return value_of(tag::kMsgType); }
    [[nodiscard]] bool is_logon() const noexcept { return msg_type() == "A"; }
    /// MsgSeqNum(34).
    [[nodiscard]] std::uint64_t sequence() const noexcept;
    /// SendingTime(52) of the message.
    [[nodiscard]] std::string_view sending_time() const noexcept { return value_of(tag::kSendingTime); }
    /// Current first value of a field between MsgType and CheckSum.
    [[nodiscard]] std::optional<std::string_view> text(Tag tag) const noexcept;

    /// Adds the field, or replaces its first value. A data field of the standard gets its length field and may hold any
    /// byte. Returns false and changes nothing if the tag may not be set, the value is empty or contains a delimiter,
    /// or the memory is full.
    [[nodiscard]] bool set(Tag tag, std::string_view value) noexcept;
    /// Like set, for a data field that the standard does not have.
    [[nodiscard]] bool set_data(Tag length_tag, Tag data_tag, std::string_view data) noexcept;
    /// Appends the field to the body, even if it exists already: for instances of a group.
    [[nodiscard]] bool append(Tag tag, std::string_view value) noexcept;

    /// Prevents the Logon and closes the connection. reason: for the log and Application::on_refused; truncated to
    /// kMaxReasonBytes. False for other messages.
    [[nodiscard]] bool refuse(std::string_view reason) noexcept;

    /// Whether the tag may be set. Fields of the framing, the trailer and the session's rules and length fields may
    /// not.
    [[nodiscard]] static bool may_set(Tag tag) noexcept;
    /// Whether the tag is a header field that may be set: 50, 57, 115, 116, 128, 129 and 142 to 145.
    [[nodiscard]] static bool is_header_field(Tag tag) noexcept;
    /// Whether the tag is a data field of the standard.
    [[nodiscard]] static bool is_data(Tag tag) noexcept;
    /// First version of the standard with the header field.
    [[nodiscard]] static Version since(Tag header_field) noexcept;

private:
    friend class Session;
    enum class Part : std::uint8_t { fixed, header, body };
    struct Entry {
        Tag tag{tag::kInvalid};
        Tag length_tag{tag::kInvalid};  // kInvalid: not a data field
        Part part{Part::body};
        std::string_view value{};
    };

    void fail() noexcept { failed_ = true; }
    [[nodiscard]] const std::optional<std::string_view>& refusal() const noexcept { return refusal_; }
    /// Returns the whole message; nullopt if it does not fit.
    [[nodiscard]] std::optional<std::string_view> encode(std::span<char> buffer,
                                                         std::string_view begin_string) const noexcept;

    [[nodiscard]] std::string_view value_of(Tag tag) const noexcept { return text(tag).value_or(std::string_view{}); }
    [[nodiscard]] bool put(const Entry& entry, bool replaces) noexcept;
    [[nodiscard]] std::optional<std::string_view> keep(std::string_view value) noexcept;

    std::string_view message_;
    std::span<char> memory_;  // unused part
    std::array<Entry, kMaxFields> entries_;
    std::size_t count_{0};
    bool changed_{false};
    bool failed_{false};
    std::optional<std::string_view> refusal_;
};

}  // namespace millpond::fix
