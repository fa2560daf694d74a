// Checks that an open page shows changes without a reload. The check controls the clock of the page.
'use strict';

const assert = require('node:assert/strict');
const { axe } = require('./page.js');
const { Visitor } = require('./visitor.js');

// live changes an event of a dashboard while a visitor looks at its page.
async function live(bench, dashboard, app) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 1280, height: 800 } });
  const { page } = visitor;
  await page.clock.install();
  await visitor.go(`${dashboard.url}/`);
  const event = dashboard.events[0];
  let open = 0; // requests without a response
  page.on('request', () => { open++; });
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, () => { open--; });
  const responses = async () => {
    for (const end = Date.now() + 60_000; open > 0 && Date.now() < end;) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  // until advances the clock of the page until the condition is true. It advances in steps, because responses need real time.
  const until = async (condition, value) => {
    for (let step = 0; step < 200; step++) {
      await responses();
      if (await page.evaluate(condition, value)) return;
      await page.clock.runFor(5_000);
    }
    assert.fail(`after 1000 s not yet: ${condition}`);
  };
  const shows = (text) => until((t) => document.querySelector('main').textContent.includes(t), text);
  const state = () => page.evaluate(() => ({ y: scrollY, focus: document.activeElement.closest('details')?.id, open: [...document.querySelectorAll('details')].map((e) => [e.id, e.open]) }));

  await page.locator('.group > summary').first().click(); // closes a part
  await page.locator(`[id="u-${event}"] > summary`).click(); // opens a part
  await page.locator('.group > summary').nth(1).focus();
  await page.evaluate(() => scrollTo(0, 600));
  const before = await state();
  assert.ok(before.y > 0 && before.focus);
  await app.entry(event, 'monitoring', 'The new disk works.');
  await shows('The new disk works.');
  assert.deepEqual(await state(), before, 'scroll position, focus and parts');
  assert.match(await page.textContent('#live'), /^The page was updated: ./, 'the change is announced');
  assert.equal(await page.evaluate(() => document.querySelector('#live').closest('main')), null);
  const found = await axe(page);

  let requests = 0;
  const failing = (route) => { requests++; return route.abort(); };
  await page.route(`${dashboard.url}/`, failing);
  await until(() => document.querySelector('#stale').textContent !== '');
  const stale = await page.textContent('#stale');
  assert.match(stale, /^This page could not be updated. Last update: \d+ minutes? ago/);
  found.push(...await axe(page));
  await until(() => / [2-9] minutes ago/.test(document.querySelector('#stale').textContent));
  assert.ok(requests <= 6, `${requests} requests while they fail`);
  await page.unroute(`${dashboard.url}/`, failing);
  await until(() => document.querySelector('#stale').textContent === '');

  await page.click('#pause');
  assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'true');
  await page.route(`${dashboard.url}/`, (route) => { requests++; return route.fallback(); });
  requests = 0;
  await app.entry(event, 'monitoring', 'All disks work.');
  await page.clock.runFor(600_000);
  assert.equal(requests, 0, 'a paused page makes no requests');
  await page.click('#pause');
  await shows('All disks work.');
  assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'false');
  found.push(...await visitor.findings());
  await visitor.close();
  return found;
}

module.exports = { live };
