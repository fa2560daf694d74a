package peer

// Organizations returns the number of organizations about which d knows something.
func (d *Destinations) Organizations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.organizations)
}
