//! The work of ring_throughput_bench and of ring_hop_bench: the same messages, waits and answers as its C++ links.

use crate::links::{Link, Message, Receiver, Sender, CAPACITY, WORDS};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

const STRETCH: u64 = 4 * CAPACITY as u64;
const TOLD: u64 = CAPACITY as u64 / 8;

/// The duration of the work, and the answer, which must equal that of the C++ links.
#[repr(C)]
pub struct Answer {
    value: f64,
    sum: u64,
}

pub fn run_on(core: i32) {
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core as usize, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Spins, and gives its processor away now and then, as bench::spin_until does.
pub fn spin_until(mut ready: impl FnMut() -> bool) {
    let mut spins = 0u32;
    while !ready() {
        spin_loop();
        spins += 1;
        if spins % 20_000 == 0 {
            thread::yield_now();
        }
    }
}

/// Both ends, each made on its own thread, the receiver's first.
struct Started(AtomicU64);

impl Started {
    fn tell(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }
    fn wait_for(&self, count: u64) {
        spin_until(|| self.0.load(Ordering::Acquire) >= count);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}

fn stream<L: Link>(first: i32, second: i32, count: u64) -> Answer {
    let link = Arc::new(L::new());
    let started = Arc::new(Started(AtomicU64::new(0)));
    let read = Arc::new(AtomicU64::new(0));
    let reader = {
        let (link, started, read) = (link.clone(), started.clone(), read.clone());
        thread::spawn(move || {
            run_on(second);
            let mut receiver = link.receiver();
            started.tell();
            started.wait_for(2);
            let mut message: Message = [0; WORDS];
            let (mut sum, mut rates) = (0u64, Vec::new());
            let mut begin = Instant::now();
            for i in 1..=count {
                spin_until(|| receiver.try_receive(&mut message));
                black_box(&mut message); // the whole message was copied
                sum = sum.wrapping_add(message[0]).wrapping_add(message[WORDS - 1]);
                if i % TOLD == 0 {
                    read.store(i, Ordering::Release);
                }
                if i % STRETCH == 0 {
                    let end = Instant::now();
                    rates.push(1e3 * STRETCH as f64 / (end - begin).as_nanos() as f64);
                    begin = end;
                }
            }
            Answer { value: median(rates), sum }
        })
    };
    run_on(first);
    started.wait_for(1);
    let mut sender = link.sender();
    started.tell();
    let mut message: Message = [0; WORDS];
    let mut seen = 0;
    for i in 1..=count {
        spin_until(|| {
            if i - seen < CAPACITY as u64 {
                return true;
            }
            seen = read.load(Ordering::Acquire);
            i - seen < CAPACITY as u64
        });
        message[0] = i;
        message[WORDS - 1] = i;
        black_box(&mut message);
        spin_until(|| sender.try_send(&message));
    }
    reader.join().unwrap()
}

fn hop<L: Link>(first: i32, second: i32, trips: u64) -> Answer {
    let there = Arc::new(L::new());
    let back = Arc::new(L::new());
    let started = Arc::new(Started(AtomicU64::new(0)));
    let echo = {
        let (there, back, started) = (there.clone(), back.clone(), started.clone());
        thread::spawn(move || {
            run_on(second);
            let mut from = there.receiver();
            started.tell();
            started.wait_for(2);
            let mut to = back.sender();
            started.tell();
            let mut message: Message = [0; WORDS];
            for _ in 0..trips {
                spin_until(|| from.try_receive(&mut message));
                black_box(&mut message); // the whole message was copied
                message[0] += 1;
                spin_until(|| to.try_send(&message));
            }
        })
    };
    run_on(first);
    started.wait_for(1);
    let mut from = back.receiver();
    let mut to = there.sender();
    started.tell();
    started.wait_for(3);
    let mut message: Message = [0; WORDS];
    let mut sum = 0u64;
    let mut means = Vec::new();
    let mut begin = Instant::now();
    for i in 0..trips {
        message[0] = 2 * i + 1;
        spin_until(|| to.try_send(&message));
        spin_until(|| from.try_receive(&mut message));
        black_box(&mut message);
        sum = sum.wrapping_add(message[0]);
        if (i + 1) % 64 == 0 {
            let end = Instant::now();
            means.push((end - begin).as_nanos() as f64 / 128.0);
            begin = end;
        }
    }
    echo.join().unwrap();
    Answer { value: median(means), sum }
}

fn ask<L: Link>(hops: bool, first: i32, second: i32, count: u64) -> Answer {
    if hops {
        hop::<L>(first, second, count)
    } else {
        stream::<L>(first, second, count)
    }
}

/// kind: 0 crossbeam's ArrayQueue, 1 rtrb, 2 iceoryx2. A value of 0: that one was left out when this was built.
#[no_mangle]
pub extern "C" fn millpond_rival_link(kind: i32, hops: bool, first: i32, second: i32, count: u64) -> Answer {
    match kind {
        0 => ask::<crate::links::crossbeam::Array>(hops, first, second, count),
        1 => ask::<crate::links::realtime::Ring>(hops, first, second, count),
        #[cfg(feature = "iceoryx2")]
        2 => ask::<crate::links::iceoryx::Shared>(hops, first, second, count),
        _ => Answer { value: 0.0, sum: 0 },
    }
}
