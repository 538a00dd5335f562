#include "arrow_columns.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace millpond::python {
namespace {

struct SchemaHolder {
    std::string name;
    std::string format;
    std::vector<ArrowSchema> children;
    std::vector<ArrowSchema*> places;
    ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* schema) {
    for (std::int64_t i = 0; i < schema->n_children; ++i) {
        auto* child = schema->children[i];
        if (child->release != nullptr) child->release(child);
    }
    if (schema->dictionary != nullptr && schema->dictionary->release != nullptr)
        schema->dictionary->release(schema->dictionary);
    delete static_cast<SchemaHolder*>(schema->private_data);
    schema->release = nullptr;
}

void export_column_schema(const ArrowColumn& column, ArrowSchema* out) {
    auto holder = std::make_unique<SchemaHolder>();
    holder->name = column.name;
    holder->format = column.format;
    *out = {.format = holder->format.c_str(),
            .name = holder->name.c_str(),
            .metadata = nullptr,
            .flags = kArrowNullable,
            .n_children = 0,
            .children = nullptr,
            .dictionary = nullptr,
            .release = &release_schema,
            .private_data = nullptr};
    if (column.dictionary) {
        export_column_schema(*column.dictionary, &holder->dictionary);
        out->dictionary = &holder->dictionary;
    }
    if (column.child) {
        holder->children.resize(1);
        holder->places = {holder->children.data()};
        export_column_schema(*column.child, holder->children.data());
        out->n_children = 1;
        out->children = holder->places.data();
    }
    out->private_data = holder.release();
}

struct ArrayHolder {
    std::shared_ptr<const ArrowColumn> column;
    std::array<const void*, 3> buffers{};
    std::vector<ArrowArray> children;
    std::vector<ArrowArray*> places;
    ArrowArray dictionary{};
};

void release_array(ArrowArray* array) {
    for (std::int64_t i = 0; i < array->n_children; ++i) {
        auto* child = array->children[i];
        if (child->release != nullptr) child->release(child);
    }
    if (array->dictionary != nullptr && array->dictionary->release != nullptr)
        array->dictionary->release(array->dictionary);
    delete static_cast<ArrayHolder*>(array->private_data);
    array->release = nullptr;
}

void export_column(std::shared_ptr<const ArrowColumn> column, ArrowArray* out) {
    auto holder = std::make_unique<ArrayHolder>();
    const auto& from = *column;
    holder->buffers = {from.nulls == 0 ? nullptr : from.validity.data(), from.values.data(), from.text.data()};
    *out = {.length = static_cast<std::int64_t>(from.rows),
            .null_count = from.nulls,
            .offset = 0,
            .n_buffers = from.is_text ? 3 : 2,
            .n_children = 0,
            .buffers = holder->buffers.data(),
            .children = nullptr,
            .dictionary = nullptr,
            .release = &release_array,
            .private_data = nullptr};
    if (from.dictionary) {
        export_column(from.dictionary, &holder->dictionary);
        out->dictionary = &holder->dictionary;
    }
    if (from.child) {
        holder->children.resize(1);
        holder->places = {holder->children.data()};
        export_column(from.child, holder->children.data());
        out->n_children = 1;
        out->children = holder->places.data();
    }
    holder->column = std::move(column);
    out->private_data = holder.release();
}

void append_bytes(ArrowColumn& column, const void* data, std::size_t size) {
    const auto at = column.values.size();
    column.values.resize(at + size);
    std::memcpy(&column.values[at], data, size);
}

void append_offset(ArrowColumn& column, std::size_t offset) {
    const auto end = static_cast<std::int32_t>(offset);
    append_bytes(column, &end, sizeof end);
}

}  // namespace

void export_schema(std::span<const ArrowColumn> columns, ArrowSchema* out) {
    auto holder = std::make_unique<SchemaHolder>();
    holder->format = "+s";
    holder->children.resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        export_column_schema(columns[i], &holder->children[i]);
        holder->places.push_back(&holder->children[i]);
    }
    *out = {.format = holder->format.c_str(),
            .name = holder->name.c_str(),
            .metadata = nullptr,
            .flags = 0,
            .n_children = static_cast<std::int64_t>(columns.size()),
            .children = holder->places.data(),
            .dictionary = nullptr,
            .release = &release_schema,
            .private_data = nullptr};
    out->private_data = holder.release();
}

void export_rows(std::vector<ArrowColumn>&& columns, std::size_t rows, ArrowArray* out) {
    auto holder = std::make_unique<ArrayHolder>();
    holder->children.resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        export_column(std::make_shared<const ArrowColumn>(std::move(columns[i])), &holder->children[i]);
        holder->places.push_back(&holder->children[i]);
    }
    *out = {.length = static_cast<std::int64_t>(rows),
            .null_count = 0,
            .offset = 0,
            .n_buffers = 1,
            .n_children = static_cast<std::int64_t>(columns.size()),
            .buffers = holder->buffers.data(),
            .children = holder->places.data(),
            .dictionary = nullptr,
            .release = &release_array,
            .private_data = nullptr};
    out->private_data = holder.release();
}

void set_null(ArrowColumn& column, std::size_t row) {
    column.validity.resize(std::max(column.validity.size(), row / 8 + 1), std::byte{0xFF});
    column.validity[row / 8] &= ~(std::byte{1} << static_cast<int>(row % 8));
    ++column.nulls;
}

void end_rows(ArrowColumn& column, std::size_t rows) {
    column.rows += rows;
    if (column.nulls != 0) column.validity.resize((column.rows + 7) / 8, std::byte{0xFF});
}

ArrowColumn text_column(std::string name) {
    ArrowColumn column;
    column.name = std::move(name);
    column.format = "u";
    column.is_text = true;
    append_offset(column, 0);
    return column;
}

void append_text(ArrowColumn& column, std::string_view text) {
    column.text += text;
    append_offset(column, column.text.size());
    end_rows(column, 1);
}

void append_null_text(ArrowColumn& column) {
    append_offset(column, column.text.size());
    set_null(column, column.rows);
    end_rows(column, 1);
}

ArrowColumn number_column(std::string name, std::string format) {
    ArrowColumn column;
    column.name = std::move(name);
    column.format = std::move(format);
    return column;
}

void append_number(ArrowColumn& column, std::optional<std::int64_t> value) {
    const auto number = value.value_or(0);
    append_bytes(column, &number, sizeof number);
    if (!value) set_null(column, column.rows);
    end_rows(column, 1);
}

ArrowColumn list_column(std::string name) {
    ArrowColumn column;
    column.name = std::move(name);
    column.format = "+l";
    column.child = std::make_shared<ArrowColumn>(text_column("item"));
    append_offset(column, 0);
    return column;
}

void end_list(ArrowColumn& column) {
    append_offset(column, column.child->rows);
    end_rows(column, 1);
}

}  // namespace millpond::python
