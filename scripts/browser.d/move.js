// Imports the status page of another product on the console: a file with script, while the console fails once, and a smaller
// one without script. Each is undone.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { axe, layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

const events = 250; // two pieces

// lines returns interchange lines. The last event has a status that does not exist.
const lines = (slug, count) => [
  { kind: 'dashboard', key: `${slug}:d:1`, name: 'Acme', slug },
  { kind: 'component', key: `${slug}:c:1`, name: `Checkout of ${slug}`, dashboardIds: [`${slug}:d:1`], aliases: ['component/1'] },
  ...Array.from({ length: count + 1 }, (_, i) => ({
    kind: 'event', key: `${slug}:e:${i}`, type: 'incident', title: `Incident ${i}`, status: i < count ? 'resolved' : 'burning', severity: 'major_outage',
    startAt: '2025-01-31T09:30:00Z', endAt: '2025-01-31T10:00:00Z', components: [{ key: `${slug}:c:1`, impact: 'major_outage' }], aliases: i ? [] : ['incidents/old'],
    timeline: [{ key: `${slug}:u:${i}`, at: '2025-01-31T09:30:00Z', status: 'investigating', html: '<p>We look.</p>' }],
  })),
].map((line) => `${JSON.stringify(line)}\n`).join('');

async function open(bench, platform, state, options) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 360, height: 740 }, storageState: state, ...options });
  await visitor.go(`${new URL(platform.link).origin}/console/import`);
  return visitor;
}

const slugs = async (app) => (await app.send('GET', '/dashboards?limit=100')).dashboards.map((d) => d.slug);
const file = (name, text) => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });

// scripted imports with script. The response to a piece is lost, and a wrong file comes first.
async function scripted(bench, platform, state) {
  const { app } = platform, slug = 'moved', visitor = await open(bench, platform, state);
  const { page } = visitor, found = [];
  const look = async (name) => {
    found.push(...await axe(page), ...(await layout(page)).map((text) => `${name}: ${text}`));
    await bench.shoot(page, name);
  };
  const title = (text) => page.locator('#work', { hasText: text }).waitFor();
  const send = () => page.click('form[data-move] .acts .btn:not(.second)');
  await look('move');
  await page.check('[name=source][value=lines]');
  await page.setInputFiles('#file', file('old.jsonl', 'no lines'));
  await send();
  await page.locator('[data-wrong]', { hasText: 'old.jsonl has no valid line; ' }).waitFor();
  await look('move-wrong');
  await page.setInputFiles('#file', file('old.jsonl', lines(slug, events)));
  await send();
  await title('The plan. Nothing is written yet');
  assert.match(await page.innerText('[data-sums]'), /Components\s+1 new\s+Incidents and maintenances\s+250 new\s+Old addresses\s+2 new/);
  assert.equal(await page.innerText('[data-run] .counts .x dd'), '1');
  assert.ok(await page.locator('#lost-text').isHidden(), 'the list has all of it');
  assert.match(await page.innerText('[data-lost]'), /Incident 250\s+Status: "burning"/);
  assert.ok(!(await slugs(app)).includes(slug), 'a plan writes nothing');
  await look('move-plan');

  let requests = 0;
  await page.route('**/console/parts/import/write', async (route) => {
    if (++requests !== 2) return route.fallback();
    await route.fetch(); // the component is written, and the page does not know it yet
    return route.abort();
  });
  await page.click('[data-write]');
  await title('The import is complete');
  assert.match(await page.innerText('[data-sums]'), /Components\s+1 new\s+Incidents and maintenances\s+250 new\s+Old addresses\s+2 new/, 'what a lost response has written counts as new');
  assert.ok((await slugs(app)).includes(slug));
  await look('move-done');
  await page.click('[data-undo]');
  await title('The import is undone');
  assert.match(await page.innerText('[data-said]'), /253 records are undone\./);
  assert.ok(!(await slugs(app)).includes(slug), 'the dashboard is gone');
  await look('move-undone');
  found.push(...(await visitor.findings()).filter((text) => !text.includes('net::ERR_FAILED')));
  await visitor.close();
  return found;
}

