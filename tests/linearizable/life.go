package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// life is a process that is killed by SIGKILL and started again.
type life struct {
	command []string
	dsn     string
	log     *os.File
	// Says whether the process is ready; nil: it is at once.
	ready func() bool
}

// start starts the process and waits until it is ready.
func (l *life) start() (*exec.Cmd, error) {
	process := exec.Command(l.command[0], l.command[1:]...)
	process.Env = append(os.Environ(), "ONCEWARD_JUDGE_DSN="+l.dsn)
	process.Stdout, process.Stderr = l.log, l.log
	// It does not outlive this program, nor the thread of run, which starts it.
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return nil, err
	}
	for range 3000 {
		if l.ready == nil || l.ready() {
			return process, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	process.Process.Kill()
	process.Wait()
	return nil, fmt.Errorf("%s does not start:\n%s", l.command, l.tail())
}

func (l *life) tail() string {
	text, _ := os.ReadFile(l.log.Name())
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-20):], "\n")
}

// run starts the process, and says so to ready the first time. At each word of now it kills the
// process by SIGKILL and starts the next one.
func (l *life) run(stop, now <-chan struct{}, ready *sync.WaitGroup, kills *atomic.Int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := true
	for {
		process, err := l.start()
		if err != nil {
			log.Fatal(err)
		}
		if first {
			first = false
			ready.Done()
		}
		select {
		case <-stop:
		case <-now:
			pause(stop, rand.N(20*time.Millisecond))
		}
		process.Process.Kill()
		process.Wait()
		select {
		case <-stop:
			return
		default:
			kills.Add(1)
		}
	}
}
