import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import com.lmax.disruptor.EventPoller;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.YieldingWaitStrategy;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import net.openhft.affinity.Affinity;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import org.agrona.BufferUtil;
import org.agrona.CloseHelper;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The ring benches' work with Java libraries: messages of 112 bytes between two threads on different processors. Started and
 * used by bench/rivals/jvm_rival.hpp.
 *
 * <p>usage: Rivals KIND FIRST_CORE SECOND_CORE; then, on standard input, "stream COUNT", "hop TRIPS" or "end". The answers are
 * "VALUE SUM": millions of messages per second, or nanoseconds per hop, and the sum of the received messages.
 */
public final class Rivals {
    private static final int WORDS = 14;
    private static final int CAPACITY = 4096;
    private static final long STRETCH = 4 * CAPACITY;

    /** A link from one thread to another. Threads: send on one, drain on one other. */
    private interface Link extends AutoCloseable {
        /** Sends a message whose first and last words are the value. Waits while the link is full. */
        void send(long value);

        /** Passes the sum of the first and the last word of each available message to `consumer`. */
        void drain(LongConsumer consumer);

        @Override
        void close();
    }

    private static final class Disruptor implements Link {
        private final RingBuffer<long[]> ring =
                RingBuffer.createSingleProducer(() -> new long[WORDS], CAPACITY, new YieldingWaitStrategy());
        private final EventPoller<long[]> poller = ring.newPoller();
        private LongConsumer consumer;
        private final EventPoller.Handler<long[]> handler = (message, sequence, endOfBatch) -> {
            consumer.accept(message[0] + message[WORDS - 1]);
            return true;
        };

        Disruptor() {
            ring.addGatingSequences(poller.getSequence());
        }

        @Override
        public void send(long value) {
            final long sequence = ring.next();
            final long[] message = ring.get(sequence);
            for (int i = 0; i < WORDS; i++) message[i] = value;
            ring.publish(sequence);
        }

        @Override
        public void drain(LongConsumer consumer) {
            this.consumer = consumer;
            try {
                poller.poll(handler);
            } catch (Exception failure) {
                throw new IllegalStateException(failure);
            }
        }

        @Override
        public void close() {}
    }

    private static final class AeronIpc implements Link {
        private static final String CHANNEL = "aeron:ipc";
        private static int streams = 0;
        private static MediaDriver driver;
        private static Aeron aeron;

        private final Subscription subscription;
        private final ExclusivePublication publication;
        private final UnsafeBuffer bytes = new UnsafeBuffer(BufferUtil.allocateDirectAligned(8 * WORDS, 64));
        private LongConsumer consumer;
        private final FragmentHandler handler = (buffer, offset, length, header) ->
                consumer.accept(buffer.getLong(offset) + buffer.getLong(offset + 8 * (WORDS - 1)));

        AeronIpc() {
            if (driver == null) {
                final String folder = "/dev/shm/millpond-bench-aeron-" + ProcessHandle.current().pid();
                driver = MediaDriver.launch(new MediaDriver.Context()
                        .aeronDirectoryName(folder)
                        .dirDeleteOnStart(true)
                        .dirDeleteOnShutdown(true)
                        .threadingMode(ThreadingMode.SHARED)); // one more thread, which sleeps when idle
                aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(folder));
            }
            final int stream = ++streams;
            subscription = aeron.addSubscription(CHANNEL, stream);
            publication = aeron.addExclusivePublication(CHANNEL, stream);
            while (!publication.isConnected() || subscription.hasNoImages()) Thread.yield();
        }

        @Override
        public void send(long value) {
            for (int i = 0; i < WORDS; i++) bytes.putLong(8 * i, value);
            for (long tries = 1; publication.offer(bytes) < 0; tries++) {
                Thread.onSpinWait();
                if (tries % 20_000 == 0) Thread.yield();
            }
        }

        @Override
        public void drain(LongConsumer consumer) {
            this.consumer = consumer;
            subscription.poll(handler, 256);
        }

        @Override
        public void close() {
            publication.close();
            subscription.close();
        }

