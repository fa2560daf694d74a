package catalog

// maxEventText is how many bytes the texts of an event may have together. MongoDB refuses a document above 16 MiB, and the
// document also has copies of some texts and the messages that wait for Kafka.
const maxEventText = 8 << 20

// textSize returns how many bytes the texts of the event have.
func (e *Event) textSize() int {
	size := len(e.Title) + len(e.Description.Text) + len(e.Impact.Text) + len(e.Coordinator.Text)
	for i := range e.Timeline {
		size += len(e.Timeline[i].Message.Text)
	}
	for i := range e.Notes {
		size += len(e.Notes[i].Text)
	}
	if p := e.PostMortem; p != nil {
		for _, text := range p.texts() {
			if text.value != nil {
				size += len(text.value.Text)
			}
		}
		for _, item := range p.ActionItems {
			size += len(item.Text)
		}
	}
	return size
}
