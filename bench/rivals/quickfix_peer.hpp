#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

// Included by a C++14 translation unit too: QuickFIX's headers are not valid C++17.
namespace millpond {
namespace bench {

/// One side of a FIX 4.4 session run by QuickFIX, on its own threads.
class QuickFixPeer {
public:
    struct Options {
        bool initiates = false;
        int port = 0;
        std::string sender;  ///< This side's CompID.
        std::string target;
        std::string folder;    ///< Folder of the store's files; empty: the store is in memory.
        bool answers = false;  ///< Answers each order with an ExecutionReport.
    };
    struct Received {
        std::string type;
        std::uint64_t id = 0;      ///< ClOrdID(11).
        std::uint64_t number = 0;  ///< MsgSeqNum(34).
        bool poss_dup = false;
    };

    /// on_message: called on QuickFIX's thread for each application message.
    QuickFixPeer(const Options& options, std::function<void(const Received&)> on_message);
    ~QuickFixPeer();
    QuickFixPeer(const QuickFixPeer&) = delete;
    QuickFixPeer& operator=(const QuickFixPeer&) = delete;

    bool logged_on() const;
    /// Sends a NewOrderSingle.
    bool send_order(std::uint64_t id);
    /// Makes the next message expect this number: a gap that the peer fills.
    void expect(std::uint64_t number);

private:
    class Side;
    std::unique_ptr<Side> side_;
};

}  // namespace bench
}  // namespace millpond
