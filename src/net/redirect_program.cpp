#include "redirect_program.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <millpond/net/socket_error.hpp>

namespace millpond::net::detail {
namespace {

/// The instructions of a program. Jumps to `pass` get their distance when the program is complete.
class Assembler {
public:
    void load(unsigned size, unsigned to, unsigned from, int offset) {
        put(BPF_LDX | BPF_MEM | size, to, from, offset, 0);
    }
    void set(unsigned to, unsigned from) { put(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
    void set_value(unsigned to, int value) { put(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
    void calculate(unsigned operation, unsigned to, int value) { put(BPF_ALU64 | BPF_K | operation, to, 0, 0, value); }
    void add(unsigned to, unsigned from) { put(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0); }
    void pass_unless_equal(unsigned reg, std::uint32_t value) {
        to_pass_.push_back(code_.size());
        put(BPF_JMP32 | BPF_JNE | BPF_K, reg, 0, 0, static_cast<int>(value));
    }
    void pass() {
        to_pass_.push_back(code_.size());
        put(BPF_JMP | BPF_JA, 0, 0, 0, 0);
    }
    void skip_if_equal(unsigned reg, std::uint32_t value, int instructions) {
        put(BPF_JMP32 | BPF_JEQ | BPF_K, reg, 0, instructions, static_cast<int>(value));
    }
    void skip_unless_equal(unsigned reg, std::uint32_t value, int instructions) {
        put(BPF_JMP32 | BPF_JNE | BPF_K, reg, 0, instructions, static_cast<int>(value));
    }
    /// Jumps to `pass` unless `bytes` from register `from` on are inside the frame, which ends at register 3.
    void pass_unless_inside(unsigned from, int bytes) {
        set(4, from);
        calculate(BPF_ADD, 4, bytes);
        to_pass_.push_back(code_.size());
        put(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 0, 0);
    }
    void load_map(unsigned to, int map) {
        put(BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map);  // BPF_LD and BPF_IMM are 0
        put(0, 0, 0, 0, 0);
    }
    /// Loads the address of the only element of an array map.
    void load_element(unsigned to, int map) {
        put(BPF_DW, to, BPF_PSEUDO_MAP_VALUE, 0, map);
        put(0, 0, 0, 0, 0);
    }
    void add_to_memory(unsigned at, unsigned from) { put(BPF_STX | BPF_ATOMIC | BPF_DW, at, from, 0, BPF_ADD); }
    void call(int function) { put(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
    void leave() { put(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

    /// Completes the program, which ends by passing the frame on.
    std::vector<bpf_insn> finish() {
        for (const auto at : to_pass_) code_[at].off = static_cast<__s16>(code_.size() - at - 1);
        set_value(0, XDP_PASS);
        leave();
        return std::move(code_);
    }

private:
    void put(unsigned operation, unsigned to, unsigned from, int offset, int value) {
        bpf_insn instruction{};
        instruction.code = static_cast<__u8>(operation);
        instruction.dst_reg = static_cast<__u8>(to & 0xFU);
        instruction.src_reg = static_cast<__u8>(from & 0xFU);
        instruction.off = static_cast<__s16>(offset);
        instruction.imm = value;
        code_.push_back(instruction);
    }

    std::vector<bpf_insn> code_;
    std::vector<std::size_t> to_pass_;
};

/// An IPv4 address in the frame's byte order.
std::uint32_t wire_address(const SocketAddress& address) {
    sockaddr_storage storage;
    address.to_kernel(storage);
    return reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr;
}

std::vector<bpf_insn> assemble(const RedirectRule& rule, int map, int counter) {
    constexpr int kEthernet = ETH_HLEN;
    constexpr int kVlanTag = 4;
    constexpr int kIp = 20;
    constexpr int kUdp = 8;
    constexpr unsigned kFrame = 2;  // register: start of the frame; later 14 bytes before each header
    constexpr unsigned kField = 5;
    constexpr unsigned kVlan = 8;
    constexpr std::uint16_t kVlanNumber = 0x0FFF;
    Assembler code;
    code.set(6, 1);
    code.load(BPF_W, kFrame, 6, offsetof(xdp_md, data));
    code.load(BPF_W, 3, 6, offsetof(xdp_md, data_end));
    code.pass_unless_inside(kFrame, kEthernet + kIp + kUdp);
    code.set_value(kVlan, 0);
    code.load(BPF_H, kField, kFrame, offsetof(ethhdr, h_proto));
    code.skip_unless_equal(kField, htons(ETH_P_8021Q), 7);
    code.pass_unless_inside(kFrame, kVlanTag + kEthernet + kIp + kUdp);
    code.load(BPF_H, kVlan, kFrame, kEthernet);
    code.calculate(BPF_AND, kVlan, htons(kVlanNumber));
    code.calculate(BPF_ADD, kFrame, kVlanTag);
    code.load(BPF_H, kField, kFrame, offsetof(ethhdr, h_proto));
    code.pass_unless_equal(kField, htons(ETH_P_IP));
    code.load(BPF_B, kField, kFrame, kEthernet + 9);  // protocol
    code.pass_unless_equal(kField, IPPROTO_UDP);
    code.load(BPF_H, kField, kFrame, kEthernet + 6);  // fragments: offset, and whether more come
    code.calculate(BPF_AND, kField, htons(0x3FFF));
    code.pass_unless_equal(kField, 0);
    if (const auto to = wire_address(rule.to); to != INADDR_ANY) {
        code.load(BPF_W, kField, kFrame, kEthernet + 16);
        code.pass_unless_equal(kField, to);
    }
    if (!rule.source.empty()) {
        code.load(BPF_W, kField, kFrame, kEthernet + 12);
        code.pass_unless_equal(kField, wire_address(rule.source));
    }
    code.load(BPF_B, kField, kFrame, kEthernet);  // version, and words of header
    code.calculate(BPF_AND, kField, 0xF);
    code.calculate(BPF_LSH, kField, 2);
    code.add(kFrame, kField);
    code.pass_unless_inside(kFrame, kEthernet + kUdp);
    code.load(BPF_H, kField, kFrame, kEthernet + 2);
    code.pass_unless_equal(kField, htons(rule.to.port()));
    code.skip_if_equal(kVlan, htons(rule.vlan), 5);
    code.load_element(1, counter);
    code.set_value(kField, 1);
    code.add_to_memory(1, kField);
    code.pass();
    code.load(BPF_W, 2, 6, offsetof(xdp_md, rx_queue_index));
    code.load_map(1, map);
    code.set_value(3, XDP_PASS);
    code.call(BPF_FUNC_redirect_map);
    code.leave();
    return code.finish();
}

constexpr const char* kCapabilities = " (needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW)";

}  // namespace

RedirectProgram::RedirectProgram(const RedirectRule& rule, std::uint32_t queues) {
    map_ = core::Descriptor{bpf_map_create(BPF_MAP_TYPE_XSKMAP, "millpond", sizeof(int), sizeof(int), queues, nullptr)};
    if (!map_) throw SocketError(errno, std::string("cannot make a map of AF_XDP sockets") + kCapabilities);
    counter_ = core::Descriptor{
        bpf_map_create(BPF_MAP_TYPE_ARRAY, "millpond", sizeof(int), sizeof(std::uint64_t), 1, nullptr)};
    if (!counter_) throw SocketError(errno, std::string("cannot make a map of a counter") + kCapabilities);
    const auto code = assemble(rule, map_.get(), counter_.get());
    std::array<char, 4096> log{};
    bpf_prog_load_opts options{};
    options.sz = sizeof options;
    options.log_buf = log.data();
    options.log_size = log.size();
    options.log_level = 1;
    program_ = core::Descriptor{
        bpf_prog_load(BPF_PROG_TYPE_XDP, "millpond", "Dual MIT/GPL", code.data(), code.size(), &options)};
    if (!program_)
        throw SocketError(errno, std::string("cannot load the XDP program") + kCapabilities + ' ' + log.data());
}

std::uint64_t RedirectProgram::other_vlan() const noexcept {
    const int only = 0;
    std::uint64_t count = 0;
    return bpf_map_lookup_elem(counter_.get(), &only, &count) == 0 ? count : 0;
}

void RedirectProgram::attach(const std::string& interface, unsigned interface_index) {
    using namespace std::chrono_literals;
    constexpr int kTries = 50;
    int error = 0;
    for (int i = 0; i < kTries; ++i) {
        for (const auto mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
            bpf_link_create_opts options{};
            options.sz = sizeof options;
            options.flags = mode;
            link_ =
                core::Descriptor{bpf_link_create(program_.get(), static_cast<int>(interface_index), BPF_XDP, &options)};
            if (link_) return;
            error = errno;
            if (error == EBUSY || error == EEXIST) break;
        }
        if (error != EBUSY && error != EEXIST) break;
        std::this_thread::sleep_for(20ms);
    }
    if (error == EBUSY || error == EEXIST)
        throw SocketError(error, "interface '" + interface + "' has an XDP program already: see ip link show " +
                                     interface + ", or bpftool net");
    throw SocketError(error, "cannot put an XDP program on interface '" + interface + '\'' + kCapabilities);
}

}  // namespace millpond::net::detail
