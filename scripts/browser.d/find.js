// Finds records and pages: by the palette with keys alone, by its link on a phone, and by the page without script. Then each
// shortcut, and none of them after they are switched off. Rows of lists have the height of the member's choice.
'use strict';

const assert = require('node:assert/strict');
const { axe, layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

class Finder {
  static async open(bench, platform, state, options = {}) {
    const finder = new Finder();
    Object.assign(finder, { bench, found: [], visitor: await Visitor.open(bench.browser, { viewport: { width: 1280, height: 800 }, storageState: state, ...options }) });
    finder.page = finder.visitor.page;
    finder.base = `${new URL(platform.link).origin}/console`;
    return finder;
  }

  go(path) { return this.visitor.go(this.base + path); }

  at() { return new URL(this.page.url()).pathname.replace('/console', ''); }

  // leads presses keys after which the page of the path is loaded.
  async leads(path, ...keys) {
    const loaded = this.page.waitForNavigation();
    for (const key of keys) await this.page.keyboard.press(key);
    await loaded;
    assert.equal(this.at(), path);
  }

  async check(name, script = true) {
    this.found.push(...[...await layout(this.page), ...(script ? await axe(this.page) : [])].map((text) => `${name}: ${text}`));
    await this.bench.shoot(this.page, `find-${name}`);
  }

  async close() {
    this.found.push(...await this.visitor.findings());
    await this.visitor.close();
    return this.found;
  }
}

const open = '#palette[open]';
const said = (page, text) => page.waitForFunction((wanted) => new RegExp(wanted).test(document.querySelector('#palette [role=status]').textContent), text);

// types types a text in the palette, and waits for what it says of this text. It gets no results of a part of the text.
async function types(page, text, wanted, type = () => page.keyboard.type(text)) {
  const find = (url) => url.pathname.endsWith('/parts/find');
  await page.route(find, (route) => new URL(route.request().url()).searchParams.get('q') === text ? route.fallback() : route.fulfill({ status: 204 }));
  await page.evaluate(() => { document.querySelector('#palette [role=status]').textContent = ''; });
  await type();
  await said(page, wanted);
  await page.unroute(find);
}

// palette finds by keys alone.
async function palette(finder, { event }) {
  const { page } = finder;
  await finder.go('/events');
  for (const key of ['Control+k', '/']) {
    await page.keyboard.press('Tab');
    const before = await page.evaluate(() => document.activeElement.outerHTML);
    await page.keyboard.press(key);
    await said(page, 'results');
    await finder.check(`palette-${key === '/' ? 'recent' : 'pages'}`);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'combobox');
    await page.keyboard.press('Escape');
    assert.equal(await page.locator(open).count(), 0, 'Escape closes the palette');
    assert.equal(await page.evaluate(() => document.activeElement.outerHTML), before, 'the focus returns');
  }
  await page.keyboard.press('/');
  await types(page, 'nothing like that', 'Nothing found');
  await finder.check('palette-none');
  await page.keyboard.press('Control+a');
  await types(page, 'lighthouse', '^2 results');
  const chosen = () => page.evaluate(() => document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent);
  assert.match(await chosen(), /The lighthouse is dark/);
  await page.keyboard.press('ArrowDown');
  assert.match(await chosen(), /Lighthouse lamp/);
  await page.keyboard.press('ArrowDown');
  assert.match(await chosen(), /The lighthouse is dark/, 'after the last comes the first');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await finder.check('palette');
  await finder.leads(`/events/${event}`, 'Enter');
  await finder.go('/components');
  await page.keyboard.press('/');
  await types(page, event, '^1 result');
  await finder.leads(`/events/${event}`, 'Enter');
  await page.keyboard.press('/');
  await page.keyboard.type('invite');
  await finder.leads('/find', 'Control+Enter'); // the page shows the same
  assert.equal(await page.locator('main a[href="/console/users/new"]').count(), 1);
}

// phone finds by the link of the narrow frame.
async function phone(finder) {
  const { page } = finder;
  await finder.go('/');
  await page.locator('[data-find]').tap();
  await said(page, 'results');
  await finder.check('phone');
  await types(page, 'lighthouse', '^2 results', () => page.fill('#palette input', 'lighthouse'));
  await finder.check('phone-found');
  await Promise.all([page.waitForURL('**/components/*'), page.locator('#palette [role=option]:has-text("lamp")').tap()]);
}

