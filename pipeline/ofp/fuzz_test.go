package ofp

import "testing"

// FuzzParseFlow has every text be refused or, printed, read as the same flow again.
func FuzzParseFlow(f *testing.F) {
	for _, name := range []string{"flows.txt", "refused.txt"} {
		for _, line := range lines(f, name) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, cmd := range []Command{Add, Modify, Delete} {
			m, err := ParseFlow(text, names{}, cmd)
			if err != nil {
				continue
			}
			if cmd != Add {
				continue
			}
			once := string(m.Flow.Append(nil, nil))
			again, err := ParseFlow(once, nil, Add)
			if err != nil {
				t.Fatalf("%q was printed as %q, and that is refused: %v", text, once, err)
			}
			if twice := string(again.Flow.Append(nil, nil)); twice != once || again.Flow.Match != m.Flow.Match {
				t.Fatalf("%q was printed as %q, and that as %q", text, once, twice)
			}
		}
	})
}

// FuzzParseGroup does the same with groups and meters.
func FuzzParseGroup(f *testing.F) {
	for _, name := range []string{"groups.txt", "groups_refused.txt"} {
		for _, line := range lines(f, name) {
			f.Add(line)
		}
	}
	f.Add("meter=5 pktps burst stats bands=type=drop rate=10 burst_size=20")
	f.Add("group_id=1,command_bucket_id=5,bucket=bucket_id:9,weight:3,output:1,bucket=output:2")
	f.Fuzz(func(t *testing.T, text string) {
		for cmd := GroupModify; cmd <= GroupAddOrModify; cmd++ {
			_, _ = ParseGroupMod(text, names{}, cmd)
		}
		if m, err := ParseMeter(text); err == nil {
			once := string(m.Append(nil))
			if again, err := ParseMeter(once); err != nil || string(again.Append(nil)) != once {
				t.Fatalf("%q was printed as %q, and that is %v", text, once, err)
			}
		}
		g, err := ParseGroup(text, nil)
		if err != nil {
			return
		}
		once := string(g.Append(nil, nil))
		again, err := ParseGroup(once, nil)
		if err != nil {
			t.Fatalf("%q was printed as %q, and that is refused: %v", text, once, err)
		}
		if twice := string(again.Append(nil, nil)); twice != once {
			t.Fatalf("%q was printed as %q, and that as %q", text, once, twice)
		}
	})
}
