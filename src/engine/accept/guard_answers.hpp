#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <millpond/engine/logon_guard.hpp>

#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

/// Passes the answers of guards to an acceptor.
///
/// Threads: any.
class GuardAnswers {
public:
    struct Answer {
        std::uint64_t connection{0};  ///< Number of the connection whose Logon was checked.
        LogonAnswer answer{};
    };

    /// From now until `close`, each answer signals the participant.
    void open(IoLoop& loop, std::size_t slot) {
        const std::lock_guard guard{lock_};
        loop_ = &loop;
        slot_ = slot;
    }
    /// Ignores later answers.
    void close() {
        const std::lock_guard guard{lock_};
        loop_ = nullptr;
        answers_.clear();
    }
    void add(std::uint64_t connection, LogonAnswer answer) {
        const std::lock_guard guard{lock_};
        if (loop_ == nullptr) return;
        answers_.push_back({connection, std::move(answer)});
        loop_->signal(slot_);
    }
    [[nodiscard]] std::vector<Answer> drain() {
        const std::lock_guard guard{lock_};
        return std::exchange(answers_, {});
    }

private:
    std::mutex lock_;
    IoLoop* loop_{nullptr};
    std::size_t slot_{0};
    std::vector<Answer> answers_;
};

}  // namespace millpond::engine
