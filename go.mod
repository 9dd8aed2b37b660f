module github.com/gvswitch/gvswitch

go 1.26
