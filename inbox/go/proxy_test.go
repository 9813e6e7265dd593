package inbox_test

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// proxy passes bytes between pgx and PostgreSQL. It cuts connections at their COMMIT.
type proxy struct {
	address string
	// How many more COMMITs lose their answer, after PostgreSQL gave it, and how many do not reach
	// PostgreSQL at all.
	loseAnswers, loseCommits, commits atomic.Int32
}

func newProxy(t *testing.T) *proxy { return newProxyTo(t, dsn(t)) }

func newProxyTo(t *testing.T, dsn string) *proxy {
	t.Helper()
	target, err := pgxpool.ParseConfig(dsn)
	require(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require(t, err)
	p := &proxy{address: listener.Addr().String()}
	t.Cleanup(func() { listener.Close() })
	port := strconv.Itoa(int(target.ConnConfig.Port))
	network, address := "tcp", net.JoinHostPort(target.ConnConfig.Host, port)
	if target.ConnConfig.Host[0] == '/' {
		network, address = "unix", target.ConnConfig.Host+"/.s.PGSQL."+port
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				client.Close()
				continue
			}
			go p.pass(client, server)
		}
	}()
	return p
}

func take(from *atomic.Int32) bool {
	for {
		left := from.Load()
		if left <= 0 {
			return false
		}
		if from.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

func (p *proxy) pass(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	var mute atomic.Bool // the server's next answer is read and thrown away
	go func() {
		defer client.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil || mute.Load() {
				return
			}
			if _, err = client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte("commit\x00")) {
			p.commits.Add(1)
			if take(&p.loseCommits) {
				return
			}
			if take(&p.loseAnswers) {
				mute.Store(true)
			}
		}
		if _, err = server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// pool opens a pool whose connections go through the proxy.
func (p *proxy) pool(t *testing.T, config ...func(*pgxpool.Config)) *pgxpool.Pool {
	return openPool(t, append(config, func(config *pgxpool.Config) {
		config.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
		}
	})...)
}
