#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <unistd.h>

#include <millpond/fix/file_store.hpp>

#include "tests/fix/messages.hpp"

namespace millpond::fix {

inline const FileStore::Options kSmall{.data_bytes = 16'384};

/// A store in a temporary folder, removed with this object.
class FileStoreTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("millpond-store-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path path() const { return folder_ / "session.store"; }

    std::filesystem::path folder_;
};

/// An order with a Text of 20 to 219 bytes.
inline std::string order(std::uint64_t number) {
    return message_of("FIX.4.4", "35=D|34=" + std::to_string(number) + "|49=A|56=B|58=" +
                                     std::string(20 + number * 7 % 200, static_cast<char>('a' + number % 26)) + "|");
}

/// Stores orders up to this number, all of them sent.
inline void store_up_to(FileStore& store, std::uint64_t last) {
    for (auto i = store.next_sender(); i <= last; ++i) {
        ASSERT_TRUE(store.store(order(i))) << i;
        store.mark_written(i);
    }
}

}  // namespace millpond::fix
