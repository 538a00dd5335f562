#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/field_access.hpp>
#include <millpond/fix/message.hpp>

namespace millpond::fix {

/// Fields of a repeating group's instances as constants, used by generated headers in place of a FieldSet.
struct GroupShape {
    struct Member {
        Tag tag{0};
        const GroupShape* group{nullptr};  ///< The nested group that this field counts; null for other fields.
    };
    Tag first_tag{0};                   ///< First field of each instance.
    std::span<const Member> members{};  ///< Members by ascending tag.

    [[nodiscard]] constexpr Tag first() const noexcept { return first_tag; }
    [[nodiscard]] constexpr const Member* find(Tag tag) const noexcept {
        const auto at = std::ranges::lower_bound(members, tag, {}, &Member::tag);
        return at != members.end() && at->tag == tag ? &*at : nullptr;
    }
};

template <class Shape>
class BasicGroup;

/// An instance of a repeating group: typed access to its fields and nested groups.
///
/// Threads, validity: those of its message. Memory: none.
template <class Shape>
class BasicGroupEntry : public FieldAccess<BasicGroupEntry<Shape>> {
public:
    BasicGroupEntry() noexcept = default;
    BasicGroupEntry(std::string_view bytes, std::span<const Field> fields, const Shape& shape) noexcept
        : bytes_(bytes), fields_(fields), shape_(&shape) {}

    /// Fields in the order of the wire, including those of nested groups.
    [[nodiscard]] std::span<const Field> fields() const noexcept { return fields_; }
    [[nodiscard]] std::string_view value(const Field& field) const noexcept {
        return {bytes_.data() + field.offset, field.length};
    }
    /// First field with this tag, not including nested groups; null if there is none. Linear in the fields.
    [[nodiscard]] const Field* find(Tag tag) const noexcept;
    /// The nested group with the count field `count_tag`; empty if there is none.
    [[nodiscard]] BasicGroup<Shape> group(Tag count_tag) const noexcept;

private:
    std::string_view bytes_;
    std::span<const Field> fields_;
    const Shape* shape_{nullptr};
};

/// Range of the instances of a repeating group: `for (const auto& entry : group)`. Ends early if the message has fewer
/// than its count field states, which Validator reports.
///
/// Threads, validity: those of its message. Memory: none.
template <class Shape>
class BasicGroup {
public:
    using Entry = BasicGroupEntry<Shape>;

    class Iterator {
    public:
        using difference_type = std::ptrdiff_t;
        using value_type = Entry;

        Iterator() noexcept = default;
        Iterator(const BasicGroup& group, std::uint64_t left) noexcept;

        [[nodiscard]] const Entry& operator*() const noexcept { return entry_; }
        [[nodiscard]] const Entry* operator->() const noexcept { return &entry_; }
        Iterator& operator++() noexcept {
            rest_ = rest_.subspan(entry_.fields().size());
            --left_;
            settle();
            return *this;
        }
        Iterator operator++(int) noexcept {
            const auto before = *this;
            ++*this;
            return before;
        }
        /// Two iterators at the end are equal.
        [[nodiscard]] bool operator==(const Iterator& other) const noexcept {
            return left_ == other.left_ && rest_.data() == other.rest_.data();
        }
        [[nodiscard]] bool operator==(std::default_sentinel_t) const noexcept { return left_ == 0; }

    private:
        void settle() noexcept;

        std::string_view bytes_;
        std::span<const Field> rest_;
        const Shape* shape_{nullptr};
        std::uint64_t left_{0};
        Entry entry_;
    };

    /// An empty group.
    BasicGroup() noexcept = default;
    /// fields: the count field and all fields after it.
    BasicGroup(std::string_view bytes, std::span<const Field> fields, const Shape& shape) noexcept;

    [[nodiscard]] Iterator begin() const noexcept { return {*this, stated_}; }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
    /// Value of the count field.
    [[nodiscard]] std::uint64_t stated() const noexcept { return stated_; }
    /// Linear in the group's fields.
    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(std::ranges::distance(begin(), end()));
    }

