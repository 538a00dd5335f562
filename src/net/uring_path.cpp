#include "uring_path.hpp"

#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/clock.hpp>

#include "datagram_list.hpp"

namespace millpond::net::detail {
namespace {

constexpr unsigned kSubmissions = 4;
constexpr int kGroup = 0;
constexpr std::size_t kPage = 4096;
/// Size of what precedes a datagram in a buffer.
constexpr std::size_t kInFront = sizeof(io_uring_recvmsg_out) + kControlBytes;

std::size_t up_to(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

class UringPath::Ring {
public:
    Ring(int socket, const UdpReceiver::Options& options, const UdpReceiver::Report& report, ReceiveCounters& counters)
        : socket_(socket),
          longest_(report.gro ? kLongestDatagram : options.max_datagram),
          buffers_(static_cast<unsigned>(std::bit_ceil(2 * options.batch))),
          stride_(up_to(kInFront + longest_, core::kCacheLine)),
          memory_(memory::Region::anonymous(up_to(buffers_ * sizeof(io_uring_buf), kPage) + buffers_ * stride_,
                                            options.memory)),
          list_(report.gro ? options.batch * kDatagramsPerTrain : options.batch, report.nic_time, counters),
          counters_(&counters),
          drops_(counters.kernel_drops) {
        held_.reserve(buffers_);
        request_.msg_controllen = kControlBytes;
        io_uring_params parameters{};
        // Disabled until the first poll: the ring belongs to the thread that enables it.
        parameters.flags =
            IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE;
        parameters.cq_entries = 2 * buffers_;
        if (const int error = io_uring_queue_init_params(kSubmissions, &ring_, &parameters); error != 0)
            throw SocketError(-error, "no io_uring (Linux 6.1 or later, kernel.io_uring_disabled = 0)");
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory_.data());
        registration.ring_entries = buffers_;
        registration.bgid = kGroup;
        if (const int error = io_uring_register_buf_ring(&ring_, &registration, 0); error != 0) {
            io_uring_queue_exit(&ring_);
            throw SocketError(-error, "io_uring takes no ring of buffers");
        }
        for (unsigned i = 0; i < buffers_; ++i) lend(static_cast<std::uint16_t>(i), static_cast<int>(i));
        io_uring_buf_ring_advance(lent(), static_cast<int>(buffers_));
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() {
        cancel();
        io_uring_queue_exit(&ring_);
    }

    std::span<const Datagram> poll() noexcept {
        auto datagrams = look();
        // A request that ended for lack of buffers is renewed before any thread waits for it.
        if (datagrams.empty() && !armed_) datagrams = look();
        return datagrams;
    }

    [[nodiscard]] int fd() const noexcept { return ring_.ring_fd; }
    [[nodiscard]] const memory::Region& memory() const noexcept { return memory_; }
    [[nodiscard]] KernelDrops& drops() noexcept { return drops_; }

private:
    [[nodiscard]] io_uring_buf_ring* lent() noexcept { return reinterpret_cast<io_uring_buf_ring*>(memory_.data()); }
    [[nodiscard]] std::byte* buffer(std::uint16_t id) noexcept {
        return memory_.data() + up_to(buffers_ * sizeof(io_uring_buf), kPage) + id * stride_;
    }
    void lend(std::uint16_t id, int place) noexcept {
        io_uring_buf_ring_add(lent(), buffer(id), static_cast<unsigned>(kInFront + longest_), id,
                              io_uring_buf_ring_mask(buffers_), place);
    }

    /// Takes the request back, so that the socket is free when this object is gone. On another thread than the polling
    /// one the kernel refuses that, and lets go of the socket a moment after the ring.
    void cancel() noexcept {
        if (!armed_) return;
        io_uring_sync_cancel_reg all{};
        all.fd = -1;
        all.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
        all.timeout = {-1, -1};
        if (io_uring_register_sync_cancel(&ring_, &all) >= 0) io_uring_get_events(&ring_);
    }

    /// Returns the buffers of the latest poll, except those of a train that continues.
    void recycle() noexcept {
        const std::size_t kept = list_.in_message() ? 1 : 0;
        if (held_.size() <= kept) return;
        int place = 0;
        for (std::size_t i = 0; i + kept < held_.size(); ++i) lend(held_[i], place++);
        io_uring_buf_ring_advance(lent(), place);
        held_.erase(held_.begin(), held_.end() - static_cast<std::ptrdiff_t>(kept));
    }

    std::span<const Datagram> look() noexcept {
        recycle();
        if (!armed_ && !arm()) return {};
        if (!list_.in_message() && io_uring_cq_ready(&ring_) == 0) io_uring_get_events(&ring_);
        return list_.fill(core::ticks(), [this](Message& message) { return next(message); });
    }

    bool arm() noexcept {
        if (!enabled_) {
            // Not io_uring_enable_rings: liburing 2.3 does not export it.
            if (syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) != 0)
                return failed(errno);
            enabled_ = true;
        }
        auto* const submission = io_uring_get_sqe(&ring_);
        io_uring_prep_recvmsg_multishot(submission, socket_, &request_, MSG_TRUNC);
        submission->flags |= IOSQE_BUFFER_SELECT;
        submission->buf_group = kGroup;
        if (const int count = io_uring_submit(&ring_); count < 0) return failed(-count);
        armed_ = true;
        return true;
    }

    bool failed(int error) noexcept {
        counters_->errors.add();
        counters_->last_error.set(static_cast<std::uint64_t>(error));
        return false;
    }

    bool next(Message& message) noexcept {
        io_uring_cqe* completion = nullptr;
        while (io_uring_peek_cqe(&ring_, &completion) == 0) {
            const int result = completion->res;
            const unsigned flags = completion->flags;
            io_uring_cqe_seen(&ring_, completion);
            if ((flags & IORING_CQE_F_MORE) == 0) armed_ = false;
            if ((flags & IORING_CQE_F_BUFFER) == 0) {
                // Without buffers the datagrams wait in the socket: nothing is lost, the next poll asks again.
                if (result < 0 && result != -ENOBUFS) failed(-result);
                continue;
            }
            const auto id = static_cast<std::uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT);
            held_.push_back(id);
            auto* const head = io_uring_recvmsg_validate(buffer(id), result, &request_);
            if (head == nullptr) {
                failed(EBADMSG);
                continue;
            }
            msghdr control{};
            control.msg_control = io_uring_recvmsg_name(head);
            control.msg_controllen = head->controllen;
            message.bytes = {static_cast<const std::byte*>(io_uring_recvmsg_payload(head, &request_)),
                             head->payloadlen};
            message.cut = (head->flags & MSG_TRUNC) != 0;
            message.control = read_control(control, drops_);
            return true;
        }
        return false;
    }

    int socket_;
    std::size_t longest_;
    unsigned buffers_;
    std::size_t stride_;
    memory::Region memory_;  // the ring of buffers, then the buffers
    DatagramList list_;
    ReceiveCounters* counters_;
    KernelDrops drops_;
    std::vector<std::uint16_t> held_;  // buffers of the latest poll
    msghdr request_{};
    io_uring ring_{};
    bool enabled_{false};
    bool armed_{false};
};

UringPath::UringPath(int socket, const UdpReceiver::Options& options, const UdpReceiver::Report& report,
                     ReceiveCounters& counters)
    : ring_(std::make_unique<Ring>(socket, options, report, counters)) {}

UringPath::~UringPath() = default;

std::span<const Datagram> UringPath::poll() noexcept { return ring_->poll(); }
int UringPath::fd() const noexcept { return ring_->fd(); }
const memory::Region& UringPath::memory() const noexcept { return ring_->memory(); }
KernelDrops& UringPath::drops() noexcept { return ring_->drops(); }

}  // namespace millpond::net::detail
