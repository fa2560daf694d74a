// statuspage.io: a client of the read interface of Statuspage. It requests upcoming maintenances for each list of maintenances.
'use strict';

const { Statuspage } = require('statuspage.io');
const { assert, credentials, run } = require('./checks.js');

const client = new Statuspage('acme');
client.setApiUrl(credentials.baseUrl);
const names = (list) => list.map((item) => item.name);
const open = ['Requests to the API fail', 'Slow mail'];
const planned = 'Move of the mail servers, part 2; at night';

run('statuspage.io', {
  summary: async () => {
    const got = await client.api.getSummary();
    assert.equal(got.page.time_zone, 'Europe/Berlin');
    assert.deepEqual(got.status, { indicator: 'major', description: 'Partial System Outage' });
    assert.deepEqual(names(got.components), ['Core', 'API', 'Website', 'Mail']);
    assert.deepEqual(names(got.incidents), open);
    assert.deepEqual(got.scheduled_maintenances.map((item) => item.status), ['scheduled', 'in_progress', 'verifying']);
  },
  status: async () => {
    assert.deepEqual((await client.api.getStatus()).status, { indicator: 'major', description: 'Partial System Outage' });
  },
  components: async () => {
    const { components } = await client.api.getComponents();
    const group = components.find((item) => item.group);
    assert.deepEqual(components.filter((item) => item.group_id === group.id).map((item) => item.id), group.components);
  },
  incidents: async () => {
    const { incidents } = await client.api.incidents.getAll();
    assert.deepEqual(incidents.map((item) => item.status), ['identified', 'postmortem', 'monitoring']);
    assert.deepEqual(incidents[0].incident_updates.map((item) => item.status), ['identified', 'identified', 'investigating']);
    assert.deepEqual(names((await client.api.incidents.getUnresolved()).incidents), open);
  },
  maintenances: async () => {
    for (const list of ['getActive', 'getAll', 'getUpcoming']) {
      assert.deepEqual(names((await client.api.scheduledMaintenances[list]()).scheduled_maintenances), [planned]);
    }
  },
});
