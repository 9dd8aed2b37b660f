package rules

import "fmt"

// Error says why a change was refused.
type Error struct {
	Index  int // of the flow mod, from 0; -1 for groups and meters
	Reason Reason
	Text   string // what exactly
}

// Reason is a kind of refusal (OpenFlow 1.3, section 7.4.4).
type Reason uint8

// The reasons.
const (
	BadTable     Reason = iota // OFPFMFC_BAD_TABLE_ID
	TableFull                  // OFPFMFC_TABLE_FULL
	Overlap                    // OFPFMFC_OVERLAP
	UnknownGroup               // OFPBAC_BAD_OUT_GROUP, OFPGMFC_UNKNOWN_GROUP
	UnknownMeter               // OFPMMFC_UNKNOWN_METER
	BadActions                 // OFPBAC_...
	GroupExists                // OFPGMFC_GROUP_EXISTS
	MeterExists                // OFPMMFC_METER_EXISTS
	GroupInvalid               // OFPGMFC_INVALID_GROUP, OFPGMFC_UNKNOWN_BUCKET, OFPGMFC_BUCKET_EXISTS
	GroupLoop                  // OFPGMFC_LOOP
	MeterInvalid               // OFPMMFC_INVALID_METER, OFPMMFC_BAD_BAND...
	LimitReached               // of Options.Limit
)

// Error names the flow mod by its number, from 1.
func (e *Error) Error() string {
	if e.Index < 0 {
		return e.Text
	}
	return fmt.Sprintf("flow %d: %s", e.Index+1, e.Text)
}

func refuse(r Reason, format string, args ...any) *Error {
	return &Error{Index: -1, Reason: r, Text: fmt.Sprintf(format, args...)}
}
