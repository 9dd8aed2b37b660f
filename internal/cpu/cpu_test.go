package cpu

import (
	"runtime"
	"testing"
	"time"
)

func TestCyclesAdvance(t *testing.T) {
	c := Cycles()
	time.Sleep(10 * time.Millisecond)
	if d := Duration(Cycles() - c); d < 5*time.Millisecond || d > 5*time.Second {
		t.Errorf("10 ms measured as %v", d)
	}
}

func TestPin(t *testing.T) {
	cores, err := Allowed()
	if err != nil || len(cores) == 0 {
		t.Fatalf("Allowed: %v, %v", cores, err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- Pin(cores[len(cores)-1])
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if Pin(1<<20) == nil {
		t.Error("pinned to a core that does not exist")
	}
}
