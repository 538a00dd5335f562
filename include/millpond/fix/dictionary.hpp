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

/// A dictionary that contradicts itself or cannot be read; the message names the place.
class DictionaryError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Which fields may, and which must, be in a message, a header, a trailer or an instance of a repeating group.
class FieldSet {
public:
    static constexpr std::size_t kCapacity = 2048;

    struct Member {
        Tag tag{0};
        bool required{false};
        std::uint16_t place{0};           ///< In the order in which the fields were added.
        std::unique_ptr<FieldSet> group;  ///< Of a field that counts a repeating group's instances; else null.
    };

    /// A field that is there already keeps its place and becomes required if either is. Throws DictionaryError when
    /// the set is full.
    void add(Tag tag, bool required);
    /// The same for a repeating group; the fields of its instances go into the set that is returned, the one that
    /// begins each instance first.
    FieldSet& add_group(Tag count_tag, bool required);

    /// Null when the field is no member.
    [[nodiscard]] const Member* find(Tag tag) const noexcept;
    [[nodiscard]] bool has(Tag tag) const noexcept { return find(tag) != nullptr; }
    /// By ascending tag.
    [[nodiscard]] std::span<const Member> members() const noexcept { return members_; }
    /// The field that begins each instance of a repeating group: the first that was added.
    [[nodiscard]] Tag first() const noexcept { return first_; }

private:
    static constexpr Tag kCounted = 2048;  // tags below are found by counting bits, those above by halving
    static constexpr Tag kBits = 64;

    Member& member(Tag tag);

    std::vector<Member> members_;
    Tag first_{0};
    std::array<std::uint64_t, kCounted / kBits> is_member_{};       // a bit a tag
    std::array<std::uint16_t, kCounted / kBits> members_before_{};  // each word
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
    std::map<std::string, std::string, std::less<>> values;  ///< What is allowed, with its meaning; empty: anything.

    /// Whether the value, or each of its parts where several may be listed, is allowed.
    [[nodiscard]] bool allows(std::string_view value) const noexcept;
};

struct MessageDefinition {
    std::string type;  ///< As in MsgType.
    std::string name;
    bool admin{false};
    FieldSet fields;  ///< Of the body.
};

/// What a version, or a counterparty's variant of it, knows of fields and messages. Built at start-up, then only read.
///
/// Threads: one builds it; then any read it. Memory: the heap, while it is built; none when it is asked.
class Dictionary {
public:
    /// version_name: as in BeginString, or FIX.5.0 and its service packs for what FIXT 1.1 carries.
    explicit Dictionary(std::string version_name) : version_name_(std::move(version_name)) {}

    /// What every session needs to start: header, trailer and the session-level messages of a version. Application
    /// messages are unknown to it, so they pass unchecked.
    [[nodiscard]] static Dictionary session_level(Version version);

    /// Throws DictionaryError when the tag, the message type or their name is defined already.
    FieldDefinition& define_field(Tag tag, std::string field_name, FieldType type);
    MessageDefinition& define_message(std::string type, std::string message_name, bool admin);
    /// Adds NoMsgTypes(384), with the fields of FIXT 1.1, to the Logon of a dictionary that lacks it, as the FIXT11.xml
    /// of QuickFIX 1.16 does. Does nothing without a Logon.
    void complete_logon();
    FieldSet& header() noexcept { return header_; }
    FieldSet& trailer() noexcept { return trailer_; }
    void set_complete(bool complete) noexcept { complete_ = complete; }

    [[nodiscard]] const std::string& version_name() const noexcept { return version_name_; }
    /// Whether a message type that is not here does not exist.
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    [[nodiscard]] const FieldSet& header() const noexcept { return header_; }
    [[nodiscard]] const FieldSet& trailer() const noexcept { return trailer_; }
    /// Null when there is none.
    [[nodiscard]] const FieldDefinition* field(Tag tag) const noexcept;
    [[nodiscard]] const FieldDefinition* field_named(std::string_view field_name) const noexcept;
    [[nodiscard]] const MessageDefinition* message(std::string_view type) const noexcept;
    [[nodiscard]] const std::map<Tag, FieldDefinition>& fields() const noexcept { return fields_; }
    [[nodiscard]] const std::map<std::string, MessageDefinition, std::less<>>& messages() const noexcept {
        return messages_;
    }

    /// Those that are known, and each of this dictionary's data fields whose length field is the one named like it with
    /// Len or Length behind its name.
    [[nodiscard]] DataFields data_fields(DataFields known = DataFields::standard()) const;

private:
    std::string version_name_;
    bool complete_{true};
    FieldSet header_;
    FieldSet trailer_;
    std::map<Tag, FieldDefinition> fields_;
    std::vector<const FieldDefinition*> by_tag_;  // the fields below kDirect, null where there is none
    std::map<std::string, Tag, std::less<>> names_;
    std::map<std::string, MessageDefinition, std::less<>> messages_;
};

}  // namespace millpond::fix
