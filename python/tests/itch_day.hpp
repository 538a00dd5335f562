#pragma once

#include <cstdint>
#include <string>

/// Writes a file of ITCH messages of `books` stocks, each after its length: the directory and `live_each` orders per
/// book, then adds, deletes and executions in the proportions of a real stock's day. Throws std::system_error.
void write_itch_day(const std::string& path, std::uint32_t books, std::uint32_t live_each, std::uint64_t messages);
