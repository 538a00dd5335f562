#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include <millpond/fix/data_fields.hpp>
#include <millpond/fix/detail/delimiter_scan.hpp>
#include <millpond/fix/detail/field_index.hpp>
#include <millpond/fix/detail/field_layout.hpp>
#include <millpond/fix/detail/tag_cache.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/message.hpp>

namespace millpond::fix {

/// Parses a frame into a Message: one pass over the bytes finds all fields and checks CheckSum. Accepts any tag, any
/// number of fields and '=' in values; data fields end where their length field says. Caches the layouts of the last
/// messages of a few types, so that the tags of the next one are compared instead of parsed.
///
/// Threads: one; one parser for each connection.
/// Memory:  kFields fields and kLayouts layouts (about 250 KiB), allocated once from `memory`. Further fields go to
/// `spill`.
class Parser {
public:
    static constexpr std::size_t kFields = 512;
    static constexpr std::size_t kLayouts = 16;

    struct Options {
        DataFields data_fields = DataFields::standard();
        /// Instruction set for scanning the bytes; the results are the same. The caller must have checked
        /// detail::supported.
        detail::InstructionSet instruction_set = detail::best_supported();
        std::pmr::memory_resource* memory = std::pmr::get_default_resource();
    };
    Parser() : Parser(Options{}) {}
    explicit Parser(const Options& options);

    /// Returns views into `frame` and this parser, valid until it parses again. spill: memory for all fields of a
    /// message with more than kFields; if it is too small, the error is too_many_fields, and the caller can retry with
    /// more: a field has at least three bytes.
    [[nodiscard]] std::expected<Message, FrameError> parse(const Frame& frame, std::span<Field> spill = {}) noexcept;

private:
    struct Cursor;

    // Fast path: one scan, no data fields, all tags are numbers.
    [[nodiscard]] std::optional<Message> read_in_place(const Frame& frame, detail::FieldLayout& layout,
                                                       std::uint32_t& sum) noexcept;
    [[nodiscard]] bool may_be_remembered(const char* data, std::uint32_t count,
                                         const detail::FieldLayout& layout) const noexcept;
    [[nodiscard]] bool read_as_remembered(const char* data, std::uint32_t count,
                                          const detail::FieldLayout& layout) noexcept;
    [[nodiscard]] bool read_in_any_order(const char* data, std::uint32_t count) noexcept;
    [[nodiscard]] Tag new_tag(std::uint64_t word, std::uint32_t length) const noexcept;
    void remember(const char* data, std::uint32_t count, detail::FieldLayout& layout) noexcept;

    // General path.
    [[nodiscard]] std::expected<Message, FrameError> parse_any(const Frame& frame, std::span<Field> spill) noexcept;
    [[nodiscard]] FrameError scan_fields(Cursor& cursor) noexcept;
    [[nodiscard]] FrameError parse_field(Cursor& cursor, std::size_t end) noexcept;
    [[nodiscard]] bool grow(Cursor& cursor) noexcept;

    DataFields data_fields_;
    detail::ScanFunction scan_;
    detail::ListFunction list_;
    detail::CompareFunction compare_;
    std::pmr::vector<Field> fields_;
    std::pmr::vector<detail::FieldLayout> layouts_;
    detail::FieldIndex index_;  // index of the newest message, if its layout is not cached
    detail::TagCache tags_;
    detail::DelimiterPlaces ends_;
    detail::DelimiterMasks masks_;
};

}  // namespace millpond::fix
