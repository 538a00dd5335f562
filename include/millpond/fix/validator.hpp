#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/message.hpp>

namespace millpond::fix {

/// Reason of a session-level Reject; the values are those of SessionRejectReason(373).
///
/// Source: FIX 5.0 SP2, field 373.
enum class RejectReason : std::uint8_t {
    invalid_tag_number = 0,
    required_tag_missing = 1,
    tag_not_defined_for_message = 2,
    undefined_tag = 3,
    tag_without_value = 4,
    value_incorrect = 5,
    incorrect_format = 6,
    decryption_problem = 7,
    signature_problem = 8,
    comp_id_problem = 9,
    sending_time_accuracy = 10,
    invalid_msg_type = 11,
    xml_validation_error = 12,
    tag_repeated = 13,
    tag_out_of_order = 14,
    group_fields_out_of_order = 15,
    incorrect_group_count = 16,
    delimiter_in_value = 17,
    invalid_application_version = 18,
    other = 99,
};

/// Text(58) of a Reject.
[[nodiscard]] std::string_view text(RejectReason reason) noexcept;

struct Rejection {
    RejectReason reason{RejectReason::other};
    std::string_view tag_text{};  ///< For RefTagID; empty if no single field is wrong. Valid as long as the message or,
                                  ///< for a missing field, the validator.
};

/// Validates messages against a dictionary. Returns the first fault, in this order: order of header, body and trailer;
/// unknown MsgType; required fields; then field by field. Application versions (1128, 1130, 1137) may have values that
/// the dictionary does not list: the session knows which are supported.
///
/// Threads: one. Memory: only the object.
class Validator {
public:
    struct Options {
        bool fields_have_values{true};        ///< Reject `58=`.
        bool user_fields_are_known{true};     ///< Reject tags from 5000 on that are not in the dictionary.
        bool fields_are_in_order{true};       ///< Reject header, body or trailer fields out of order.
        bool members_are_in_order{true};      ///< Reject group fields out of the dictionary's order.
        bool message_fields_are_known{true};  ///< Reject tags below 5000 that are not in the message's definition.
        bool values_are_known{true};          ///< Reject values that are not in the field's list, if it has one.
        /// MsgTypes of application messages of which only the header is validated, up to the first field of the body;
        /// "*": all.
        std::vector<std::string> unchecked_types{};
        friend bool operator==(const Options&, const Options&) = default;
    };

    /// session: header, trailer and session-level messages. application: the other messages; the same dictionary below
    /// FIXT 1.1; null: not checked. Both must outlive the validator.
    Validator(const Dictionary& session, const Dictionary* application, Options options) noexcept
        : session_(&session), application_(application), options_(std::move(options)) {}

    [[nodiscard]] bool is_header(Tag tag) const noexcept { return session_->header().has(tag); }

    /// Returns nullopt if the message is valid.
    [[nodiscard]] std::optional<Rejection> check(const Message& message) noexcept {
        return check(message, application_);
    }
    /// Checks application messages against `application`, or not at all if it is null.
    [[nodiscard]] std::optional<Rejection> check(const Message& message, const Dictionary* application) noexcept;

private:
    struct Walk;

    [[nodiscard]] bool is_checked(std::string_view msg_type) const noexcept;
    [[nodiscard]] std::optional<Rejection> check_header(const Message& message) noexcept;
    [[nodiscard]] std::size_t header_size(const Message& message) const noexcept;
    [[nodiscard]] std::optional<Rejection> check_order(const Message& message) const noexcept;
    [[nodiscard]] std::optional<Rejection> check_required(const Message& message, const FieldSet& set) noexcept;
    [[nodiscard]] std::optional<Rejection> check_fields(Walk& walk) noexcept;
    [[nodiscard]] std::optional<Rejection> check_value(const Walk& walk, const Field& field) const noexcept;
    [[nodiscard]] std::optional<Rejection> check_group(Walk& walk, const FieldSet& enclosing,
                                                       const FieldSet::Member& counter) noexcept;
    [[nodiscard]] std::optional<Rejection> check_instance(Walk& walk, const FieldSet& enclosing,
                                                          const FieldSet& group) noexcept;
    [[nodiscard]] Rejection missing(Tag tag) noexcept;

    const Dictionary* session_;
    const Dictionary* application_;
    Options options_;
    char missing_tag_[16]{};
};

}  // namespace millpond::fix
