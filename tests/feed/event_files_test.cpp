#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/event.hpp>
#include <millpond/feed/event_schema.hpp>

// The files generated from the events' schemas. To write them after a change:
//
//     MILLPOND_WRITE_GENERATED=1 build/dev/tests/feed/millpond_feed_tests --gtest_filter='EventFiles.*'

namespace millpond::feed {
namespace {

struct FieldText {
    std::string name;
    std::string meaning;
    std::string json;
    std::string type;       // u16, u32, u64, i64 or text4
    std::string node_type;  // the type in RecordLayout
    std::string json_type;  // the type in TypeScript
    bool is_optional;       // in JSON
    Unit unit;
    std::size_t offset;
    std::size_t bytes;
};

template <class Value>
std::string type_name() {
    if constexpr (std::is_enum_v<Value>) {
        return type_name<std::underlying_type_t<Value>>();
    } else if constexpr (std::is_class_v<Value>) {
        return "text" + std::to_string(sizeof(Value));
    } else {
        return (std::is_signed_v<Value> ? "i" : "u") + std::to_string(sizeof(Value) * 8);
    }
}

template <class Event>
std::vector<FieldText> fields_of() {
    static const Event event{};
    std::vector<FieldText> fields;
    for_each_field<Event>([&]<std::size_t I>() {
        const auto& field = std::get<I>(EventSchema<Event>::kFields);
        using Value = std::remove_cvref_t<decltype(field.of(event))>;
        const auto* const place = reinterpret_cast<const std::byte*>(&field.of(event));
        const auto type = type_name<Value>();
        const bool is_time = field.unit == Unit::receive_time || field.unit == Unit::exchange_time;
        const bool is_exact = is_time || field.unit == Unit::ticks || field.unit == Unit::price || sizeof(Value) < 8;
        std::string json_type = std::is_enum_v<Value> || std::is_class_v<Value> ? "string" : "number";
        if (field.unit == Unit::instrument) json_type = kConcernsChannels<Event> ? "string | null" : "string";
        if (is_time) json_type = "bigint";
        fields.push_back({.name = std::string{field.name},
                          .meaning = std::string{field.meaning},
                          .json = std::string{field.json},
                          .type = type,
                          .node_type = is_exact ? type : type + "n",
                          .json_type = json_type,
                          .is_optional = field.unit == Unit::flags,
                          .unit = field.unit,
                          .offset = static_cast<std::size_t>(place - reinterpret_cast<const std::byte*>(&event)),
                          .bytes = sizeof(Value)});
    });
    return fields;
}

template <class Event>
std::vector<FieldText> fields_by_offset() {
    auto fields = fields_of<Event>();
    std::ranges::sort(fields, {}, &FieldText::offset);
    return fields;
}

/// `exchange_utc_ns` becomes `exchangeTime`.
std::string camel_case(std::string name) {
    if (const auto place = name.find("_utc_ns"); place != std::string::npos) name.replace(place, 7, "_time");
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '_') {
            text += static_cast<char>(std::toupper(name[++i]));
        } else {
            text += name[i];
        }
    }
    return text;
}
std::string pascal_case(std::string_view name) {
    auto text = camel_case(std::string{name});
    text[0] = static_cast<char>(std::toupper(text[0]));
    return text;
}
std::string upper_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

template <class Event>
std::string typescript_of_json() {
    using Schema = EventSchema<Event>;
    std::string text = "/** " + std::string{Event::kMeaning} + " */\nexport interface Market" +
                       pascal_case(Schema::kName) + " {\n  readonly type: \"" + std::string{Schema::kName} + "\";\n";
    std::size_t index = 0;
    for (const auto& field : fields_of<Event>()) {
        if (!field.json.empty()) {
            if (field.unit == Unit::id) text += "  /** Rounded above 2^53, where two may be equal. */\n";
            if (field.unit == Unit::price) text += "  /** The nearest number in whole units. */\n";
            const auto* const separator = field.is_optional ? "?: " : ": ";
            text += "  readonly " + field.json + separator + field.json_type + ";\n";
            if (field.unit == Unit::price) text += "  readonly " + field.json + "_nanos" + separator + "bigint;\n";
            if (field.unit == Unit::id) text += "  readonly " + field.json + "_exact: bigint;\n";
        }
        if (index++ == kLastTime<Event>) text += "  readonly sequence: number;\n";
    }
    return text + "}\n\n";
}

template <class Event>
std::string typescript_of_layout() {
    const std::string name{EventSchema<Event>::kName};
    std::string text =
        "/** " + std::string{Event::kMeaning} + " */\nexport const " + upper_case(name) + " = new RecordLayout({\n";
    std::string added;
    bool has_id = false;
    bool has_price = false;
    std::size_t end = 0;
    for (const auto& field : fields_by_offset<Event>()) {
        // RecordLayout aligns each number by its size, and texts not at all.
        const bool is_text = field.type.starts_with("text");
        for (; is_text && end < field.offset; end += 2) text += "  unused: \"u16\",\n";
        const auto alignment = is_text ? 1 : field.bytes;
        EXPECT_EQ((end + alignment - 1) / alignment * alignment, field.offset) << name << '.' << field.name;
        end = field.offset + field.bytes;
        const bool is_price = field.unit == Unit::price;
        text += "  " + camel_case(field.name) + (is_price ? "Nanos: \"" : ": \"") + field.node_type + "\",\n";
        has_price = has_price || is_price;
        if (is_price) added += "  readonly " + camel_case(field.name) + ": number;\n";
        has_id = has_id || field.unit == Unit::id;
        if (field.unit == Unit::id) added += "  readonly " + camel_case(field.name) + "Exact: bigint;\n";
    }
    text += "});\n";
    std::string note;
    if (has_id) note += " The number is rounded above 2^53.";
    if (has_price) note += " The prices as numbers are the nearest ones in whole units.";
    if (!note.empty()) text += "/**" + note + " */\n";
    return text + "export type " + pascal_case(name) + "View = ViewOf<typeof " + upper_case(name) + ">" +
           (added.empty() ? "" : " & {\n" + added + "}") + ";\n\n";
}

