//! One-way links between two threads: messages of 112 bytes. The two ends are made on the threads that use them, because
//! some libraries' ends may not move between threads.

pub const WORDS: usize = 14;
pub const CAPACITY: usize = 4096;
pub type Message = [u64; WORDS];

pub trait Sender {
    /// False when there is no room.
    fn try_send(&mut self, message: &Message) -> bool;
}

pub trait Receiver {
    fn try_receive(&mut self, into: &mut Message) -> bool;
}

/// Makes both ends of a link. `receiver` is called first; `sender` when that has returned.
pub trait Link: Send + Sync + 'static {
    type Sender: Sender;
    type Receiver: Receiver;
    fn new() -> Self;
    fn receiver(&self) -> Self::Receiver;
    fn sender(&self) -> Self::Sender;
}

pub mod crossbeam {
    use super::*;
    use crossbeam_queue::ArrayQueue;
    use std::sync::Arc;

    pub struct Array(Arc<ArrayQueue<Message>>);

    impl Link for Array {
        type Sender = Self;
        type Receiver = Self;
        fn new() -> Self {
            Array(Arc::new(ArrayQueue::new(CAPACITY)))
        }
        fn receiver(&self) -> Self {
            Array(self.0.clone())
        }
        fn sender(&self) -> Self {
            Array(self.0.clone())
        }
    }
    impl Sender for Array {
        fn try_send(&mut self, message: &Message) -> bool {
            self.0.push(*message).is_ok()
        }
    }
    impl Receiver for Array {
        fn try_receive(&mut self, into: &mut Message) -> bool {
            self.0.pop().map(|message| *into = message).is_some()
        }
    }
}

pub mod realtime {
    use super::*;
    use std::sync::Mutex;

    pub struct Ring(
        Mutex<Option<rtrb::Producer<Message>>>,
        Mutex<Option<rtrb::Consumer<Message>>>,
    );

    impl Link for Ring {
        type Sender = rtrb::Producer<Message>;
        type Receiver = rtrb::Consumer<Message>;
        fn new() -> Self {
            let (producer, consumer) = rtrb::RingBuffer::new(CAPACITY);
            Ring(Mutex::new(Some(producer)), Mutex::new(Some(consumer)))
        }
        fn receiver(&self) -> Self::Receiver {
            self.1.lock().unwrap().take().unwrap()
        }
        fn sender(&self) -> Self::Sender {
            self.0.lock().unwrap().take().unwrap()
        }
    }
    impl Sender for rtrb::Producer<Message> {
        fn try_send(&mut self, message: &Message) -> bool {
            self.push(*message).is_ok()
        }
    }
    impl Receiver for rtrb::Consumer<Message> {
        fn try_receive(&mut self, into: &mut Message) -> bool {
            self.pop().map(|message| *into = message).is_ok()
        }
    }
}

#[cfg(feature = "iceoryx2")]
pub mod iceoryx {
    use super::*;
    use iceoryx2::port::publisher::Publisher;
    use iceoryx2::port::subscriber::Subscriber;
    use iceoryx2::prelude::*;
    use iceoryx2::service::port_factory::publish_subscribe::PortFactory;
    use std::sync::atomic::{AtomicU64, Ordering};

    static NEXT: AtomicU64 = AtomicU64::new(0);

    /// A service in shared memory, as for two processes.
    pub struct Shared(String);
    pub struct End<Port> {
        port: Port,
        _service: PortFactory<ipc::Service, Message, ()>,
        _node: Node<ipc::Service>,
    }

    impl Shared {
        fn open(&self) -> (Node<ipc::Service>, PortFactory<ipc::Service, Message, ()>) {
            set_log_level(LogLevel::Error);
            let node = NodeBuilder::new().create::<ipc::Service>().unwrap();
            let service = node
                .service_builder(&self.0.as_str().try_into().unwrap())
                .publish_subscribe::<Message>()
                .enable_safe_overflow(false)
                .subscriber_max_buffer_size(CAPACITY)
                .subscriber_max_borrowed_samples(2)
                .max_publishers(1)
                .max_subscribers(1)
                .open_or_create()
                .unwrap();
            (node, service)
        }
    }
    impl Link for Shared {
        type Sender = End<Publisher<ipc::Service, Message, ()>>;
        type Receiver = End<Subscriber<ipc::Service, Message, ()>>;
        fn new() -> Self {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            Shared(format!("millpond-bench-{}-{number}", std::process::id()))
        }
        fn receiver(&self) -> Self::Receiver {
            let (node, service) = self.open();
            let port = service.subscriber_builder().buffer_size(CAPACITY).create().unwrap();
            End { port, _service: service, _node: node }
        }
        fn sender(&self) -> Self::Sender {
            let (node, service) = self.open();
            let port = service.publisher_builder().max_loaned_samples(2).create().unwrap();
            End { port, _service: service, _node: node }
        }
    }
    impl Sender for End<Publisher<ipc::Service, Message, ()>> {
        fn try_send(&mut self, message: &Message) -> bool {
            match self.port.loan_uninit() {
                Ok(sample) => sample.write_payload(*message).send().is_ok(),
                Err(_) => false,
            }
        }
    }
    impl Receiver for End<Subscriber<ipc::Service, Message, ()>> {
        fn try_receive(&mut self, into: &mut Message) -> bool {
            match self.port.receive().unwrap() {
                Some(sample) => {
                    *into = *sample;
                    true
                }
                None => false,
            }
        }
    }
}
