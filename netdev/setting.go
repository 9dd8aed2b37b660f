package netdev

// MTURequest is the Key of a SettingError about Options.MTU.
const MTURequest = "mtu_request"

// SettingError is the error of Open or Adjust when one setting that stands by itself is
// refused: without it the device would work as well as before. Whoever asked may ask
// again without it. A setting that says which device is meant, where it is or who may
// use it is never refused by a SettingError.
type SettingError struct {
	Key string // of the options column, or MTURequest
	Err error  // names the setting, the value and the reason
}

// Error implements error.
func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap gives the reason to errors.Is.
func (e *SettingError) Unwrap() error { return e.Err }
