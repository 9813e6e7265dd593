package main

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// fate is what becomes of the next message of a client, which is its COMMIT.
type fate int32

const (
	passes fate = iota
	// The message never reaches the server.
	isLost
	// The server answers, and the answer never reaches the client.
	losesAnswer
	// The client's connection ends, and the server gets the message some time after that.
	comesLate
)

// proxy passes connections on to PostgreSQL and cuts them at their COMMIT.
type proxy struct {
	listener         net.Listener
	network, address string
	mutex            sync.Mutex
	links            map[string]*link
	cuts             atomic.Int64
}

type link struct {
	client, server net.Conn
	fate           atomic.Int32
	// The server's next bytes end the link and are not passed on.
	deaf atomic.Bool
}

func newProxy(network, address string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, network: network, address: address, links: map[string]*link{}}
	go p.accept()
	return p, nil
}

func (p *proxy) port() uint16 { return uint16(p.listener.Addr().(*net.TCPAddr).Port) }
func (p *proxy) close()       { p.listener.Close() }

// meet arms the connection that a client made from this address.
func (p *proxy) meet(address string, what fate) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known := p.links[address]; known != nil {
		known.fate.Store(int32(what))
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			client.Close()
			continue
		}
		made := &link{client: client, server: server}
		address := client.RemoteAddr().String()
		p.mutex.Lock()
		p.links[address] = made
		p.mutex.Unlock()
		go made.toClient()
		go func() {
			p.toServer(made)
			p.mutex.Lock()
			if p.links[address] == made {
				delete(p.links, address)
			}
			p.mutex.Unlock()
		}()
	}
}

func (p *proxy) toServer(l *link) {
	buffer := make([]byte, 1<<16)
	for {
		count, err := l.client.Read(buffer)
		if err != nil {
			break
		}
		switch fate(l.fate.Swap(int32(passes))) {
		case passes:
			if _, err = l.server.Write(buffer[:count]); err == nil {
				continue
			}
		case isLost:
			p.cuts.Add(1)
		case losesAnswer:
			p.cuts.Add(1)
			l.deaf.Store(true)
			l.server.Write(buffer[:count])
			return // toClient ends both when the answer is there
		case comesLate:
			p.cuts.Add(1)
			l.deaf.Store(true)
			l.client.Close()
			time.Sleep(rand.N(50 * time.Millisecond))
			l.server.Write(buffer[:count])
			return
		}
		break
	}
	l.client.Close()
	l.server.Close()
}

func (l *link) toClient() {
	defer l.server.Close()
	defer l.client.Close()
	buffer := make([]byte, 1<<16)
	for {
		count, err := l.server.Read(buffer)
		if err != nil || l.deaf.Load() {
			return
		}
		if _, err = l.client.Write(buffer[:count]); err != nil {
			return
		}
	}
}
