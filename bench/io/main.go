// Command io moves frames between the queues of gvswitch's devices and does nothing else, as testpmd does with DPDK's: what the
// device side or the driver side of virtio cost by themselves. It is part of the benchmark (package bench), which tells it by
//
//	io [-secs S] [-warm S] [-size N] [-cpus 0,0] ROLE=TYPE:OPTION=VALUE[,OPTION=VALUE...] [ROLE=...]
//
// TYPE is dpdkvhostuser, dpdkvhostuserclient or virtio-user. The roles:
//
//	send     frames as fast as they are taken
//	receive  frames, and count them
//	both     of these
//	reflect  what comes
//	kick     reflect, after some frames were sent, which go round and round
//	forward  what comes to the other port, which must have this role too
//
// A thread on each of the CPUs serves the queues whose number is its own modulo the number of threads. When measuring begins, warm
// seconds after frames began to move, a line "measuring" is printed, and at the end one line of JSON.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

func main() {
	debug.SetGCPercent(-1)
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "io:", err)
		os.Exit(1)
	}
}

func run() error {
	secs := flag.Float64("secs", 3, "seconds to measure")
	warm := flag.Float64("warm", 1, "seconds before that")
	size := flag.Int("size", 64, "bytes of frames that are sent")
	cpus := flag.String("cpus", "0", "a thread on each of these CPUs")
	flag.Parse()
	s := &set{size: *size}
	defer s.close()
	for i, arg := range flag.Args() {
		if err := s.open(i, arg); err != nil {
			return err
		}
	}
	if len(s.ports) == 0 || len(s.ports) > 2 {
		return errors.New("one or two ports are needed")
	}
	if *size < 60 || *size > maxSize {
		return fmt.Errorf("-size %d: want 60 to %d", *size, maxSize)
	}
	for _, word := range strings.Split(*cpus, ",") {
		core, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("-cpus: %w", err)
		}
		s.threads = append(s.threads, &thread{set: s, core: core, number: len(s.threads)})
	}
	return s.measure(seconds(*warm), seconds(*secs))
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// patience is how long frames may take to begin to move.
const patience = 15 * time.Second

func (s *set) measure(warm, secs time.Duration) error {
	if err := s.start(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); s.sent.Load()+s.received.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("no frames move: " + s.faults())
		}
	}
	time.Sleep(warm)
	fmt.Println("measuring")
	sent, received, begin := s.sent.Load(), s.received.Load(), time.Now()
	time.Sleep(secs)
	sent, received = s.sent.Load()-sent, s.received.Load()-received
	took := time.Since(begin).Seconds()
	s.stop()
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{"seconds": took, "sent": float64(sent), "received": float64(received)})
}
