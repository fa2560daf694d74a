// ts-resource-tastypie: resources and their pages as objects, for browsers and Node.js.
//
// Its update() sends PATCH, to which every resource of the interface responds with 405. Users of such an interface replace
// PATCH by PUT in axios, the HTTP library of this client.
'use strict';

const axios = require('axios');
const { Tastypie } = require('ts-resource-tastypie');
const { assert, credentials, pk, run } = require('./checks.js');

Tastypie.Provider.add(new Tastypie.Provider({
  name: 'bellbuoy', url: `${credentials.baseUrl}/api/v1`, username: credentials.username, apikey: credentials.legacyKey,
}));

const resource = () => new Tastypie.Resource('service'); // a new resource has no page that a write would read again
const service = (name, fields) => resource().objects.create({ service_name: name, ...fields });
const names = (page) => page.objects.map((row) => row.service_name.replace('ts ', ''));

// refused expects an error. It hides the message that the client prints, because the message contains the key.
async function refused(status, call) {
  const log = console.log;
  console.log = () => {};
  try {
    const error = await call().then((got) => assert.fail(`got ${JSON.stringify(got)}`), (reason) => reason);
    assert.equal(error.response?.status, status, error.message);
    assert.equal(typeof error.response.data.error, 'string');
    return error.response;
  } finally {
    console.log = log;
  }
}

run('ts-resource-tastypie', {
  'service list': async () => {
    const before = await resource().objects.find();
    assert.equal(before.meta.limit, 20);
    assert.deepEqual(names(before).slice(0, 3), ['Website', 'API', 'Database']);
    assert.deepEqual(Object.keys(before.objects[0]).sort(),
      ['description', 'group', 'hidden', 'hidden_notifications', 'resource_uri', 'service_name']);
    await service('ts list');
    const after = await resource().objects.find();
    assert.equal(after.meta.total_count, before.meta.total_count + 1);
  },

  'service pages by meta.next and meta.previous': async () => {
    for (let n = 0; n < 5; n++) await service(`ts ${n}`, { group: 'ts pages' });
    const page = await resource().objects.find({ group: 'ts pages', limit: 2 });
    assert.deepEqual([page.meta.total_count, page.length, page.index, page.meta.previous], [5, 3, 1, null]);
    assert.deepEqual(names(page), ['0', '1']);
    assert.deepEqual(names(await page.next()), ['2', '3']);
    assert.deepEqual(names(await page.next()), ['4']);
    assert.deepEqual([page.index, page.meta.next], [3, null]);
    assert.deepEqual(names(await page.previous()), ['2', '3']);
    assert.deepEqual(names(await page.first()), ['0', '1']);
    assert.deepEqual(names(await page.last()), ['4']);
  },

  'service create': async () => {
    const made = await service('ts create', { hidden: true });
    assert.deepEqual(made, { description: '', group: 'default', hidden: true, hidden_notifications: false,
      resource_uri: `/api/v1/service/${pk(made)}/`, service_name: 'ts create' });
    assert.deepEqual(await resource().objects.get(pk(made)), made);
    const answer = await refused(400, () => service('x'.repeat(51)));
    assert.deepEqual(Object.keys(answer.data.service), ['service_name']);
  },

  'service update (PUT)': async () => {
    const made = await service('ts update', { group: 'ts', description: 'before' });
    const { objects } = resource();
    const answer = await refused(405, () => objects.update(pk(made), { description: 'after' }));
    assert.equal(answer.headers.allow, 'DELETE,GET,PUT');
    assert.deepEqual(await objects.get(pk(made)), made);

    const put = axios.interceptors.request.use((config) => (config.method === 'patch' ? { ...config, method: 'put' } : config));
    try {
      assert.deepEqual(await objects.update(pk(made), { ...made, description: 'after' }), { ...made, description: 'after' });
      assert.deepEqual(await objects.update(pk(made), { hidden: true }),
        { ...made, description: 'after', hidden: true, group: 'default' });
    } finally {
      axios.interceptors.request.eject(put);
    }
    assert.equal((await objects.get(pk(made))).hidden, true);
  },

  'service delete': async () => {
    const made = await service('ts delete', { group: 'ts delete' });
    const { objects } = resource();
    await objects.delete(pk(made));
    await refused(404, () => objects.get(pk(made)));
    await refused(404, () => objects.delete(pk(made)));
    assert.equal((await objects.find({ group: 'ts delete' })).meta.total_count, 0);
  },

  'service filters and orders': async () => {
    for (const name of ['beta', 'alpha', 'gamma']) await service(`ts ${name}`, { group: 'ts filter', hidden: name === 'beta' });
    const find = async (filter) => names(await resource().objects.find({ group: 'ts filter', ...filter }));
    assert.deepEqual(await find(), ['beta', 'alpha', 'gamma']);
    assert.deepEqual(await find({ order_by: '-service_name' }), ['gamma', 'beta', 'alpha']);
    assert.deepEqual(await find({ service_name__icontains: 'ALPH' }), ['alpha']);
    assert.deepEqual(await find({ hidden: true }), ['beta']);
    assert.equal((await resource().objects.findOne({ service_name: 'ts gamma' })).service_name, 'ts gamma');
    assert.equal(await resource().objects.findOne({ service_name: 'nobody' }), null);
    await refused(400, () => find({ service_name__unheard_of: 1 }));
  },
});
