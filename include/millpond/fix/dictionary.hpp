#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <millpond/fix/data_fields.hpp>
#include <millpond/fix/field_type.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/fix/version.hpp>

namespace millpond::fix {

/// A dictionary contradicts itself or cannot be read; the message names the place.
class DictionaryError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The permitted and required fields of a message, header, trailer or instance of a repeating group.
class FieldSet {
public:
    static constexpr std::size_t kCapacity = 2048;

    struct Member {
        Tag tag{0};
        bool required{false};
        std::uint16_t place{0};           ///< Rank in the order in which the fields were added.
        std::unique_ptr<FieldSet> group;  ///< Members of the group that this field counts; null for other fields.
    };

    /// Adds a field. An existing field keeps its place and becomes required if either is. Throws DictionaryError if the
    /// set is full.
    void add(Tag tag, bool required);
    /// Adds a repeating group. Add the fields of its instances to the returned set, starting with the first field of
    /// each instance.
    FieldSet& add_group(Tag count_tag, bool required);

    /// Returns nullptr if the field is not a member.
    [[nodiscard]] const Member* find(Tag tag) const noexcept;
    [[nodiscard]] bool has(Tag tag) const noexcept { return find(tag) != nullptr; }
    /// Members by ascending tag.
    [[nodiscard]] std::span<const Member> members() const noexcept { return members_; }
    /// The first field of each instance of a repeating group: the first that was added.
    [[nodiscard]] Tag first() const noexcept { return first_; }

private:
    static constexpr Tag kCounted = 2048;  // tags below it are found by counting bits, others by binary search
    static constexpr Tag kBits = 64;

    Member& member(Tag tag);

    std::vector<Member> members_;
    Tag first_{0};
    std::array<std::uint64_t, kCounted / kBits> is_member_{};       // one bit for each tag
    std::array<std::uint16_t, kCounted / kBits> members_before_{};  // number of members before each word
};

inline const FieldSet::Member* FieldSet::find(Tag tag) const noexcept {
    if (tag < kCounted) {
        const auto word = is_member_[tag / kBits];
        const auto bit = std::uint64_t{1} << (tag % kBits);
        if ((word & bit) == 0) return nullptr;
        return &members_[members_before_[tag / kBits] + static_cast<std::size_t>(std::popcount(word & (bit - 1)))];
    }
    const auto at = std::ranges::lower_bound(members_, tag, {}, &Member::tag);
    return at != members_.end() && at->tag == tag ? &*at : nullptr;
}

struct FieldDefinition {
    Tag tag{0};
    FieldType type{FieldType::text};
    std::string name;
    std::map<std::string, std::string, std::less<>> values;  ///< Permitted values with their meanings; empty: any.
    Tag length_tag{0};  ///< Length field of a data field, if the dictionary names it; otherwise 0.

    /// Whether the value is permitted; for fields with several values, whether each of them is.
    [[nodiscard]] bool allows(std::string_view value) const noexcept;
};

struct MessageDefinition {
    std::string type;  ///< MsgType.
    std::string name;
    bool admin{false};
    FieldSet fields;  ///< Fields of the body.
};

/// Fields and messages of a version, or of a counterparty's variant of it. Built at start-up, then only read.
///
/// Threads: one builds it; then any read it. Memory: the heap, only while it is built.
class Dictionary {
public:
    /// version_name: BeginString, or FIX.5.0 and its service packs for application messages on FIXT 1.1.
    explicit Dictionary(std::string version_name) : version_name_(std::move(version_name)) {}

    /// Minimal dictionary of a session: header, trailer and session-level messages of a version. Application messages
    /// are not checked.
    [[nodiscard]] static Dictionary session_level(Version version);

    /// The define functions throw DictionaryError if the tag, the message type or the name is already defined.
    FieldDefinition& define_field(Tag tag, std::string field_name, FieldType type);
    MessageDefinition& define_message(std::string type, std::string message_name, bool admin);
    /// Adds NoMsgTypes(384), with the fields of FIXT 1.1, to a Logon that lacks it, like that of QuickFIX 1.16's
    /// FIXT11.xml. Does nothing without a Logon.
    void complete_logon();
    FieldSet& header() noexcept { return header_; }
    FieldSet& trailer() noexcept { return trailer_; }
    void set_complete(bool complete) noexcept { complete_ = complete; }

    [[nodiscard]] const std::string& version_name() const noexcept { return version_name_; }
    /// Whether message types that are not defined here are invalid.
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    [[nodiscard]] const FieldSet& header() const noexcept { return header_; }
    [[nodiscard]] const FieldSet& trailer() const noexcept { return trailer_; }
    /// Returns nullptr if the field is not defined.
    [[nodiscard]] const FieldDefinition* field(Tag tag) const noexcept;
    [[nodiscard]] const FieldDefinition* field_named(std::string_view field_name) const noexcept;
    [[nodiscard]] const MessageDefinition* message(std::string_view type) const noexcept;
    [[nodiscard]] const std::map<Tag, FieldDefinition>& fields() const noexcept { return fields_; }
    [[nodiscard]] const std::map<std::string, MessageDefinition, std::less<>>& messages() const noexcept {
        return messages_;
    }

    /// Adds to `known` each data field of this dictionary that has a length field.
    [[nodiscard]] DataFields data_fields(DataFields known = DataFields::standard()) const;
    /// Length field of a data field: the field that the dictionary names; otherwise the field with the same name and
    /// Len or Length appended; otherwise the field with the preceding tag if it is a count; otherwise nullptr.
    [[nodiscard]] const FieldDefinition* length_of(const FieldDefinition& data) const;

    /// Warnings from reading a file, as sentences: unknown types, data fields without a length.
    [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
    void add_warning(std::string text) { warnings_.push_back(std::move(text)); }

private:
    std::string version_name_;
    bool complete_{true};
    FieldSet header_;
    FieldSet trailer_;
    std::map<Tag, FieldDefinition> fields_;
    std::vector<const FieldDefinition*> by_tag_;  // fields with tags below kDirect; null: not defined
    std::map<std::string, Tag, std::less<>> names_;
    std::map<std::string, MessageDefinition, std::less<>> messages_;
    std::vector<std::string> warnings_;
};

}  // namespace millpond::fix