/// A list in the form that prettier gives it.
std::string quoted_list(const std::vector<std::string>& words) {
    constexpr std::size_t kMostChars = 90;  // of a line of 120, which begins with the name
    std::string text = "[";
    for (const auto& word : words) text += (text.size() == 1 ? "\"" : ", \"") + word + '"';
    if (text.size() < kMostChars) return text + "]";
    text = "[\n";
    for (const auto& word : words) text += "  \"" + word + "\",\n";
    return text + "]";
}

std::string typescript() {
    std::string kinds;
    std::string json;
    std::string layouts;
    std::vector<std::string> times;
    std::vector<std::string> ids;
    Events::for_each([&]<class Event>() {
        kinds += "  " + camel_case(std::string{EventSchema<Event>::kName}) + ": " +
                 std::to_string(static_cast<std::uint32_t>(Event::kKind)) + ",\n";
        for (const auto& field : fields_of<Event>()) {
            auto& keys = field.unit == Unit::id ? ids : times;
            const bool counts = field.unit == Unit::id || field.json_type == "bigint";
            if (counts && std::ranges::find(keys, field.json) == keys.end()) keys.push_back(field.json);
        }
        if constexpr (!std::is_same_v<Event, Quote>) json += typescript_of_json<Event>();
        layouts += typescript_of_layout<Event>();
    });
    layouts.pop_back();
    return "// Generated from include/millpond/feed/event_schema.hpp by tests/feed/event_files_test.cpp: do not edit.\n"
           "import { RecordLayout, type RecordView } from \"../pool/record.js\";\n\n" +
           json + "/** @internal Keys of JSON whose numbers are UTC nanoseconds. */\nexport const TIME_KEYS = " +
           quoted_list(times) +
           ";\n/** @internal Keys of JSON whose numbers have 64 significant bits. */\nexport const ID_KEYS = " +
           quoted_list(ids) + ";\n\nexport const KIND = {\n" + kinds +
           "} as const;\n\ntype ViewOf<Layout> = Layout extends RecordLayout<infer Fields> ? RecordView<Fields> : "
           "never;\n\n" +
           layouts;
}

std::string byte_tables() {
    std::string text = "\n";
    Events::for_each([&]<class Event>() {
        using Schema = EventSchema<Event>;
        text += "Kind " + std::to_string(static_cast<std::uint32_t>(Event::kKind)) + ", " + std::string{Schema::kName} +
                ", " + std::to_string(sizeof(Event)) + " bytes. " + std::string{Event::kMeaning} +
                "\n\n| offset | type | field | |\n|---|---|---|---|\n";
        for (const auto& field : fields_by_offset<Event>()) {
            text += "| " + std::to_string(field.offset) + " | " + field.type + " | " + field.name + " | " +
                    field.meaning + " |\n";
        }
        text += '\n';
    });
    return text;
}

std::string contents_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Compares the file with the text, or writes the file.
void expect_file(const std::string& path, const std::string& text) {
    if (std::getenv("MILLPOND_WRITE_GENERATED") != nullptr) {
        std::ofstream{path, std::ios::binary} << text;
        return;
    }
    EXPECT_EQ(contents_of(path), text) << path
                                       << " is not what the schemas say; event_files_test.cpp says how to write it";
}

TEST(EventFiles, TheTypeScriptOfEventsIsThatOfTheSchemas) {
    expect_file(MILLPOND_SOURCE_DIR "/node/src/market/event-schema.ts", typescript());
}

TEST(EventFiles, TheByteTablesOfTheReferenceAreThoseOfTheSchemas) {
    const std::string path = MILLPOND_SOURCE_DIR "/docs/reference/layouts.md";
    constexpr std::string_view kBegin = "<!-- events: generated by tests/feed/event_files_test.cpp -->\n";
    constexpr std::string_view kEnd = "<!-- end of events -->\n";
    auto page = contents_of(path);
    const auto begin = page.find(kBegin);
    const auto end = page.find(kEnd);
    ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
    page.replace(begin + kBegin.size(), end - begin - kBegin.size(), byte_tables());
    expect_file(path, page);
}

TEST(EventFiles, EachEventHasAFieldForAllOfItsBytesButThePadding) {
    Events::for_each([]<class Event>() {
        std::size_t bytes = 0;
        for (const auto& field : fields_of<Event>()) bytes += field.bytes;
        EXPECT_LT(sizeof(Event) - bytes, 8U) << EventSchema<Event>::kName;
    });
}

}  // namespace
}  // namespace millpond::feed
