import com.paritytrading.philadelphia.FIXConfig;
import com.paritytrading.philadelphia.FIXConnection;
import com.paritytrading.philadelphia.FIXConnectionStatusListener;
import com.paritytrading.philadelphia.FIXMessage;
import com.paritytrading.philadelphia.FIXMessageListener;
import com.paritytrading.philadelphia.FIXVersion;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import quickfix.Application;
import quickfix.DefaultMessageFactory;
import quickfix.DoNotSend;
import quickfix.FieldNotFound;
import quickfix.Log;
import quickfix.MemoryStoreFactory;
import quickfix.Message;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionNotFound;
import quickfix.SessionSettings;
import quickfix.SocketAcceptor;

/**
 * FIX 4.4 acceptors in Java, started by round_trip_peers_bench: HOUSE answers each NewOrderSingle of DESK with an
 * ExecutionReport, like the bench's other peers.
 *
 * <p>usage: FixPeers KIND PORT, KIND one of philadelphia-spinning, philadelphia-sleeping, quickfixj. Prints "ready 1" when
 * it listens on this port of loopback. Ends at "end" on standard input, or at the end of that.
 */
public final class FixPeers {
    private static final int CL_ORD_ID = 11;
    private static final int[] SAME = {38, 44, 54, 55, 60};
    private static final int FRUITLESS = 20_000;
    private static final long PATIENCE_NANOS = 20_000_000_000L;

    /** Serves one connection at a time, on the calling thread. */
    private static final class Philadelphia {
        private final ServerSocketChannel listener = ServerSocketChannel.open();
        private final boolean spins;
        private boolean connected;

        Philadelphia(int port, boolean spins) throws IOException {
            this.spins = spins;
            listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        }

        void serve() throws IOException {
            while (true) {
                try (SocketChannel channel = listener.accept()) {
                    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                    channel.configureBlocking(!spins);
                    serve(channel);
                } catch (IOException failure) {
                    // The next connection is accepted, and the client of this one refuses to measure.
                }
            }
        }

        private void serve(SocketChannel channel) throws IOException {
            final FIXConfig config = FIXConfig.newBuilder()
                    .setVersion(FIXVersion.FIX_4_4)
                    .setSenderCompID("HOUSE")
                    .setTargetCompID("DESK")
                    .setCheckSumEnabled(true)
                    .build();
            final Reporter reporter = new Reporter();
            connected = true;
            final FIXConnection connection =
                    new FIXConnection(channel, config, reporter, reporter, System.currentTimeMillis());
            reporter.start(connection);
            long since = System.nanoTime();
            for (int fruitless = 0; connected; ) {
                final int got = connection.receive();
                if (got < 0) return;
                if (got > 0) {
                    fruitless = 0;
                } else if (++fruitless % FRUITLESS == 0) {
                    if (fruitless == FRUITLESS) since = System.nanoTime();
                    if (System.nanoTime() - since > PATIENCE_NANOS) return;
                    Thread.yield();
                } else {
                    Thread.onSpinWait();
                }
            }
        }

        private final class Reporter implements FIXMessageListener, FIXConnectionStatusListener {
            private FIXConnection connection;
            private FIXMessage report;

            void start(FIXConnection started) {
                connection = started;
                report = started.create();
            }

            @Override
            public void message(FIXMessage order) throws IOException {
                if (!order.getMsgType().contentEquals('D')) return;
                connection.setCurrentTimeMillis(System.currentTimeMillis());
                connection.prepare(report, '8');
                for (final int tag : new int[] {37, CL_ORD_ID, 17}) report.addField(tag).set(order.valueOf(CL_ORD_ID));
                report.addField(150).setChar('0');
                report.addField(39).setChar('0');
                for (final int tag : SAME) report.addField(tag).set(order.valueOf(tag));
                report.addField(151).setInt(100);
                report.addField(14).setInt(0);
                report.addField(6).setInt(0);
                connection.send(report);
            }

