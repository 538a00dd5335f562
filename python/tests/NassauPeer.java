import com.paritytrading.nassau.binaryfile.BinaryFILEReader;
import com.paritytrading.nassau.soupbintcp.SoupBinTCP;
import com.paritytrading.nassau.soupbintcp.SoupBinTCPClient;
import com.paritytrading.nassau.soupbintcp.SoupBinTCPClientStatusListener;
import com.paritytrading.nassau.soupbintcp.SoupBinTCPServer;
import com.paritytrading.nassau.soupbintcp.SoupBinTCPServerStatusListener;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * SoupBinTCP by nassau-core.
 *
 * <p>client PORT FIRST LAST: prints messages FIRST to LAST of the active session in hexadecimal digits. server SESSION FILE: prints its
 * port, then user, password and requested number of its client, and sends it the messages of the file, each after its
 * length in two bytes.
 */
public final class NassauPeer {
    private static final int LONGEST = 1024;

    private static byte[] copy(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static void runClient(int port, long first, long last) throws IOException {
        SocketChannel channel = SocketChannel.open(new InetSocketAddress("127.0.0.1", port));
        List<byte[]> messages = new ArrayList<>();
        SoupBinTCPClient client =
                new SoupBinTCPClient(channel, LONGEST, buffer -> messages.add(copy(buffer)), new SoupBinTCPClientStatusListener() {
                    @Override
                    public void heartbeatTimeout(SoupBinTCPClient client) throws IOException {
                        throw new IOException("no heartbeat");
                    }

                    @Override
                    public void loginAccepted(SoupBinTCPClient client, SoupBinTCP.LoginAccepted accepted) throws IOException {
                        if (accepted.getSequenceNumber() != first)
                            throw new IOException("accepted for " + accepted.getSession() + " " + accepted.getSequenceNumber());
                    }

                    @Override
                    public void loginRejected(SoupBinTCPClient client, SoupBinTCP.LoginRejected rejected) throws IOException {
                        throw new IOException("rejected");
                    }

                    @Override
                    public void endOfSession(SoupBinTCPClient client) {}
                });
        SoupBinTCP.LoginRequest request = new SoupBinTCP.LoginRequest();
        request.setUsername("USER");
        request.setPassword("secret");
        request.setRequestedSession("");
        request.setRequestedSequenceNumber(first);
        client.login(request);
        while (messages.size() < last - first + 1) {
            if (client.receive() < 0) throw new IOException("closed after " + messages.size() + " messages");
        }
        client.logout();
        client.close();
        for (byte[] message : messages) System.out.println(HexFormat.of().formatHex(message));
    }

    private static void runServer(String session, File file) throws IOException {
        List<byte[]> messages = new ArrayList<>();
        try (BinaryFILEReader reader = BinaryFILEReader.open(file, buffer -> messages.add(copy(buffer)))) {
            while (reader.read() >= 0) {}
        }
        ServerSocketChannel listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress("127.0.0.1", 0));
        System.out.println(((InetSocketAddress) listener.getLocalAddress()).getPort());
        SoupBinTCPServer server =
                new SoupBinTCPServer(listener.accept(), LONGEST, buffer -> {}, new SoupBinTCPServerStatusListener() {
                    @Override
                    public void heartbeatTimeout(SoupBinTCPServer server) throws IOException {
                        throw new IOException("no heartbeat");
                    }

                    @Override
                    public void loginRequest(SoupBinTCPServer server, SoupBinTCP.LoginRequest request) throws IOException {
                        System.out.println(request.getUsername().trim() + " " + request.getPassword().trim() + " "
                                + request.getRequestedSequenceNumber());
                        SoupBinTCP.LoginAccepted accepted = new SoupBinTCP.LoginAccepted();
                        accepted.setSession(session);
                        accepted.setSequenceNumber(request.getRequestedSequenceNumber());
                        server.accept(accepted);
                        for (int i = (int) request.getRequestedSequenceNumber() - 1; i < messages.size(); i++)
                            server.send(ByteBuffer.wrap(messages.get(i)));
                    }

                    @Override
                    public void logoutRequest(SoupBinTCPServer server) {}
                });
        server.getChannel().configureBlocking(false);
        while (server.receive() >= 0) server.keepAlive();
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments[0].equals("client"))
            runClient(Integer.parseInt(arguments[1]), Long.parseLong(arguments[2]), Long.parseLong(arguments[3]));
        else runServer(arguments[1], new File(arguments[2]));
    }
}
