#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/logon_guard.hpp>

namespace millpond::engine {

/// Answers of guards on their way to the acceptor that asked.
///
/// Threads: any.
class GuardAnswers {
public:
    struct Given {
        std::uint64_t connection{0};  ///< As in the question.
        LogonAnswer answer{};
    };

    /// From now until `close`, each answer signals the participant.
    void open(IoThread& io, std::size_t slot) {
        const std::lock_guard guard{lock_};
        io_ = &io;
        slot_ = slot;
    }
    /// Later answers are ignored.
    void close() {
        const std::lock_guard guard{lock_};
        io_ = nullptr;
        given_.clear();
    }
    void add(std::uint64_t connection, LogonAnswer answer) {
        const std::lock_guard guard{lock_};
        if (io_ == nullptr) return;
        given_.push_back({connection, std::move(answer)});
        io_->signal(slot_);
    }
    [[nodiscard]] std::vector<Given> take() {
        const std::lock_guard guard{lock_};
        return std::exchange(given_, {});
    }

private:
    std::mutex lock_;
    IoThread* io_{nullptr};
    std::size_t slot_{0};
    std::vector<Given> given_;
};

}  // namespace millpond::engine
