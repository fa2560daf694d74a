package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

func (r resource) testOperation() web.Operation {
	test := r.declared("POST", "/endpoints/test", "test", "Endpoint", "Test an endpoint",
		"Sends an endpoint.test delivery with an example. Its result is logged and does not count as a failure or success. 409 while the endpoint is paused or suppressed.", 202, 404, 409)
	test.Example = web.Example{
		Request: `{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060",
			"urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90"}`,
		Response: `{"deliveryId": "01890a5d-ac96-874b-bcce-b302099a8070"}`,
	}
	return web.Declare(test, web.WithBody(r.test))
}

type testBody struct {
	DashboardID optional.Value[string] `json:"dashboardId" required:"true" format:"uuid"`
	URLHash     optional.Value[string] `json:"urlHash" required:"true" format:"sha256"`
}

type deliveryView struct {
	DeliveryID string `json:"deliveryId" format:"uuid" description:"Of the delivery in the logs."`
}

func (r resource) test(c *web.Call[web.None, testBody], in testBody) (deliveryView, error) {
	id, err := r.endpoints.Test(c, c.Caller.Organization, r.kind, in.DashboardID.Value, in.URLHash.Value)
	return deliveryView{id}, err
}
