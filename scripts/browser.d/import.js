// Imports subscribers on the console: a file of several thousand rows with script, while the platform fails at times, and a
// small list without script.
'use strict';

const assert = require('node:assert/strict');
const { axe, layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

const rows = 3500; // four pieces

// list returns a file with quoted line breaks. Every hundredth row is wrong, and the last piece repeats an address of the first.
const list = (domain) => 'Name;E-Mail;Confirmed;Language\r\n' + Array.from({ length: rows }, (_, i) => `"Doe\r\n${i}, ""Jo"" ";${i % 100 ? `p${i === 3401 ? 1 : i}@${domain}` : 'nobody'};${i % 2 ? 'yes' : ''};de\r\n`).join('');

async function open(bench, platform, state, options) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 360, height: 740 }, storageState: state, acceptDownloads: false, ...options });
  await visitor.go(`${new URL(platform.link).origin}/console/subscribers/email`);
  await visitor.page.click('main .head a[href*="/import"]');
  await visitor.page.waitForLoadState();
  return visitor;
}

// stored returns the number of subscribers whose address has the domain.
async function stored(app, domain) {
  let count = 0;
  for (let token = ''; token !== null;) {
    const page = await app.send('GET', `/subscribers/email?limit=100&q=${domain}${token && `&nextToken=${token}`}`);
    count += page.subscribers.length;
    token = page.nextToken;
  }
  return count;
}

// file imports a file with script. A request fails, and the member stops and goes on.
async function file(bench, platform, state) {
  const { app } = platform;
  const domain = 'file.example', visitor = await open(bench, platform, state);
  const { page } = visitor;
  const found = [];
  const look = async (name) => {
    found.push(...await axe(page), ...(await layout(page)).map((text) => `${name}: ${text}`));
    await bench.shoot(page, name);
  };
  const title = (text) => page.locator('#run', { hasText: text }).waitFor();
  const count = async () => (await page.locator('[data-run] dd').allTextContents()).join(' ');
  await page.fill('#rows', 'sep=,\nemail,components\n');
  await page.click('form[data-import] .btn:not(.second)');
  await page.locator('[data-said]', { hasText: 'The list has no row with an address.' }).waitFor();
  await page.reload();
  await page.setInputFiles('#file', { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(list(domain)) });
  await look('import');
  await page.click('form[data-import] .btn:not(.second)');
  await title('3,500 rows are checked. Nothing is written yet');
  assert.equal(await count(), '3,464 0 36');
  assert.equal(await stored(app, domain), 0, 'a check writes nothing');
  assert.match(await page.innerText('[data-said]'), /36 rows refused\. Columns that are not read: Name\./);
  assert.match(await page.innerText('[data-refused] li:nth-child(2)'), /nobody\s+Line 202: The mail address must be an email address\./);
  assert.match(await page.inputValue('#refused-text'), /The address is in line 4 too\./);
  assert.match(await page.inputValue('#refused-text'), /^Name,E-Mail,Confirmed,Language,reason\n"Doe\n0, ""Jo""",nobody,,de,The mail address/);
  await look('import-checked');

  let requests = 0, away = true, last = false;
  await page.route('**/console/parts/subscribers/email/import', async (route) => {
    if (++requests === 1 || last) return route.fallback();
    if (away) return route.abort(); // each try until the stop, however slow the machine is
    last = true;
    const response = await route.fetch(); // the rows are written, and the page does not know it yet
    await page.click('[data-stop]');
    await page.locator('[data-said]', { hasText: 'Stopping …' }).waitFor();
    return route.fulfill({ response });
  });
  await page.click('[data-write]');
  await page.locator('[data-said]', { hasText: /Bellbuoy cannot be reached\. The next try is in \d+ seconds?\./ }).waitFor();
  assert.equal(await page.getAttribute('progress', 'aria-labelledby'), 'run');
  await page.click('[data-stop]');
  await page.locator('[data-said]', { hasText: '999 of 3,500 rows are written.' }).waitFor();
  await look('import-stopped');
  assert.equal(await stored(app, domain), 989, 'the first piece is written');
  away = false;
  await page.click('[data-go]');
  await page.locator('[data-said]', { hasText: '1,999 of 3,500 rows are written.' }).waitFor();
  await page.click('[data-go]');
  await title('3,500 rows are imported');
  assert.equal(await count(), '3,464 0 36');
  assert.equal(await stored(app, domain), 3464);
  await look('import-done');

  await page.click('[data-end][href$="/import"]');
  await page.waitForLoadState();
  await page.setInputFiles('#file', { name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from(`\ufeff${list(domain)}`, 'utf16le') });
  await page.click('form[data-import] .btn:not(.second)');
  await title('3,500 rows are checked');
  await page.click('[data-write]');
  await title('3,500 rows are imported');
  assert.equal(await count(), '0 3,464 36', 'the same list again only updates');
  await page.click('[data-end][href$="/import"]');
  await page.waitForLoadState();
  await page.fill('#rows', 'email\n"ada@file.example');
  await page.click('form[data-import] .btn:not(.second)');
  await page.locator('[data-said]', { hasText: 'Line 2: A field is in quotation marks only partly' }).waitFor();
  found.push(...(await visitor.findings()).filter((text) => !text.includes('net::ERR_FAILED')));
  await visitor.close();
  return found;
}

// scriptless imports pasted rows and a file without script.
async function scriptless(bench, platform, state) {
  const { app } = platform;
  const domain = 'pasted.example', next = '#result ~ form .btn:not(.second)';
  const visitor = await open(bench, platform, state, { javaScriptEnabled: false });
  const { page } = visitor;
  const found = [];
  const send = async (selector) => {
    await Promise.all([page.waitForNavigation(), page.click(selector)]);
    found.push(...await layout(page));
  };
  await page.fill('#rows', `"ada@${domain}"\nnobody\n`);
  await send('form[data-import] .btn:not(.second)');
  assert.match(await page.innerText('#result'), /2 rows are checked\. Nothing is written yet/);
  await bench.shoot(page, 'import-scriptless');
  await send(next);
  assert.match(await page.innerText('#result'), /2 rows are imported/);
  assert.equal(await stored(app, domain), 1);
  await send('main a[href$="/import"]');
  await page.setInputFiles('#file', { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(list(domain)) });
  await send('form[data-import] .btn:not(.second)');
  // A step ends after some seconds. On a busy machine it takes several to check and to write the list.
  const rows = { checked: 0, imported: 0 };
  for (;;) {
    const [, count, done] = (await page.innerText('#result')).match(/^([\d,]+)(?: of [\d,]+)? rows are (checked|imported|written)/);
    rows[done === 'checked' ? 'checked' : 'imported'] += Number(count.replace(',', ''));
    for (const reason of await page.locator('.say.x[role=alert]').allInnerTexts()) assert.match(reason, /The time of one request has run out/);
    if (await page.locator(next).count() === 0) break;
    await send(next);
  }
  assert.deepEqual(rows, { checked: 3500, imported: 3500 });
  assert.equal(await stored(app, domain), 3465);
  await bench.shoot(page, 'import-scriptless-done');
  await visitor.close();
  return found;
}

const all = async (bench, platform, state) => [...await file(bench, platform, state), ...await scriptless(bench, platform, state)];

module.exports = { all };
