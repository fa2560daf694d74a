// standardwebhooks: the reference library of the Standard Webhooks project. It verifies the requests of Bellbuoy to an
// endpoint, and signs requests to /public/webhooks/inbound.
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

const inbound = '/app/integrations/webhooks/inbound';
const alarm = { action: 'trigger', externalId: 'standard-webhooks', title: 'The server is on fire' };
let key;

// ingest signs the alarm with the library, lets change modify the signed request, and sends it.
async function ingest(id, at, change = () => {}) {
  const body = JSON.stringify({ ...alarm, components: [component] });
  const request = {
    method: 'POST', body,
    headers: {
      'Content-Type': 'application/json', 'webhook-key-id': key.keyId, 'webhook-id': id,
      'webhook-timestamp': Math.floor(at / 1000), 'webhook-signature': new Webhook(key.secret).sign(id, at, body),
    },
  };
  change(request);
  const response = await fetch(`${credentials.baseUrl}/public/webhooks/inbound`, request);
  const text = await response.text();
  return { status: response.status, body: text && JSON.parse(text) };
}

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
  'the inbound webhook accepts what the library signs': async () => {
    ({ key } = await call('POST', `${inbound}/keys`, { name: 'standardwebhooks' }));
    const opened = await ingest('first', new Date());
    assert.deepEqual([opened.status, opened.body.result, opened.body.duplicate], [200, 'created', false]);
    const repeated = await ingest('first', new Date());
    assert.deepEqual(repeated, { status: 200, body: { ...opened.body, duplicate: true } });
    const { event } = await call('GET', `/app/events/${opened.body.eventId}`);
    assert.deepEqual([event.title, event.source], [alarm.title, 'inbound']);
  },
  'the inbound webhook refuses what is old, early or changed': async () => {
    const at = (seconds) => new Date(Date.now() + seconds * 1000);
    assert.equal((await ingest('in-time', at(-290))).status, 200);
    for (const [what, refused] of Object.entries({
      old: await ingest('old', at(-310)),
      early: await ingest('early', at(310)),
      body: await ingest('body', at(0), (request) => { request.body = request.body.replace('on fire', 'on ice'); }),
      id: await ingest('id', at(0), (request) => { request.headers['webhook-id'] = 'other'; }),
      time: await ingest('time', at(0), (request) => { request.headers['webhook-timestamp'] -= 1; }),
      key: await ingest('key', at(0), (request) => { request.headers['webhook-key-id'] = component; }),
    })) {
      assert.deepEqual(refused, { status: 403, body: '' }, what);
    }
  },
});
