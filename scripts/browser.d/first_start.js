// Walks from the link of the first start to a published and resolved incident: with the pointer, without script, and by
// keyboard alone. Then a phone reports, updates and resolves incidents. Each walk has a platform of its own, and counts what
// the person does.
'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { App } = require('./dashboards.js');
const { focus } = require('./keyboard.js');
const { layout } = require('./page.js');
const { fresh, Visitor } = require('./visitor.js');

const password = 'correct horse battery staple';

// start starts the program PLATFORM on an empty folder, with the settings. It returns the link that the program prints, the
// credentials, the folder of its data, and a function that ends the program.
async function start(settings = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'first-'));
  const env = { PATH: process.env.PATH, HOME: folder, BELLBUOY_ADDR: '127.0.0.1:0', BELLBUOY_INTERNAL_ADDR: '127.0.0.1:0', BELLBUOY_DATA: path.join(folder, 'data'), ...settings };
  const program = spawn(process.env.PLATFORM, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => program.on('exit', resolve));
  const end = async () => {
    program.kill();
    await ended;
    fs.rmSync(folder, { recursive: true });
  };
  let printed = '';
  const link = await new Promise((resolve, reject) => {
    program.stdout.on('data', (text) => {
      printed += text;
      const found = /^ +console +(\S+token=\S+)$/m.exec(printed);
      if (found) resolve(found[1]);
    });
    ended.then(() => reject(new Error(`the platform ended: ${printed}`)));
  });
  const credentials = JSON.parse(fs.readFileSync(path.join(folder, 'data', 'credentials.json'), 'utf8'));
  return { link, credentials, data: path.join(folder, 'data'), app: new App(credentials), end };
}

// Person does things on pages. Each click, tap, key and filled field is an action.
class Person {
  static async open(bench, link, options) {
    const person = new this();
    Object.assign(person, { actions: 0, fields: 0, problems: [], visitor: await Visitor.open(bench.browser, options) });
    person.visitor.origin = new URL(link).origin;
    person.page = person.visitor.page;
    return person;
  }

  // go opens an address, as one does with a printed link.
  async go(address) {
    this.actions++;
    await this.visitor.go(address);
  }

  async type(selector, text) {
    this.actions++;
    this.fields++;
    await this.page.fill(selector, text);
  }

  // use presses a link or a button that leads to another page. If this is a page that the gateway kept, use loads it again.
  async use(selector) {
    let [response] = await Promise.all([this.page.waitForNavigation({ url: (url) => url.hash !== '#main' }), this.press(this.page.locator(selector).first())]);
    for (let tries = 0; 'age' in response.headers() && tries < 100; tries++) response = await this.page.reload();
    assert.ok(response.ok(), `${this.page.url()}: ${response.status()}`);
    this.problems.push(...(await layout(this.page)).map((text) => `${this.page.url()}: ${text}`));
  }

  async press(element) {
    this.actions++;
    await element.click();
  }

  // back is one action, or one key. A browser without a window takes no keys of its own.
  async back() {
    this.actions++;
    await this.page.goBack();
  }

  // resolve leads from the overview to the composer of the open incident, with the status Resolved.
  resolve() { return this.use('.start a[href*="status=resolved"]'); }

  shows(text) { return this.page.locator('body', { hasText: text }).count().then((count) => assert.ok(count, `${this.page.url()} does not show ${text}`)); }
}

// KeyboardPerson has no pointer. The focus must be visible wherever Tab moves it.
class KeyboardPerson extends Person {
  async key(name) {
    this.actions++;
    await this.page.keyboard.press(name);
  }

  async reach(element) {
    const at = await element.elementHandle();
    for (let tabs = 0; !await at.evaluate((e) => e === document.activeElement); tabs++) {
      assert.ok(tabs < 100, `Tab does not reach ${await at.evaluate((e) => e.outerHTML.slice(0, 100))}`);
      await this.key('Tab');
      this.problems.push(...await focus(this.page));
      if (await at.evaluate((e) => document.activeElement.matches('.skip') && Boolean(e.closest('main')))) await this.key('Enter');
    }
  }

  async type(selector, text) {
    await this.reach(this.page.locator(selector));
    this.actions++;
    this.fields++;
    await this.page.keyboard.press('ControlOrMeta+a');
    await this.page.keyboard.type(text);
  }

