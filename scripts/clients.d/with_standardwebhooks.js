// standardwebhooks: the reference library of the Standard Webhooks project. It verifies what Bellbuoy sends to an
// endpoint, and signs what Bellbuoy receives at /public/webhooks/inbound.
//
// BELLBUOY_RECEIVED is the file into which deploy/standalone/receiver --json writes its requests.
'use strict';

const fs = require('node:fs');
const { Webhook } = require('standardwebhooks');
const { assert, credentials, run } = require('./checks.js');

const endpoints = '/app/integrations/webhooks/outbound/endpoints';
const url = 'https://receiver.example/standard/webhooks';

async function call(method, path, body) {
  const response = await fetch(credentials.baseUrl + path, {
    method, body: JSON.stringify(body),
    headers: { Authorization: `Bearer ${credentials.appKey}`, 'Content-Type': 'application/json' },
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

// delivered returns the request whose body contains the text.
async function delivered(text) {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await new Promise((again) => setTimeout(again, 50))) {
    const lines = fs.readFileSync(process.env.BELLBUOY_RECEIVED, 'utf8').split('\n').slice(0, -1);
    const found = lines.find((line) => line.startsWith('{') && line.includes(text));
    if (found) return JSON.parse(found);
  }
  return assert.fail(`no delivery of ${text}`);
}

let component;
let first; // the secret before the rotation
let before; // a delivery before the rotation

const incident = (title) => call('POST', '/app/events', {
  type: 'incident', title, affectedComponents: [{ componentId: component }], notify: { webhook: true },
});
const verify = (secret, { body, headers }) => new Webhook(secret).verify(body, headers);

run('standardwebhooks', {
  'a delivery verifies': async () => {
    ({ components: [{ id: component }] } = await call('GET', '/app/components?limit=1'));
    ({ endpoint: { secret: first } } = await call('POST', endpoints, {
      dashboardId: credentials.dashboardId, url, managementEmail: 'ops@example.com', componentIds: [component],
    }));
    await incident('Standard Webhooks: one');
    before = await delivered('Standard Webhooks: one');
    const payload = verify(first, before);
    assert.equal(payload.id, before.headers['webhook-id']);
    assert.equal(payload.event.title, 'Standard Webhooks: one');
  },
  'a changed delivery does not verify': async () => {
    const signed = before.headers;
    for (const [what, request] of Object.entries({
      body: { headers: signed, body: before.body.replace('one', 'two') },
      id: { headers: { ...signed, 'webhook-id': `${signed['webhook-id']}0` }, body: before.body },
      time: { headers: { ...signed, 'webhook-timestamp': `${Number(signed['webhook-timestamp']) - 1}` }, body: before.body },
    })) {
      assert.throws(() => verify(first, request), /No matching signature/, what);
    }
    assert.throws(() => verify(`whsec_${Buffer.alloc(32, 1).toString('base64')}`, before), /No matching signature/, 'secret');
  },
  'a delivery after a rotation verifies with both secrets': async () => {
    const { endpoints: [{ urlHash }] } = await call('GET', `${endpoints}?limit=1`);
    const { endpoint: { secret: second } } = await call('PATCH', endpoints, { dashboardId: credentials.dashboardId, urlHash, rotateSecret: true });
    assert.notEqual(second, first);
    await incident('Standard Webhooks: rotated');
    const after = await delivered('Standard Webhooks: rotated');
    for (const secret of [first, second]) {
      assert.equal(verify(secret, after).event.title, 'Standard Webhooks: rotated');
    }
    assert.throws(() => verify(second, before), /No matching signature/);
  },
});
