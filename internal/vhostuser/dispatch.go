package vhostuser

// handler is how one message is obeyed.
type handler struct {
	size    int    // exact length of the payload, -1 if do checks it
	fds     int    // exact number of descriptors, -1 if do checks it
	replies bool   // answered by definition, whatever the flags say
	needs   uint64 // protocol features without which it is not known
	do      func(*Session, *Message) error
}

// check finds whether the message has the right form.
func (h *handler) check(m *Message, fds int) error {
	if h.size >= 0 && len(m.Payload) != h.size {
		return protocolErrorf("%v: payload of %d bytes, want %d", m.Request, len(m.Payload), h.size)
	}
	if h.fds >= 0 && fds != h.fds {
		return protocolErrorf("%v: %d file descriptors, want %d", m.Request, fds, h.fds)
	}
	return nil
}

var handlers map[Request]*handler

func init() {
	handlers = map[Request]*handler{
		GetFeatures:         {replies: true, do: (*Session).getFeatures},
		SetFeatures:         {size: 8, do: (*Session).setFeatures},
		SetOwner:            {do: (*Session).nothing},
		ResetOwner:          {do: (*Session).nothing},
		SetMemTable:         {size: -1, fds: -1, do: (*Session).setMemTable},
		SetLogBase:          {size: logAreaSize, fds: -1, replies: true, needs: ProtoLogSHMFD, do: (*Session).setLogBase},
		SetLogFD:            {fds: 1, do: (*Session).setLogFD},
		SetVringNum:         {size: vringStateSize, do: (*Session).setVringNum},
		SetVringAddr:        {size: vringAddrSize, do: (*Session).setVringAddr},
		SetVringBase:        {size: vringStateSize, do: (*Session).setVringBase},
		GetVringBase:        {size: vringStateSize, replies: true, do: (*Session).getVringBase},
		SetVringKick:        {size: 8, fds: -1, do: (*Session).setVringKick},
		SetVringCall:        {size: 8, fds: -1, do: (*Session).setVringCall},
		SetVringErr:         {size: 8, fds: -1, do: (*Session).setVringErr},
		GetProtocolFeatures: {replies: true, do: (*Session).getProtocolFeatures},
		SetProtocolFeatures: {size: 8, do: (*Session).setProtocolFeatures},
		GetQueueNum:         {replies: true, needs: 0, do: (*Session).getQueueNum},
		SetVringEnable:      {size: vringStateSize, do: (*Session).setVringEnable},
		SendRARP:            {size: 8, needs: ProtoRARP, do: (*Session).sendRARP},
		NetSetMTU:           {size: 8, needs: ProtoMTU, do: (*Session).netSetMTU},
		SetBackendReqFD:     {fds: 1, needs: ProtoBackendReq, do: (*Session).setBackendReqFD},
		IOTLBMessage:        {size: iotlbMsgSize, needs: ProtoBackendReq, do: (*Session).iotlb},
		PostcopyAdvise:      {replies: true, needs: ProtoPageFault, do: (*Session).postcopyAdvise},
		PostcopyListen:      {needs: ProtoPageFault, do: (*Session).postcopyListen},
		PostcopyEnd:         {replies: true, needs: ProtoPageFault, do: (*Session).postcopyEnd},
		GetConfig:           {size: -1, replies: true, needs: ProtoConfig, do: (*Session).getConfig},
		SetConfig:           {size: -1, needs: ProtoConfig, do: (*Session).setConfig},
		GetInflightFD:       {size: -1, replies: true, needs: ProtoInflightSHMFD, do: (*Session).getInflightFD},
		SetInflightFD:       {size: -1, fds: 1, needs: ProtoInflightSHMFD, do: (*Session).setInflightFD},
		ResetDevice:         {needs: ProtoResetDevice, do: (*Session).resetDevice},
		GetMaxMemSlots:      {replies: true, needs: ProtoConfigureMemSlots, do: (*Session).getMaxMemSlots},
		AddMemReg:           {size: -1, fds: -1, needs: ProtoConfigureMemSlots, do: (*Session).addMemReg},
		RemMemReg:           {size: memRegSize, fds: -1, needs: ProtoConfigureMemSlots, do: (*Session).remMemReg},
		SetStatus:           {size: 8, needs: ProtoStatus, do: (*Session).setStatus},
		GetStatus:           {replies: true, needs: ProtoStatus, do: (*Session).getStatus},
	}
}
