package megaflow

import (
	"errors"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/mem"
)

// Ref names a megaflow of a table from Insert to Remove. 0 is none.
type Ref uint32

// Batch is the largest number of keys that one Lookup takes.
const Batch = 32

// Defaults of Config.
const (
	DefaultLimit      = 200_000
	DefaultMasks      = 256
	DefaultCacheSlots = 1 << 21
)

// MaxMasks is the largest value of Config.Masks.
const MaxMasks = 1000

// CacheMode says what is in front of the subtables.
type CacheMode uint8

// The modes. In CacheAuto the table chooses, and thinks it over every 64k packets.
const (
	CacheAuto CacheMode = iota
	CacheOff
	CacheSmall
	CacheLarge
)

// Config is what New needs to know. The zero value is good.
type Config struct {
	// Limit is how many megaflows there may be. 0: DefaultLimit.
	Limit int
	// Masks is how many subtables there may be. 0: DefaultMasks. What comes with
	// another mask is kept as an exact match of its first packet's key.
	Masks int
	// Cache says what is in front of the subtables.
	Cache CacheMode
	// CacheSlots is the largest size of the signature cache, rounded up to a power of two.
	// A slot is 8 bytes. 0: DefaultCacheSlots.
	CacheSlots int
}

// Stats are the statistics of a megaflow. The owner writes them, anybody may read.
type Stats struct {
	Packets mem.Counter
	Bytes   mem.Counter
	// Used is when the last packet came, in the unit and with the zero of the owner's clock; it
	// may wrap.
	Used uint32
	// TCPFlags are the flags of all its packets.
	TCPFlags uint16
	_        uint16
}

// Errors of Insert.
var (
	ErrExists = errors.New("a megaflow with this key and mask exists")
	ErrLimit  = errors.New("the limit of megaflows is reached")
	ErrMemory = errors.New("no memory for megaflows")
)

var _ flow.Key
