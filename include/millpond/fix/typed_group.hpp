#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <millpond/fix/group.hpp>

namespace millpond::fix {

/// A repeating group with instances of type `Entry`, a class of a generated header.
///
/// Threads, validity: those of its message. Memory: none.
template <class Entry>
class TypedGroup {
public:
    using Plain = BasicGroup<GroupShape>;

    class Iterator {
    public:
        using difference_type = std::ptrdiff_t;
        using value_type = Entry;

        Iterator() noexcept = default;
        explicit Iterator(const Plain::Iterator& plain) noexcept : plain_(plain) {}

        [[nodiscard]] Entry operator*() const noexcept { return Entry{*plain_}; }
        Iterator& operator++() noexcept {
            ++plain_;
            return *this;
        }
        Iterator operator++(int) noexcept {
            const auto before = *this;
            ++plain_;
            return before;
        }
        [[nodiscard]] bool operator==(const Iterator&) const noexcept = default;
        [[nodiscard]] bool operator==(std::default_sentinel_t end) const noexcept { return plain_ == end; }

    private:
        Plain::Iterator plain_;
    };

    TypedGroup() noexcept = default;
    explicit TypedGroup(const Plain& plain) noexcept : plain_(plain) {}

    [[nodiscard]] Iterator begin() const noexcept { return Iterator{plain_.begin()}; }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
    /// Value of the count field.
    [[nodiscard]] std::uint64_t stated() const noexcept { return plain_.stated(); }
    /// Linear in the group's fields.
    [[nodiscard]] std::size_t size() const noexcept { return plain_.size(); }

private:
    Plain plain_;
};

/// A message's group by its shape; empty if the message does not have it.
template <class Entry>
[[nodiscard]] TypedGroup<Entry> typed_group(const Message& message, const GroupShape& shape, Tag count_tag) noexcept {
    const auto* field = message.find(count_tag);
    if (field == nullptr) return {};
    return TypedGroup<Entry>{{message.bytes(), {field, message.fields().data() + message.fields().size()}, shape}};
}

}  // namespace millpond::fix
