// statuspage.io reads a page that was moved here from Statuspage by with_moved_page.py: it finds the former ids.
'use strict';

const fs = require('node:fs');
const { Statuspage } = require('statuspage.io');
const { assert, run } = require('./checks.js');

const client = new Statuspage('pg7kz');
client.setApiUrl(JSON.parse(fs.readFileSync(process.env.BELLBUOY_MOVED, 'utf8')).baseUrl);

run('moved page', {
  'statuspage.io': async () => {
    const got = await client.api.getSummary();
    assert.equal(got.page.id, 'pg7kz');
    assert.deepEqual(got.components.filter((item) => item.name !== 'default').map((item) => item.id), ['grp1', 'cmp1', 'cmp2', 'cmp3']);
    const { incidents } = await client.api.incidents.getAll();
    assert.deepEqual(incidents.map((item) => item.id), ['inc3']);
    assert.deepEqual(incidents[0].incident_updates.map((item) => item.id), ['upd8', 'upd7']);
  },
});