// scriptless finds by the page.
async function scriptless(finder, { event }) {
  const { page } = finder;
  await finder.go('/');
  await Promise.all([page.waitForNavigation(), page.click('[data-find]')]);
  assert.equal(finder.at(), '/find');
  await page.fill('main #q', 'lighthouse');
  await Promise.all([page.waitForNavigation(), page.click('main .filter button')]);
  await finder.check('scriptless', false);
  await Promise.all([page.waitForNavigation(), page.click('main .rows a >> nth=0')]);
  assert.equal(finder.at(), `/events/${event}`);
}

// shortcuts presses each of them, then switches them off.
async function shortcuts(finder) {
  const { page } = finder;
  await finder.go('/');
  await page.keyboard.press('?');
  await finder.check('shortcuts');
  const keys = await page.locator('#shortcut-list [data-key]').evaluateAll((links) => links.map((link) => [link.dataset.key, new URL(link.href).pathname.replace('/console', '')]));
  assert.ok(keys.length > 10);
  await page.keyboard.press('Escape');
  for (const [key, path] of keys) await finder.leads(path, 'g', key);
  await finder.leads('/events/new', 'c');
  await page.focus('#title');
  await page.keyboard.type('/?cgjk');
  assert.equal(await page.inputValue('#title'), '/?cgjk', 'a field takes every key');
  assert.equal(await page.locator('dialog[open]').count(), 0);

  await finder.go('/components');
  const row = () => page.evaluate(() => document.activeElement.closest('li') && document.activeElement.textContent);
  await page.keyboard.press('j');
  const first = await row();
  await page.keyboard.press('j');
  assert.notEqual(await row(), first);
  await page.keyboard.press('k');
  assert.equal(await row(), first);

  await finder.go('/profile');
  await page.locator('#shortcuts').setChecked(false);
  await page.locator('label:has-text("Compact")').click();
  await page.focus('#firstName');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Control+Enter')]);
  for (const key of ['?', '/', 'Control+k', 'c', 'j']) await page.keyboard.press(key);
  await page.focus('#firstName');
  await page.keyboard.press('Control+Enter');
  await page.waitForTimeout(300); // nothing may happen
  assert.equal(await page.locator('dialog[open]').count(), 0, 'no shortcut works when they are off');
  assert.equal(finder.at(), '/profile');
  await finder.go('/profile/shortcuts');
  await finder.check('shortcuts-off');
}

// heights returns the heights of rows with one line that are not as the member chose.
async function heights(finder, least) {
  for (const list of ['/events?view=all', '/components', '/dashboards', '/templates', '/subscribers/email', '/users', '/audit', '/find']) {
    await finder.go(list);
    for (const height of await finder.page.locator('main .rows > li:not(.none)').evaluateAll((rows) => rows.map((row) => Math.round(row.getBoundingClientRect().height)))) {
      if (height < least || height > least + (least > 50 ? 12 : 4)) finder.found.push(`${list} has a row of ${height} px instead of ${least}`);
    }
    await finder.bench.shoot(finder.page, `find-rows-${least}-${list.replace(/\W+/g, '')}`);
  }
}

async function all(bench, platform, state) {
  const { app } = platform;
  const { component } = await app.send('POST', '/components', { name: 'Lighthouse lamp' });
  const { event } = await app.send('POST', '/events', { type: 'incident', title: 'The lighthouse is dark', affectedComponents: [{ componentId: component.id }] });
  await app.send('POST', '/templates', { kind: 'update', name: 'Still at it', status: 'monitoring', message: 'We are still at it.' });
  await app.send('POST', '/subscribers/email', { email: 'keeper@example.com', dashboardId: platform.credentials.dashboardId, confirmed: true, componentIds: null });
  const found = [];
  const run = async (options, walk) => {
    const finder = await Finder.open(bench, platform, state, options);
    await walk(finder, { event: event.id, component: component.id });
    found.push(...await finder.close());
  };
  await run({}, palette);
  await run({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme: 'dark' }, phone);
  await run({ javaScriptEnabled: false }, scriptless);
  await run({}, (finder) => heights(finder, 56));
  await run({}, shortcuts);
  await run({}, (finder) => heights(finder, 40));
  return found;
}

module.exports = { all };
