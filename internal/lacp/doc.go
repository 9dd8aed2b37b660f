// Package lacp is the Link Aggregation Control Protocol (IEEE 802.1AX): which of the links to another
// system may carry the traffic of one aggregate.
//
// It refuses to know packets' ways, devices and time: a Group is told what was received, which links are
// up and what time it is, and says what is to be sent. The standard's receive, periodic, selection and
// mux machines are reduced as Open vSwitch reduces them: one aggregator, no churn detection, no
// marker protocol.
//
// Concurrency: a Group and its ports belong to one goroutine at a time. Times are milliseconds of any clock
// that does not go back.
package lacp