        static void end() {
            CloseHelper.closeAll(aeron, driver);
        }
    }

    private static final class Chronicle implements Link {
        private final Path folder;
        private final ChronicleQueue queue;
        private ExcerptAppender appender;
        private ExcerptTailer tailer;
        private final Bytes<?> out = Bytes.allocateElasticDirect(8 * WORDS);
        private final Bytes<?> in = Bytes.allocateElasticDirect(8 * WORDS);

        Chronicle() {
            try {
                folder = Files.createTempDirectory(Path.of("/dev/shm"), "millpond-bench-chronicle");
            } catch (IOException failure) {
                throw new IllegalStateException(failure);
            }
            queue = ChronicleQueue.singleBuilder(folder).build();
        }

        @Override
        public void send(long value) {
            if (appender == null) appender = queue.createAppender();
            out.clear();
            for (int i = 0; i < WORDS; i++) out.writeLong(value);
            appender.writeBytes(out);
        }

        @Override
        public void drain(LongConsumer consumer) {
            if (tailer == null) tailer = queue.createTailer();
            in.clear();
            if (tailer.readBytes(in)) consumer.accept(in.readLong(0) + in.readLong(8 * (WORDS - 1)));
        }

        @Override
        public void close() {
            queue.close();
            try (var files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            } catch (IOException failure) {
                throw new IllegalStateException(failure);
            }
        }
    }

    private static class Sum implements LongConsumer {
        long sum = 0;
        long count = 0;

        @Override
        public void accept(long value) {
            sum += value;
            count++;
        }
    }

    private static Link make(String kind) {
        switch (kind) {
            case "disruptor": return new Disruptor();
            case "aeron": return new AeronIpc();
            case "chronicle": return new Chronicle();
            default: throw new IllegalArgumentException(kind + " is none of disruptor, aeron, chronicle");
        }
    }

    /** Number of read messages, so that the writer is at most CAPACITY ahead; like Progress of bench/queue/stream.hpp. */
    private static final class Progress {
        private static final long TOLD = CAPACITY / 8;
        private final AtomicLong read = new AtomicLong();
        private long seen = 0;

        void tell(long count) {
            if (count - read.getPlain() >= TOLD) read.setRelease(count);
        }

        void waitFor(long next) {
            for (long fruitless = 1; next - seen >= CAPACITY; fruitless++) {
                seen = read.getAcquire();
                Thread.onSpinWait();
                if (fruitless % 20_000 == 0) Thread.yield();
            }
        }
    }

    /** Yields the processor regularly while no message arrives, like the C++ side. */
    private static void drain(Link link, Sum sum, long until) {
        for (long fruitless = 0; sum.count < until; ) {
            final long before = sum.count;
            link.drain(sum);
            if (sum.count != before) continue;
            Thread.onSpinWait();
            if (++fruitless % 20_000 == 0) Thread.yield();
        }
    }

    private static Thread on(int core, Runnable work) {
        final Thread thread = new Thread(() -> {
            Affinity.setAffinity(core);
            work.run();
        });
        thread.start();
        return thread;
    }

    /** The median over chunks of messages, like the C++ side: a chunk in which a thread was preempted says nothing. */
    private static String stream(String kind, int second, long count) throws InterruptedException {
        final double[] rates = new double[(int) (count / STRETCH)];
        try (Link link = make(kind)) {
            final Progress progress = new Progress();
            final Sum sum = new Sum() {
                @Override
                public void accept(long value) {
                    super.accept(value);
                    progress.tell(this.count);
                }
            };
            final Thread reader = on(second, () -> {
                long begin = System.nanoTime();
                for (int i = 0; i < rates.length; i++) {
                    final long before = sum.count;
                    drain(link, sum, (i + 1) * STRETCH);
                    final long end = System.nanoTime();
                    rates[i] = 1_000.0 * (sum.count - before) / (end - begin);
                    begin = end;
                }
            });
            for (long i = 1; i <= count; i++) {
                progress.waitFor(i);
                link.send(i);
            }
            reader.join();
            Arrays.sort(rates);
            return rates[rates.length / 2] + " " + sum.sum;
        }
    }

    private static String hop(String kind, int second, long trips) throws InterruptedException {
        try (Link there = make(kind);
                Link back = make(kind)) {
            final Sum echoed = new Sum();
            final Thread echo = on(second, () -> {
                for (long i = 1; i <= trips; i++) {
                    drain(there, echoed, i);
                    back.send(2 * i);
                }
            });
            final Sum sum = new Sum();
            final long begin = System.nanoTime();
            for (long i = 1; i <= trips; i++) {
                there.send(2 * i - 1);
                drain(back, sum, i);
            }
            final double nanos = (System.nanoTime() - begin) / (2.0 * trips);
            echo.join();
            return nanos + " " + sum.sum / 2;
        }
    }

    public static void main(String[] words) throws Exception {
        final String kind = words[0];
        final int second = Integer.parseInt(words[2]);
        Affinity.setAffinity(Integer.parseInt(words[1]));
        final BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null && !line.equals("end"); line = asked.readLine()) {
            final String[] question = line.split(" ");
            final long count = Long.parseLong(question[1]);
            System.out.println(question[0].equals("hop") ? hop(kind, second, count) : stream(kind, second, count));
        }
        AeronIpc.end();
    }
}
