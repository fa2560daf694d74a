package api

import _ "embed"

// The bodies of the pages.
var (
	//go:embed pages/form.html
	formPage string
	//go:embed pages/verify.html
	verifyPage string
	//go:embed pages/verified.html
	verifiedPage string
	//go:embed pages/manage.html
	managePage string
	//go:embed pages/unsubscribe.html
	unsubscribePage string
)
