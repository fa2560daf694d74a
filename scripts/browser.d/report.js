// Walks through the uptime report: choose a month by its form, compare its figures with the App interface, print it, download
// it. With script and without.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const { axe, layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

const month = '2026-01';

// prepare creates a component with a year of history, and shows it beside the others.
async function prepare({ app, credentials }) {
  const { component } = await app.send('POST', '/components', { name: '=SUM(A1)', startAt: '2025-11-10T00:00:00Z' });
  const at = `/dashboards/${credentials.dashboardId}`;
  const { components } = (await app.send('GET', at)).dashboard;
  await app.send('PUT', `${at}/components`, { components: [{ componentId: component.id }, ...components.filter(({ componentId }) => componentId !== component.id).map(({ componentId }) => ({ componentId }))] });
  for (const [impact, from, to] of [['major_outage', '01-10T10:00:00Z', '01-10T10:02:48Z'], ['partial_outage', '01-31T22:00:00Z', '02-01T02:00:00Z']]) {
    await app.send('POST', '/events', { type: 'incident', title: `An ${impact}`, status: 'resolved', startAt: `2026-${from}`, endAt: `2026-${to}`, affectedComponents: [{ componentId: component.id, impact }] });
  }
  return (await app.send('GET', `/reports/uptime?month=${month}&dashboardId=${credentials.dashboardId}`)).report;
}

async function walk(bench, platform, state, options, report) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 1280, height: 800 }, storageState: state, acceptDownloads: true, ...options });
  const { page } = visitor;
  const found = [];
  const script = options.javaScriptEnabled !== false;
  const look = async (name) => {
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      found.push(...[...await layout(page), ...(script ? await axe(page) : [])].map((text) => `${name} ${width}: ${text}`));
      await bench.shoot(page, `report-${name}-${script ? 'script' : 'scriptless'}-${width}`);
    }
  };
  await visitor.go(`${new URL(platform.link).origin}/console/`);
  await Promise.all([page.waitForNavigation(), page.click('.nav a[href$="/reports/uptime"]')]);
  await page.fill('#month', month);
  await Promise.all([page.waitForNavigation(), page.click('main .filter button')]);
  assert.equal(await page.textContent('.value'), `${report.overallUptimePercent} %`);
  for (const [n, { name, uptimePercent }] of report.components.entries()) {
    const text = (await page.locator('.parts article').nth(n).innerText()).replace(/\s+/g, ' ');
    assert.ok(text.startsWith(`${name} ${uptimePercent === null ? 'not measured' : `${uptimePercent} %`}`), text);
  }
  assert.equal(await page.locator('.happened a').count(), 2);
  await look('month');

  // Paper has the report alone, in black on white, also for a member of the dark theme.
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.deepEqual(await page.evaluate(() => ['.side', '.tabs', '.filter', '.acts'].filter((part) => document.querySelector(part)?.checkVisibility())), []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), 'rgb(255, 255, 255)');
  await bench.shoot(page, `report-paper-${script ? 'script' : 'scriptless'}`);
  const paper = await page.pdf({ format: 'A4' });
  assert.ok(paper.length > 10_000);
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });

  const [download] = await Promise.all([page.waitForEvent('download'), page.click('main a[download]')]);
  visitor.trouble = visitor.trouble.filter((text) => !text.startsWith('download:'));
  assert.match(download.suggestedFilename(), new RegExp(`^uptime-[a-z0-9-]+-${month}\\.csv$`));
  const rows = fs.readFileSync(await download.path(), 'utf8').split('\r\n');
  assert.equal(rows.length, report.components.length + 3, 'a heading, the components, all of them, and the end');
  assert.ok(rows[1].startsWith(`${month},'=SUM(A1),${report.components[0].componentId},${report.components[0].uptimePercent.toFixed(6)},`), rows[1]);

  await Promise.all([page.waitForNavigation(), page.click('.turns a')]);
  assert.match(await page.innerText('h1'), /December 2025/);
  await Promise.all([page.waitForNavigation(), page.click('.views a:has-text("Year")')]);
  assert.match(await page.innerText('h1'), /2025/);
  await page.fill('#year', '20x');
  await Promise.all([page.waitForNavigation(), page.click('main .filter button')]);
  assert.equal(await page.getAttribute('#year', 'aria-invalid'), 'true');
  await look('wrong');
  await page.fill('#year', '2026');
  await Promise.all([page.waitForNavigation(), page.click('main .filter button')]);
  assert.equal(await page.locator('#months + ul li').count(), 12);
  await look('year');
  found.push(...await visitor.findings());
  await visitor.close();
  return found;
}

async function all(bench, platform, state) {
  const report = await prepare(platform);
  return [...await walk(bench, platform, state, {}, report), ...await walk(bench, platform, state, { javaScriptEnabled: false }, report)];
}

module.exports = { all };
