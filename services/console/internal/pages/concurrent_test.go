package pages

import "testing"

func TestAPanicOfAReadIsAnErrorOfThePage(t *testing.T) {
	var work concurrent
	work.Go(func() error { panic("broken record") })
	if err := work.Wait(); err == nil {
		t.Error("a panic is no error")
	}
}
