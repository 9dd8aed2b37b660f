package daemon

import (
	"reflect"
	"strings"
	"time"
	"unicode"
)

// value makes of the datapath's structures what programs are used to: objects whose members are named in_this_way, times in seconds, and no
// trailing zeros in histograms.
func value(v any) any { return convert(reflect.ValueOf(v)) }

func convert(v reflect.Value) any {
	if d, ok := v.Interface().(time.Duration); ok {
		return d.Seconds()
	}
	switch v.Kind() {
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				m[snake(f.Name)] = convert(v.Field(i))
			}
		}
		return m
	case reflect.Array, reflect.Slice:
		n := v.Len()
		for v.Kind() == reflect.Array && n > 0 && v.Index(n-1).IsZero() {
			n--
		}
		list := make([]any, n)
		for i := range list {
			list[i] = convert(v.Index(i))
		}
		return list
	case reflect.Map:
		m := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			m[it.Key().String()] = convert(it.Value())
		}
		return m
	default:
		return v.Interface()
	}
}

// snake turns RxPackets into rx_packets, and NUMA into numa.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, c := range runes {
		starts := unicode.IsUpper(c) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