            @Override
            public void logon(FIXConnection from, FIXMessage message) throws IOException {
                from.sendLogon(false);
            }

            @Override
            public void logout(FIXConnection from, FIXMessage message) throws IOException {
                from.sendLogout();
                connected = false;
            }

            @Override
            public void close(FIXConnection from, String why) {
                connected = false;
            }

            @Override
            public void sequenceReset(FIXConnection from) {}

            @Override
            public void tooLowMsgSeqNum(FIXConnection from, long received, long expected) {
                connected = false;
            }

            @Override
            public void reject(FIXConnection from, FIXMessage message) {
                connected = false;
            }
        }
    }

    /** Runs on its own threads. */
    private static final class House implements Application {
        static SocketAcceptor start(int port) throws Exception {
            final SessionID id = new SessionID("FIX.4.4", "HOUSE", "DESK");
            final SessionSettings settings = new SessionSettings();
            settings.setString("ConnectionType", "acceptor");
            settings.setString("StartTime", "00:00:00");
            settings.setString("EndTime", "00:00:00");
            settings.setString("HeartBtInt", "30");
            settings.setString("UseDataDictionary", "N");
            settings.setString("ResetOnLogon", "Y");
            settings.setString("SocketTcpNoDelay", "Y");
            settings.setString("SocketReuseAddress", "Y");
            settings.setString("SocketAcceptAddress", "127.0.0.1");
            settings.setString("SocketAcceptPort", Integer.toString(port));
            settings.setString(id, "BeginString", id.getBeginString());
            settings.setString(id, "SenderCompID", id.getSenderCompID());
            settings.setString(id, "TargetCompID", id.getTargetCompID());
            final SocketAcceptor acceptor = new SocketAcceptor(
                    new House(), new MemoryStoreFactory(), settings, session -> new Silence(), new DefaultMessageFactory());
            acceptor.start();
            return acceptor;
        }

        @Override
        public void fromApp(Message order, SessionID id) throws FieldNotFound {
            if (!order.getHeader().getString(35).equals("D")) return;
            final Message report = new Message();
            report.getHeader().setString(35, "8");
            final String number = order.getString(CL_ORD_ID);
            for (final int tag : new int[] {37, CL_ORD_ID, 17}) report.setString(tag, number);
            report.setString(150, "0");
            report.setString(39, "0");
            for (final int tag : SAME) report.setString(tag, order.getString(tag));
            report.setString(151, "100");
            report.setString(14, "0");
            report.setString(6, "0");
            try {
                Session.sendToTarget(report, id);
            } catch (SessionNotFound failure) {
                throw new IllegalStateException(failure);
            }
        }

        @Override
        public void onCreate(SessionID id) {}

        @Override
        public void onLogon(SessionID id) {}

        @Override
        public void onLogout(SessionID id) {}

        @Override
        public void toAdmin(Message message, SessionID id) {}

        @Override
        public void fromAdmin(Message message, SessionID id) {}

        @Override
        public void toApp(Message message, SessionID id) throws DoNotSend {}
    }

    private static final class Silence implements Log {
        @Override
        public void clear() {}

        @Override
        public void onIncoming(String message) {}

        @Override
        public void onOutgoing(String message) {}

        @Override
        public void onEvent(String text) {}

        @Override
        public void onErrorEvent(String text) {}
    }

    private static void start(String kind, int port) throws Exception {
        if (kind.equals("quickfixj")) {
            House.start(port);
            return;
        }
        final Philadelphia peer = new Philadelphia(port, kind.equals("philadelphia-spinning"));
        final Thread thread = new Thread(() -> {
            try {
                peer.serve();
            } catch (IOException failure) {
                throw new IllegalStateException(failure);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] words) throws Exception {
        start(words[0], Integer.parseInt(words[1]));
        System.out.println("ready 1");
        final BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null && !line.equals("end"); ) line = asked.readLine();
        System.exit(0);
    }
}
