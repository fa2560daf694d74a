package stream

// Record is one message of a topic. Records of one key keep their order.
type Record struct {
	Topic   string
	Key     string
	Value   []byte
	Headers map[string]string
}
