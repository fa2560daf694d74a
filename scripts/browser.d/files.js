// Checks the files of a dashboard that are not pages: feeds, badges, the calendar, the read interface, and the parts for other sites.
'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { axe, layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

// badges opens badges as separate documents, in which a script would run.
async function badges(bench, dashboard) {
  const found = [];
  const visitor = await Visitor.open(bench.browser);
  for (const at of ['badge.svg', ...dashboard.components.map((id) => `components/${id}/badge.svg`)]) {
    await visitor.go(`${dashboard.url}/${at}`);
    const names = await visitor.page.evaluate(() => [...new Set([...document.querySelectorAll('*')].map((e) => e.nodeName))].sort().join(' '));
    if (names !== 'clipPath g path rect svg text title') found.push(`${at} has the elements ${names}`);
    found.push(...(await visitor.findings()).map((text) => `${at}: ${text}`));
  }
  await visitor.close();
  return found;
}

// feeds parses the XML and JSON files.
async function feeds(bench, dashboard) {
  const found = [];
  const visitor = await Visitor.open(bench.browser);
  for (const at of ['feed.rss', 'feed.atom', 'feed.json', `components/${dashboard.components[0]}/feed.rss`, 'api/v2/summary.json', 'api/v2/incidents.json', 'api/v2/scheduled-maintenances.json']) {
    const response = await fetch(`${dashboard.url}/${at}`);
    const text = await response.text();
    if (at.endsWith('.json')) {
      if (!JSON.stringify(JSON.parse(text)).includes('alert(')) found.push(`${at} lacks the texts`);
      continue;
    }
    const { problem, names } = await visitor.page.evaluate((xml) => {
      const parsed = new DOMParser().parseFromString(xml, 'application/xml');
      return { problem: parsed.querySelector('parsererror')?.textContent, names: [...parsed.querySelectorAll('*')].map((e) => e.localName) };
    }, text);
    if (problem) found.push(`${at}: ${problem}`);
    if (names.some((name) => ['script', 'img', 'style', 'svg'].includes(name))) found.push(`${at} has markup of a text`);
  }
  await visitor.close();
  return found;
}

// calendar checks that no text of an event adds a line to the calendar.
async function calendar(bench, dashboard) {
  const response = await fetch(`${dashboard.url}/maintenance.ics`);
  const text = await response.text();
  assert.ok(text.endsWith('\r\n'));
  const lines = text.slice(0, -2).split('\r\n');
  const long = lines.filter((line) => Buffer.byteLength(line) > 75 || /[\r\n\u2028\u2029\u0085]/.test(line));
  const whole = text.replaceAll('\r\n ', '').slice(0, -2).split('\r\n');
  const known = /^(BEGIN|END|VERSION|PRODID|METHOD|NAME|X-WR-CALNAME|REFRESH-INTERVAL|X-PUBLISHED-TTL|UID|SEQUENCE|DTSTAMP|CREATED|LAST-MODIFIED|DTSTART|DTEND|SUMMARY|STATUS|DESCRIPTION|URL|TRANSP)[:;]/;
  const structure = whole.filter((line) => /^(BEGIN|END):/.test(line)).join(' ');
  assert.match(structure, /^BEGIN:VCALENDAR( BEGIN:VEVENT END:VEVENT)+ END:VCALENDAR$/);
  return [...long.map((line) => `a long line: ${line}`), ...whole.filter((line) => !known.test(line)).map((line) => `an unknown line: ${line}`)];
}

// elsewhere checks the embedded state and the banner on another site, and that the page itself cannot be embedded.
async function elsewhere(bench, dashboard) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 360, height: 740 } });
  const { page } = visitor;
  const html = `<!DOCTYPE html><html lang="en"><title>Shop</title><meta name="viewport" content="width=device-width"><main><h1>Shop</h1>
    <iframe title="State" src="${dashboard.url}/embed"></iframe><iframe title="Page" src="${dashboard.url}/"></iframe></main><script src="${dashboard.url}/embed.js"></script></html>`;
  const shop = http.createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(html));
  await new Promise((resolve) => shop.listen(0, '127.0.0.1', resolve));
  await page.unrouteAll();
  await page.goto(`http://127.0.0.1:${shop.address().port}/`);
  await page.waitForSelector('section[aria-label]');
  const [embedded, refused] = page.frames().slice(1);
  assert.notEqual(await embedded.textContent('.state'), '');
  assert.equal(await refused.locator('main').count(), 0, 'the page is embedded');
  assert.ok(visitor.trouble.splice(0).every((text) => text.includes('frame-ancestors')));
  const found = await visitor.findings();
  found.push(...await axe(page), ...await layout(page));
  await visitor.close();
  shop.close();
  return found;
}

module.exports = { badges, feeds, calendar, elsewhere };