  async press(element) {
    await this.reach(element);
    await this.key('Enter');
  }

  // choose moves along the radio buttons with the arrows.
  async choose(name, value) {
    await this.reach(this.page.locator(`[name=${name}]:checked`));
    while (await this.page.inputValue(`[name=${name}]:checked`) !== value) await this.key('ArrowRight');
  }

  async resolve() {
    await this.use('.event h3 a');
    await this.choose('status', 'resolved');
    assert.equal(await this.page.inputValue('#message'), 'This problem is resolved.', 'the message follows the status');
  }
}

// checklist returns the steps of the overview that are done.
const checklist = (page) => page.locator('.start .done b').allTextContents();

// first walks from the link to a resolved incident, and looks at the public page and the App interface on the way.
async function first(person, platform) {
  const { page } = person;
  const { app, credentials } = platform;
  const incident = async () => (await app.send('GET', '/events?limit=10')).events[0];
  const began = Date.now();
  await person.go(platform.link);
  await person.type('#password', password);
  await person.use('main form button');
  assert.equal(new URL(page.url()).pathname, '/console/');
  const before = await checklist(page);
  assert.deepEqual(['Name the dashboard', 'Report a first incident', 'Resolve it'].filter((step) => before.includes(step)), []);

  await person.use('.start a[href*="/dashboards/"]');
  await person.type('#name', 'Harbour Cloud');
  await person.use('#tab .bar .btn');
  await person.use('.nav a[href="/console/components"]');
  for (const name of ['Website', 'API', 'Database']) await person.shows(name);
  await person.use('.org');
  assert.ok((await checklist(page)).includes('Name the dashboard'), 'a new name is a step');

  await person.use('.start a[href*="first=1"]');
  await person.use('main .bar .btn:not(.second)');
  for (const text of ['The event is published', 'nobody notified', 'No message was sent']) await person.shows(text);
  assert.deepEqual([(await incident()).status, (await incident()).publish], ['investigating', true]);
  await person.use('.org');
  assert.ok((await checklist(page)).includes('Report a first incident'));
  await person.use('.start a.inline');
  assert.equal(page.url(), `${credentials.dashboardUrl}/`);
  for (const text of ['Harbour Cloud', 'Our first incident', 'Everything works']) await person.shows(text);
  await person.back();
  await page.waitForURL(/\/console\/(#main)?$/);
  await person.resolve();
  await person.use('#update .bar .btn');
  await person.shows('The update is published');
  assert.equal((await incident()).status, 'resolved');
  await person.use('.org');
  assert.ok((await checklist(page)).includes('Resolve it'));
  await person.shows('Nothing needs your attention');
  assert.match(await fresh(`${credentials.dashboardUrl}/`), /This problem is resolved/);
  return (Date.now() - began) / 1000;
}

// walk is first with a person of a kind and options of the browser, and at most so many actions.
function walk(bench, Kind, options, most, then = async () => []) {
  return async () => {
    const platform = await start();
    try {
      const person = await Kind.open(bench, platform.link, { viewport: { width: 1280, height: 800 }, ...options });
      person.visitor.others.push(new URL(platform.credentials.dashboardUrl).origin);
      const took = await first(person, platform);
      console.log(`# the first start took ${person.actions} actions in ${took.toFixed(1)} s`);
      assert.ok(person.actions <= most, `${person.actions} actions are more than ${most}`);
      assert.ok(took < 120, `${took} s`);
      const state = await person.visitor.context.storageState();
      const found = [...person.problems, ...await person.visitor.findings()];
      await person.visitor.close();
      return [...found, ...await then(bench, platform, state)];
    } finally {
      await platform.end();
    }
  };
}

// signedIn starts a platform with the settings, and calls then with its first member, who has a password now.
function signedIn(bench, then, settings) {
  return async () => {
    const platform = await start(settings);
    try {
      const visitor = await Visitor.open(bench.browser);
      await visitor.go(platform.link);
      await visitor.page.fill('#password', password);
      await Promise.all([visitor.page.waitForURL('**/console/'), visitor.page.click('main form button')]);
      const state = await visitor.context.storageState();
      await visitor.close();
      return await then(bench, platform, state);
    } finally {
      await platform.end();
    }
  };
}

module.exports = { Person, KeyboardPerson, signedIn, walk };
