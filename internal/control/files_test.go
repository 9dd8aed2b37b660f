package control

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// A command gets the file that came with it, and writes to it while it runs; what nobody takes is closed.
func TestFiles(t *testing.T) {
	dir, s, _ := start(t)
	s.Register("stream", "N", 1, 1, func(ctx context.Context, args []string) (string, error) {
		f, err := TakeFile(ctx)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprint(f, strings.Repeat("x", len(args[0])))
		return "written", err
	})
	c, err := Dial(t.Context(), Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.CallFile(t.Context(), w, "stream", "abc")
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		if got, err := io.ReadAll(r); err != nil || string(got) != "xxx" || text != "written\n" {
			t.Errorf("got %q, %q, %v", got, text, err)
		}
		_ = r.Close()
	}
	if _, err := c.Call(t.Context(), "stream", "a"); err == nil || !strings.Contains(err.Error(), "passed no file") {
		t.Errorf("without a file: %v", err)
	}
}

// Files are bounded, and closed with their connection.
func TestFilesLeft(t *testing.T) {
	dir, _, _ := start(t)
	c, err := Dial(t.Context(), Socket(dir))
	if err != nil {
		t.Fatal(err)
	}
	var readers []*os.File
	for range 2 * maxFiles {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallFile(t.Context(), w, "echo-args"); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		readers = append(readers, r)
	}
	_ = c.Close()
	for i, r := range readers { // each ends when no copy of its other end is left
		_ = r.SetReadDeadline(time.Now().Add(5 * time.Second))
		if b, err := io.ReadAll(r); err != nil || len(b) != 0 {
			t.Errorf("file %d: %q, %v", i, b, err)
		}
		_ = r.Close()
	}
}
