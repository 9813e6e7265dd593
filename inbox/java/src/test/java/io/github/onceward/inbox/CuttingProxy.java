package io.github.onceward.inbox;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;

/** A TCP proxy before PostgreSQL, which cuts connections at their COMMIT. */
public final class CuttingProxy implements AutoCloseable {
    private final ServerSocket listener;
    private final PGSimpleDataSource target;
    private final AtomicInteger skip; // COMMITs that pass first
    private final AtomicInteger cuts; // COMMITs that are cut then
    private final boolean forwards; // whether the server gets the COMMIT before the cut

    public CuttingProxy(PGSimpleDataSource target, int skip, int cuts, boolean forwards)
            throws IOException {
        this.target = target;
        this.skip = new AtomicInteger(skip);
        this.cuts = new AtomicInteger(cuts);
        this.forwards = forwards;
        listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        daemon(() -> {
            while (true) {
                serve(listener.accept());
            }
        });
    }

    public DataSource source() {
        PGSimpleDataSource source = Database.source();
        source.setServerNames(new String[] {listener.getInetAddress().getHostAddress()});
        source.setPortNumbers(new int[] {listener.getLocalPort()});
        source.setSslMode("disable");
        source.setGssEncMode("disable");
        return source;
    }

    /** How many cuts are still to come. */
    public int left() {
        return cuts.get();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private void serve(Socket client) throws IOException {
        Socket server = new Socket(target.getServerNames()[0], target.getPortNumbers()[0]);
        AtomicBoolean cut = new AtomicBoolean();
        daemon(() -> {
            byte[] buffer = new byte[8192];
            InputStream in = client.getInputStream();
            try (client; server) {
                for (int n; (n = in.read(buffer)) >= 0;) {
                    String sent = new String(buffer, 0, n, StandardCharsets.ISO_8859_1);
                    cut.set(sent.contains("COMMIT\0") && skip.getAndDecrement() <= 0
                        && cuts.getAndDecrement() > 0);
                    if (cut.get() && !forwards) {
                        return;
                    }
                    server.getOutputStream().write(buffer, 0, n);
                }
            }
        });
        daemon(() -> {
            byte[] buffer = new byte[8192];
            InputStream in = server.getInputStream();
            try (client; server) {
                // The answer to a COMMIT that is cut says that it has happened, and is dropped.
                for (int n; (n = in.read(buffer)) >= 0 && !cut.get();) {
                    client.getOutputStream().write(buffer, 0, n);
                }
            }
        });
    }

    private interface Loop {
        void run() throws IOException;
    }

    private static void daemon(Loop loop) {
        Thread thread = new Thread(() -> {
            try {
                loop.run();
            } catch (IOException error) {
                // The other side is gone, or the test has ended.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
