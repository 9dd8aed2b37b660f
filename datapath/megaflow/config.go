package megaflow

import "errors"

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
	CacheAuto  CacheMode = iota
	CacheOff             // nothing
	CacheSmall           // a signature cache of the smallest size
	CacheLarge           // one of Config.CacheSlots
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

// Errors of New and Insert.
var (
	ErrExists = errors.New("a megaflow with this key and mask exists")
	ErrLimit  = errors.New("the limit of megaflows is reached")
	ErrMemory = errors.New("no memory for megaflows")
)