    /// Number of fields of the instance at the start of `fields`; 0 if there is none.
    [[nodiscard]] static std::size_t entry_size(std::string_view bytes, std::span<const Field> fields,
                                                const Shape& shape) noexcept;
    /// Number of fields of the group at the start of `fields`, including the count field.
    [[nodiscard]] static std::size_t group_size(std::string_view bytes, std::span<const Field> fields,
                                                const Shape& shape) noexcept;

private:
    static std::string_view value(std::string_view bytes, const Field& field) noexcept {
        return {bytes.data() + field.offset, field.length};
    }

    std::string_view bytes_;
    std::span<const Field> rest_;
    const Shape* shape_{nullptr};
    std::uint64_t stated_{0};
};

using Group = BasicGroup<FieldSet>;
using GroupEntry = BasicGroupEntry<FieldSet>;

/// A message's repeating group, by the dictionary's definition of the message (or of header or trailer). Empty if the
/// message does not have the field or the definition not the group.
[[nodiscard]] inline Group group_of(const Message& message, const FieldSet& definition, Tag count_tag) noexcept {
    const auto* member = definition.find(count_tag);
    const auto* field = message.find(count_tag);
    if (member == nullptr || !member->group || field == nullptr) return {};
    return {message.bytes(), {field, message.fields().data() + message.fields().size()}, *member->group};
}

template <class Shape>
const Field* BasicGroupEntry<Shape>::find(Tag tag) const noexcept {
    for (std::size_t at = 0; at < fields_.size();) {
        const auto& field = fields_[at];
        if (field.tag == tag) return &field;
        const auto* member = shape_->find(field.tag);
        const bool nested = member != nullptr && member->group;
        at += nested ? BasicGroup<Shape>::group_size(bytes_, fields_.subspan(at), *member->group) : 1;
    }
    return nullptr;
}

template <class Shape>
BasicGroup<Shape> BasicGroupEntry<Shape>::group(Tag count_tag) const noexcept {
    const auto* field = find(count_tag);
    const auto* member = field == nullptr ? nullptr : shape_->find(count_tag);
    if (member == nullptr || !member->group) return {};
    return {bytes_, {field, fields_.data() + fields_.size()}, *member->group};
}

template <class Shape>
BasicGroup<Shape>::BasicGroup(std::string_view bytes, std::span<const Field> fields, const Shape& shape) noexcept
    : bytes_(bytes),
      rest_(fields.subspan(1)),
      shape_(&shape),
      stated_(parse_unsigned(value(bytes, fields.front())).value_or(0)) {}

template <class Shape>
std::size_t BasicGroup<Shape>::entry_size(std::string_view bytes, std::span<const Field> fields,
                                          const Shape& shape) noexcept {
    if (fields.empty() || fields.front().tag != shape.first()) return 0;
    std::size_t at = 0;
    do {
        const auto* member = shape.find(fields[at].tag);
        if (member == nullptr) break;
        at += member->group ? group_size(bytes, fields.subspan(at), *member->group) : 1;
    } while (at < fields.size() && fields[at].tag != shape.first());
    return at;
}

template <class Shape>
std::size_t BasicGroup<Shape>::group_size(std::string_view bytes, std::span<const Field> fields,
                                          const Shape& shape) noexcept {
    std::size_t at = 1;
    for (auto left = parse_unsigned(value(bytes, fields.front())).value_or(0); left > 0; --left) {
        const auto entry = entry_size(bytes, fields.subspan(at), shape);
        if (entry == 0) break;
        at += entry;
    }
    return at;
}

template <class Shape>
BasicGroup<Shape>::Iterator::Iterator(const BasicGroup& group, std::uint64_t left) noexcept
    : bytes_(group.bytes_), rest_(group.rest_), shape_(group.shape_), left_(left) {
    settle();
}

/// Finds the extent of the instance at the start of `rest_`, if there is one.
template <class Shape>
void BasicGroup<Shape>::Iterator::settle() noexcept {
    const auto size = left_ == 0 ? 0 : entry_size(bytes_, rest_, *shape_);
    if (size == 0) left_ = 0;
    entry_ = left_ == 0 ? Entry{} : Entry{bytes_, rest_.first(size), *shape_};
}

}  // namespace millpond::fix