// reloaded reloads the page in the middle of an import, goes on with the same file, reloads again, and undoes all of it. Another
// tab imports the events first, so they do not count as new.
async function reloaded(bench, platform, state) {
  const { app } = platform, slug = 'reloaded', visitor = await open(bench, platform, state), { page } = visitor;
  const title = (text) => page.locator('#work', { hasText: text }).waitFor();
  const plan = async () => {
    await page.setInputFiles('#file', file('old.jsonl', lines(slug, 5)));
    await page.click('form[data-move] .acts .btn:not(.second)');
    await title('The plan');
    await page.click('[data-write]');
  };
  await page.check('[name=source][value=lines]');
  let stopped = false, before = 0, after = 0;
  const named = []; // what the tab has stored when it sends each of the first pieces: the dashboard, then the component
  await page.route('**/console/parts/import/write', async (route) => {
    if (stopped && ++after === 3) {
      const other = JSON.parse(zlib.gunzipSync(route.request().postDataBuffer()));
      other.state.runId = crypto.randomUUID();
      await route.fetch({ postData: zlib.gzipSync(JSON.stringify(other)) });
    }
    if (!stopped && before < 2) named.push(await page.evaluate(() => Object.values(sessionStorage).join('').includes('"kind":"component"')));
    if (stopped || ++before === 1) return route.fallback();
    if (before > 2) return route.abort(); // each try until the stop, however slow the machine is
    await route.fetch(); // the component is written, and the page never knows it
    await route.abort();
    return page.click('[data-stop]');
  });
  await plan();
  await page.locator('[data-said]', { hasText: 'Stopped.' }).waitFor();
  stopped = true;
  assert.deepEqual(named, [false, true], 'a record is named right before its piece: until then, a member may create it');
  await page.reload();
  await page.locator('[data-found]', { hasText: 'An import was interrupted' }).waitFor();
  const found = [...await axe(page), ...await layout(page)];
  await bench.shoot(page, 'move-found');
  const run = /Run (\S+)\./.exec(await page.innerText('[data-found]'))[1];
  await page.click('[data-resume]');
  await plan();
  await title('The import is complete');
  assert.equal(await page.innerText('[data-id] code'), run, 'the run goes on');
  assert.match(await page.innerText('[data-sums]'), /Dashboards\s+1 new\s+Components\s+1 new\s+Incidents and maintenances\s+5 as before/);
  await page.reload();
  await page.locator('[data-found]', { hasText: `Run ${run} is complete` }).waitFor();
  await page.click('[data-revert]');
  await title('The import is undone');
  assert.ok(!(await slugs(app)).includes(slug), 'the dashboard is gone, and with it the component, which would keep it');
  assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), []);
  found.push(...(await visitor.findings()).filter((text) => !text.includes('net::ERR_FAILED')));
  await visitor.close();
  return found;
}

