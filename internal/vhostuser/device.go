package vhostuser

// RunState is what the device does with a vring.
type RunState uint8

// The run states. A vring that its guest transmits on and that is started but not
// enabled must be emptied all the same ("Ring states" in the specification): a guest that
// gives up a queue pair has frames in it. Without several pairs nobody does that, and a disabled
// ring is left alone: User Mode Linux disables rings and then frees their memory,
// without stopping them. One that the guest receives on simply gets nothing.
const (
	Stopped    RunState = iota // nobody touches it
	Discarding                 // what the guest transmits is thrown away
	Running
)

var runStateNames = [...]string{"stopped", "discarding", "running"}

// String is the state's name.
func (s RunState) String() string { return runStateNames[s] }

// RingStart asks a device to serve a vring.
type RingStart struct {
	Index    int
	State    RunState // Discarding or Running
	Control  bool     // it is the control queue
	Vring    Vring
	Features uint64 // acknowledged by the guest
}

// Device is what a session asks of the device around it, in this order and at
// this moment; each call returns when it is done. An error refuses the message.
type Device interface {
	// Start serves rings. It gives an error for each one that cannot be served,
	// or nil. The rings' memory is mapped, their descriptors are open and stay so
	// until after Stop.
	Start(rings []RingStart) []error
	// Stop ends serving rings and returns, for each, the available index that
	// would have come next. Nobody touches the rings or the memory of their
	// buffers any more, if no other ring is served.
	Stop(rings []int) []uint32
	// Map makes regions accessible, all or none. The descriptors stay the
	// session's.
	Map(regions []Region) error
	// Unmap ends that; no ring is served.
	Unmap(regions []Region)
	// SetLog replaces the log of dirty pages, which rings that are started from now on
	// mark what they write in; with all, everything in the guest's memory is marked at once. No ring
	// that marks is served. Size 0 means none. With an error the old one stays. The descriptor stays the session's.
	SetLog(l LogArea, all bool) error
	// NewInflight makes a file of n zero bytes for SetInflight. The descriptor is closed when
	// it has been sent.
	NewInflight(n uint64) (fd int, err error)
	// SetInflight replaces the table in which rings that are started from now on keep what
	// they have taken, and by which they find out where one that crashed was. No ring is served. Size 0
	// means none. With an error the old one stays. The descriptor stays the session's.
	SetInflight(a InflightArea) error
	// ForgetInflight: where a vring stands is the front end's to say, when it starts next.
	ForgetInflight(vring int)
	// Redirect lets descriptor old, which a ring uses, refer to what replacement
	// refers to, and consumes replacement.
	Redirect(old, replacement int)
	// IOTLB obeys an update or an invalidation of the guest's IOMMU; with
	// FeatureAccessPlatform the addresses of rings are translated by those. When it returns, nobody
	// uses what was invalidated, and rings that miss their parts wait for an update.
	IOTLB(m IOTLBMsg) error
	// PostcopyAdvise prepares for memory that is not there yet, and gives a userfaultfd for the front end; the
	// descriptor is for the reply.
	PostcopyAdvise() (fd int, err error)
	// PostcopyListen begins it. Nothing is mapped.
	PostcopyListen()
	// PostcopyMap says where regions, which Map was called with, are for the userfaultfd.
	PostcopyMap(regions []Region) (at []uint64, err error)
	// PostcopyReady lets regions of PostcopyMap be used: the front end brings what is missed.
	PostcopyReady() error
	// PostcopyEnd ends what PostcopyAdvise began. No ring is served.
	PostcopyEnd()
	// Channel is the way to send messages to the front end, or -1 when there is none any more.
	// The device owns it.
	Channel(fd int)
	// ResetControl forgets all that was set by the control queue.
	ResetControl()
	// Config is the configuration space.
	Config() []byte
	// SetMTU tells the MTU that the guest was given.
	SetMTU(mtu uint16)
	// SendRARP announces mac to the network, on behalf of a guest that moved here.
	SendRARP(mac [6]byte)
	// Close closes a descriptor.
	Close(fd int)
	// Note tells people that a message was not obeyed.
	Note(err error)
}