// downloaded downloads a page of Statuspage, which asks to wait once, and shows the plan. No page and no later request has the key.
async function downloaded(bench, platform, state) {
  const visitor = await open(bench, platform, state), { page } = visitor;
  const samples = path.join(__dirname, '../../libs/moving/source/testdata/statuspage');
  const files = ['page', 'component-groups', 'components', 'incidents-1', 'incidents-2'].map((name) => ({ name: `${name}.json`, text: fs.readFileSync(path.join(samples, `${name}.json`), 'utf8') }));
  const asked = [];
  await page.route('**/console/parts/import/**', async (route) => {
    const body = route.request().postData() ?? '';
    if (!route.request().url().endsWith('/statuspage')) {
      assert.ok(!(route.request().postDataBuffer()?.toString('latin1') ?? '').includes('secret-of-the-source'));
      return route.fallback();
    }
    if (body === 'page=&key=&place=&people=') return route.fallback(); // the console says what is missing
    assert.match(route.request().headers()['content-type'], /^application\/x-www-form-urlencoded/, 'the console reads no other form here');
    assert.match(body, /^page=kctbh9vrtdwd&key=secret-of-the-source&place=/);
    const n = asked.push(body) - 1;
    const next = { list: 1, page: n };
    if (n === 1) return route.fulfill({ json: { name: '', text: '', next, wait: 1 } });
    return route.fulfill({ json: { ...files[n && n - 1], next: n === files.length ? null : next, wait: 0 } });
  });
  await page.check('[name=source][value=statuspage]');
  await page.click('form[data-move] .acts .btn:not(.second)');
  await page.locator('[data-wrong]', { hasText: 'Enter the id of the page' }).waitFor();
  await page.fill('#page-id', 'kctbh9vrtdwd');
  await page.fill('#source-key', 'secret-of-the-source');
  await page.fill('#slug', 'downloaded');
  await page.setViewportSize({ width: 360, height: 2400 }); // so that the bar at the bottom covers no field
  const found = [...await axe(page), ...await layout(page)];
  await bench.shoot(page, 'move-key');
  await page.click('form[data-move] .acts .btn:not(.second)');
  await page.locator('#work', { hasText: 'The plan' }).waitFor();
  assert.match(await page.innerText('[data-sums]'), /Incidents and maintenances\s+\d+ new/);
  assert.equal(asked.length, files.length + 1);
  assert.ok(new URLSearchParams(asked[2]).get('place').includes('"page":1'), 'after a pause the same request is sent again');
  found.push(...await visitor.findings());
  await visitor.close();
  return found;
}

// kuma uploads the database of Uptime Kuma as a browser sends it: packed by the script, and as it is without script.
async function kuma(bench, platform, state) {
  const found = [];
  for (const javaScriptEnabled of [true, false]) {
    const visitor = await open(bench, platform, state, { javaScriptEnabled }), { page } = visitor;
    await page.check('[name=source][value=uptime-kuma]');
    await page.setInputFiles('#file', path.join(process.env.DATABASES, 'kuma.db'));
    await page.fill('#timezone', 'Europe/Berlin');
    await page.fill('#outages', '5m');
    await page.fill('#slug', 'harbour'); // one of its two pages
    await page.click('form[data-move] .acts .btn:not(.second)');
    await page.locator(javaScriptEnabled ? '#work' : '#result', { hasText: 'The plan. Nothing is written yet' }).waitFor();
    assert.match(await page.innerText('main'), /Components\s+\d+ new\s+Incidents and maintenances\s+\d+ new/);
    found.push(...await layout(page), ...(javaScriptEnabled ? await axe(page) : []));
    await bench.shoot(page, `move-kuma-${javaScriptEnabled ? 'plan' : 'scriptless'}`);
    found.push(...await visitor.findings());
    await visitor.close();
  }
  return found;
}

// scriptless imports and undoes without script.
async function scriptless(bench, platform, state) {
  const { app } = platform, slug = 'moved-plainly', visitor = await open(bench, platform, state, { javaScriptEnabled: false });
  const { page } = visitor, found = [];
  const send = async (selector) => {
    await Promise.all([page.waitForNavigation(), page.click(selector)]);
    found.push(...await layout(page));
  };
  await page.check('[name=source][value=lines]');
  await page.setInputFiles('#file', file('old.jsonl', lines(slug, 20)));
  await send('form[data-move] .acts .btn:not(.second)');
  assert.match(await page.innerText('#result'), /The plan\. Nothing is written yet/);
  await bench.shoot(page, 'move-scriptless');
  await send('#result ~ form .btn:not(.second)');
  assert.match(await page.innerText('#result'), /The import is complete/);
  assert.ok((await slugs(app)).includes(slug));
  await send('#result ~ form button');
  assert.match(await page.innerText('#result'), /The import is undone/);
  assert.ok(!(await slugs(app)).includes(slug));
  await visitor.close();
  return found;
}

const all = async (bench, platform, state) => [...await scripted(bench, platform, state), ...await reloaded(bench, platform, state), ...await downloaded(bench, platform, state), ...await kuma(bench, platform, state), ...await scriptless(bench, platform, state)];

module.exports = { all };
